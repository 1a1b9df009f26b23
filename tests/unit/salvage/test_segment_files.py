# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The segments of a log are those that a broker uses which starts on the directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.log_dir import (
    LogDir,
    LogDirError,
    list_partition_dirs,
    list_segments,
    read_log_dir,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.segment_files import find_segments
from unit.salvage.batches import batch


def written(directory: Path, *names: str, batches: int = 1) -> None:
    """Write a file for each name like ``10.log``, with batches of one record from its offset."""
    for name in names:
        offset, _dot, kind = name.partition(".")
        content = b"".join(batch(int(offset) + each, [b"value"]) for each in range(batches))
        (directory / f"{int(offset):020}.{kind}").write_bytes(content)


def names(directory: Path) -> list[str]:
    segments, error = find_segments(str(directory))
    assert not error
    assert [each.end_offset for each in segments] == [*(each.base_offset for each in segments[1:]), None]
    return [f"{each.base_offset}.{Path(each.path).name.partition('.')[2]}" for each in segments]


def test_files_that_are_no_segments_do_not_count(tmp_path: Path) -> None:
    written(tmp_path, "0.log", "10.log", "10.log.deleted", "20.log.cleaned", "10.index", "10.snapshot")
    assert names(tmp_path) == ["0.log", "10.log"]


def test_a_swap_replaces_the_files_that_it_was_made_of(tmp_path: Path) -> None:
    written(tmp_path, "0.log", "10.log.deleted", "20.log", "30.log")
    written(tmp_path, "10.log.swap", batches=15)
    assert names(tmp_path) == ["0.log", "10.log.swap", "30.log"]


def test_the_files_of_a_split_are_used_together(tmp_path: Path) -> None:
    written(tmp_path, "0.log", "10.log")
    written(tmp_path, "10.log.swap", "15.log.swap", batches=5)
    assert names(tmp_path) == ["0.log", "10.log.swap", "15.log.swap"]


def test_a_swap_that_was_not_complete_is_ignored(tmp_path: Path) -> None:
    written(tmp_path, "0.log", "10.log", "10.log.cleaned", "15.log.swap")
    assert names(tmp_path) == ["0.log", "10.log"]


def test_what_cannot_be_listed_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "orders-0"
    path.symlink_to(path.name)
    segments, error = find_segments(str(path))
    assert segments == ()
    assert error == f"{path} could not be listed: Too many levels of symbolic links"
    with pytest.raises(LogDirError, match="could not be listed"):
        list_segments(str(path))


@pytest.mark.parametrize("target", ["orders-0", "unmounted"])
def test_a_replica_behind_a_link_that_leads_nowhere_has_an_error(tmp_path: Path, target: str) -> None:
    (tmp_path / "orders-0").symlink_to(target)
    (found,) = list_partition_dirs(LogDir(str(tmp_path), "cluster", 1, None))
    assert (found.topic, found.partition, found.segments) == ("orders", 0, ())
    assert "could not be listed" in found.error


def test_a_file_of_unknown_size_is_a_segment(tmp_path: Path) -> None:
    written(tmp_path, "0.log")
    broken = tmp_path / f"{10:020}.log"
    broken.symlink_to(broken.name)
    assert names(tmp_path) == ["0.log", "10.log"]


@pytest.mark.parametrize(("suffix", "longest"), [("stray", 214), ("delete", 213)])
def test_a_full_directory_name_may_hold_a_part_of_the_topic(tmp_path: Path, suffix: str, longest: int) -> None:
    for topic in ("t" * longest, "s" * (longest - 1)):
        (tmp_path / f"{topic}-0.{'0' * 32}-{suffix}").mkdir()
    (tmp_path / f"{'c' * 249}-0").mkdir()
    found = list_partition_dirs(LogDir(str(tmp_path), "cluster", 1, None))
    assert {(each.topic[0], len(each.topic), each.is_cut) for each in found} == {
        ("t", longest, True),
        ("s", longest - 1, False),
        ("c", 249, False),
    }


def test_log_start_offsets_are_those_that_the_broker_wrote_down(tmp_path: Path) -> None:
    for name in ("orders-0", "orders-1", f"orders-0.{'0' * 32}-stray"):
        (tmp_path / name).mkdir()
    (tmp_path / "meta.properties").write_text("cluster.id=cluster\nnode.id=1\n")
    checkpoint = tmp_path / "log-start-offset-checkpoint"
    for text, expected in {
        "0\n1\norders 0 33\n": 33,
        "0\n2\norders 0 33\n": 0,
        "1\n1\norders 0 33\n": 0,
        "?": 0,
    }.items():
        checkpoint.write_text(text)
        first, stray, second = list_partition_dirs(read_log_dir(str(tmp_path)))
        assert (first.log_start_offset, stray.log_start_offset, second.log_start_offset) == (expected, 0, 0)
