# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Damaged files of a log directory: each is named, and none of them hides a record."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.log_dir import (
    LockedLogDirs,
    LogDirError,
    list_partition_dirs,
    read_log_dir,
)

_META = "version=1\ncluster.id=some-cluster\nnode.id=1\n"
_ID = "tdeECikfRzSdzhqPE3x9bA"


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    replica = tmp_path / "disk" / "orders-0"
    replica.mkdir(parents=True)
    (replica / "00000000000000000000.log").touch()
    (replica.parent / "meta.properties").write_text(_META)
    return replica.parent


@pytest.mark.parametrize(
    ("content", "topic_id"),
    [
        (f"version: 0\ntopic_id: {_ID}", _ID),
        (f"version: 9\ntopic_id: {_ID}\n", _ID),
        (f"version: 0\ntopic_id: {_ID[:9]}", None),
        (f"version: 0\ntopic_id: {_ID}bA", None),
        ("version: 0\ntopic_id: ", None),
        (f"version: 0\ntopic_id: {_ID[:-1]}*", None),
        (f"version: 0\ntopic_id: {_ID[:-1]}\N{LATIN SMALL LETTER E WITH ACUTE}", None),
        ("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", None),
        ("hello", None),
    ],
)
def test_a_damaged_topic_id_is_not_that_of_another_topic(disk: Path, content: str, topic_id: str | None) -> None:
    (disk / "orders-0" / "partition.metadata").write_text(content, encoding="utf-8")
    (found,) = list_partition_dirs(read_log_dir(str(disk)))
    assert found.topic_id == topic_id


@pytest.mark.parametrize(
    "content", [b"\xff\xfe", b"9\n0\n", b"0\n2\norders 0 5\n", b"0\n1\norders 0 -5\n", b"0\n", b"hello"]
)
def test_log_start_offsets_that_cannot_be_read_are_named(disk: Path, content: bytes) -> None:
    file = disk / "log-start-offset-checkpoint"
    for intact, offset in ((b"", 0), (b"0\n0\n", 0), (b"0\n1\norders 0 5\n", 5)):
        file.write_bytes(intact)
        log_dir = read_log_dir(str(disk))
        assert (log_dir.note, [each.log_start_offset for each in list_partition_dirs(log_dir)]) == ("", [offset])
    file.write_bytes(content)
    log_dir = read_log_dir(str(disk))
    assert log_dir.note.startswith(f"{file} could not be read: it is damaged. Records that were deleted")
    assert [each.log_start_offset for each in list_partition_dirs(log_dir)] == [0]


_UNREADABLE = "a link to itself, which is refused as a failing disk is, but for the error"


@pytest.mark.parametrize(
    "content", ["", "hello", "cluster.id=a\nnode.id=x\n", "cluster.id=\nnode.id=1\n", None, _UNREADABLE]
)
def test_a_directory_without_its_identity_can_still_be_read(disk: Path, tmp_path: Path, content: str | None) -> None:
    meta = disk / "meta.properties"
    meta.unlink()
    if content == _UNREADABLE:
        meta.symlink_to(meta.name)
    elif content is not None:
        meta.write_text(content)
    with pytest.raises(LogDirError, match=r"If it was lost or damaged, .* link everything .* \(ln -s\)"):
        LockedLogDirs([str(disk)]).__enter__()
    links = tmp_path / "links"
    links.mkdir()
    (links / "orders-0").symlink_to(disk / "orders-0")
    (links / "meta.properties").write_text(_META)
    with LockedLogDirs([str(links)]) as disks:
        (found,) = list_partition_dirs(disks.dirs[0])
        assert [len(found.segments), found.error] == [1, ""]


@pytest.mark.parametrize("name", ["orders-5551234567", "orders-00", "orders-\N{ARABIC-INDIC DIGIT THREE}"])
def test_a_directory_that_kafka_would_not_name_so_is_no_replica(disk: Path, name: str) -> None:
    """A number above 2**31 - 1 fits neither into a row of a salvage nor into a report."""
    (disk / name).mkdir()
    assert [Path(each.path).name for each in list_partition_dirs(read_log_dir(str(disk)))] == ["orders-0"]


@pytest.mark.parametrize("node_id", ["-1", "5551234567"])
def test_an_impossible_id_of_the_broker_is_damage(disk: Path, node_id: str) -> None:
    (disk / "meta.properties").write_text(f"version=1\ncluster.id=some-cluster\nnode.id={node_id}\n")
    with pytest.raises(LogDirError, match="does not name the cluster and the broker"):
        read_log_dir(str(disk))


def test_a_file_with_an_impossible_offset_is_no_segment(disk: Path) -> None:
    (disk / "orders-0" / f"{2**63}.log".rjust(24, "0")).touch()
    (disk / "orders-0" / f"{'9' * 20}.log").touch()
    (found,) = list_partition_dirs(read_log_dir(str(disk)))
    assert [each.base_offset for each in found.segments] == [0]
