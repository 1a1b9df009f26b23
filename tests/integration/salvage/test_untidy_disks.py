# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Disks that nothing readable shows to lack anything, and disks as a repaired file system leaves them."""

from __future__ import annotations

import os
from itertools import takewhile
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.segment import Batch, Segment, read_segment
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.disk_module import warnings_of
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.finding import SalvageStatus
from integration.salvage.disks import copy_of_disks, read_rows, records, salvage, segments
from integration.salvage.oracle import Oracle, in_short
from integration.salvage.wreck import BROKER_CODECS, COMMON, MORE

HELD_BY_LEADER = COMMON + MORE
FLIPPED, HOLED, TORN, UNNAMED = (BROKER_CODECS[codec] for codec in ("gzip", "snappy", "lz4", "zstd"))


@pytest.mark.wide
def test_records_that_nothing_can_read_are_not_called_held_by_the_leader(oracle: Oracle, tmp_path: Path) -> None:
    """The only lost batch of one log has a flipped bit. Another log lost a segment before its last, empty one.

    A third one ends within a batch, whose length is unknown.
    """
    disks = copy_of_disks(oracle.cluster, tmp_path)
    end = _keep_one_lost_batch(segments(disks, FLIPPED))
    last = segments(disks, FLIPPED)[-1]
    content = bytearray(last.read_bytes())
    content[-5] ^= 0x10
    last.write_bytes(content)
    _keep_common(segments(disks, HOLED))
    segments(disks, HOLED)[-1].with_name(f"{HELD_BY_LEADER + 100:020}.log").touch()
    _keep_one_lost_batch(segments(disks, TORN))
    torn = segments(disks, TORN)[-1]
    os.truncate(torn, torn.stat().st_size - 5)
    done = salvage(oracle.cluster, tmp_path / "saved", log_dirs=disks, topics={FLIPPED, HOLED, TORN})
    found = {each.topic: each for each in done.findings}
    for topic, to in ((FLIPPED, end), (HOLED, HELD_BY_LEADER + 100)):
        assert found[topic].status is SalvageStatus.FAILED
        lost = [(each.start_offset, each.end_offset) for each in found[topic].lost]
        assert lost == [(HELD_BY_LEADER, to)]
        assert found[topic].unreadable == found[topic].lost
    assert found[TORN].status is SalvageStatus.NOTHING_LACKING
    assert f"{torn} ends with" in found[TORN].reason
    assert [each for each in warnings_of(done) if f"{TORN}-0" in each and f"from offset {HELD_BY_LEADER} on" in each]
    assert not (tmp_path / "saved").exists()


@pytest.mark.wide
@pytest.mark.parametrize(
    "content",
    [None, b"", b"\xff\xfe", b"version: 0\ntopic_id: garbage", b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA"],
    ids=["missing", "empty", "not UTF-8", "no id", "zero"],
)
def test_a_replica_without_its_topic_id_is_saved_once(oracle: Oracle, tmp_path: Path, content: bytes | None) -> None:
    """Nor is a damaged id that of another topic, whose records would be left alone."""
    disks = copy_of_disks(oracle.cluster, tmp_path)
    metadata = segments(disks, UNNAMED)[0].parent / "partition.metadata"
    metadata.unlink()
    if content is not None:
        metadata.write_bytes(content)
    statuses = []
    for _each in range(2):
        (found,) = salvage(oracle.cluster, tmp_path / "saved", log_dirs=disks, topics={UNNAMED}).findings
        statuses.append(found.status)
        assert "no valid topic id, so it counts as one of topic id" in found.reason
    assert statuses == [SalvageStatus.SAVED, SalvageStatus.ALREADY_SAVED]
    assert in_short(records(read_rows(tmp_path / "saved"))) == in_short(oracle.of("lost", UNNAMED))


def _keep_one_lost_batch(paths: list[Path]) -> int:
    """Cut a log after its first batch with a lost record. Returns the offset after it."""
    return _cut(paths, batches=1)


def _keep_common(paths: list[Path]) -> None:
    """Cut a log after the records that the leader has, too."""
    _cut(paths, batches=0)


def _cut(paths: list[Path], *, batches: int) -> int:
    with paths[0].open("rb", buffering=0) as file:
        found = [
            each
            for each in read_segment(file, Segment(str(paths[0]), 0, paths[0].stat().st_size))
            if isinstance(each, Batch)
        ]
    common = len(list(takewhile(lambda each: each.header.next_offset <= HELD_BY_LEADER, found)))
    last = found[common + batches - 1]
    os.truncate(paths[0], last.position + last.header.size)
    for each in paths[1:]:
        each.unlink()
    return last.header.next_offset
