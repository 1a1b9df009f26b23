# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A module's progress, from the file to a person."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.options import progress_to
from ansible_collections.kafkaops.recovery.plugins.plugin_utils import progress
from lab.waiting import wait_until


def test_each_step_is_printed_and_again_while_it_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "progress"
    lines: list[str] = []
    writer = progress_to(str(path))
    with progress.followed(path, lines.append, progress.ProgressPace(0.05, quiet_at_first_s=0.0, read_every_s=0.01)):
        writer.step("starting Spark")
        wait_until(lambda: len(lines) >= 2, 10, what="the first step is printed twice")
        writer.step("electing", 0, 3)
        wait_until(lambda: any("electing" in line for line in lines), 10, what="the second step is printed")
    steps = [line.partition(": ")[2] for line in lines]
    assert steps[:2] == ["starting Spark", "still starting Spark"]
    assert "electing (0 of 3)" in steps


def test_the_time_left_follows_from_the_speed_of_the_step() -> None:
    rate = progress.Rate()
    step = {"text": "electing", "done": 1_100, "total": 3_012}
    assert rate.seconds_left(step, 10.0) is None, "nothing is known of its speed yet"
    later = {**step, "done": 1_200}
    assert rate.seconds_left(later, 15.0) == 90.6
    assert progress.in_words(later, 90.6) == "electing (1,200 of 3,012, about 91 s left)"
    other = {"text": "verifying", "done": 0, "total": 400}
    assert rate.seconds_left(other, 16.0) is None, "another step has another speed"
    assert progress.in_words(other, None) == "verifying (0 of 400)"


def test_work_that_ends_soon_needs_no_progress(tmp_path: Path) -> None:
    path = tmp_path / "progress"
    reported: list[str] = []
    with progress.followed(path, reported.append, progress.ProgressPace(0.0, quiet_at_first_s=60.0, read_every_s=0.01)):
        progress_to(str(path)).step("looking")
        time.sleep(0.1)  # the file is read in this time
    assert reported == []


@pytest.mark.parametrize("content", [b"", b'{"text": "torn', b"[]\n", b'{"text": 1}\n', b"\xff\n"])
def test_a_file_that_makes_no_sense_reports_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "progress"
    path.write_bytes(content)
    assert progress.newest(path) == {}


def test_a_file_that_cannot_be_written_fails_nothing(tmp_path: Path) -> None:
    progress_to(str(tmp_path / "missing" / "progress")).step("looking")


def test_nobody_asked() -> None:
    progress_to(None).step("looking")
