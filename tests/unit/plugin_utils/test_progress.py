# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A module's progress, from the file to a person."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.progress import progress_to
from ansible_collections.kafkaops.recovery.plugins.plugin_utils import progress
from lab.waiting import wait_until


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_LOOK_EVERY_S", 0.01)
    monkeypatch.setattr(progress, "_QUIET_AT_FIRST_S", 0.0)


def test_the_newest_step_is_told_once(tmp_path: Path) -> None:
    path, told = tmp_path / "progress", []
    writer = progress_to(str(path))
    with progress.followed(path, told.append, 0.0):
        writer.step("starting Spark")
        wait_until(lambda: len(told) == 1, 10, what="the first step is told")
        writer.step("electing", 0, 3)
        wait_until(lambda: len(told) == 2, 10, what="the second step is told")
    assert [line.partition(": ")[2] for line in told] == ["starting Spark", "electing (0 of 3)"]


def test_work_that_ends_soon_needs_no_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_QUIET_AT_FIRST_S", 60.0)
    path, told = tmp_path / "progress", []
    with progress.followed(path, told.append, 0.0):
        progress_to(str(path)).step("looking")
    assert told == []


@pytest.mark.parametrize("content", [b"", b'{"text": "torn', b"[]\n", b'{"text": 1}\n', b"\xff\n"])
def test_a_file_that_makes_no_sense_tells_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "progress"
    path.write_bytes(content)
    assert progress._newest(path) == ""


def test_a_file_that_cannot_be_written_fails_nothing(tmp_path: Path) -> None:
    progress_to(str(tmp_path / "missing" / "progress")).step("looking")


def test_nobody_asked() -> None:
    progress_to(None).step("looking")
