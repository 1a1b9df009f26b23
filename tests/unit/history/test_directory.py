# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Copies of the metadata log that are of another cluster, truncated, or without their snapshot, are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._history.directory import MetadataDirectory, confirmed
from ansible_collections.kafkaops.recovery.plugins.module_utils._history.promise import Obstacle
from ansible_collections.kafkaops.recovery.plugins.module_utils._history.proof import judge_promise
from ansible_collections.kafkaops.recovery.plugins.module_utils._history.reading import (
    HistoryLimits,
    HistoryQuestion,
    read_log,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.metadata_log import MetadataLogError, SnapshotId
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.metadata_history import MetadataHistory
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import PartitionState
from unit.history.test_promise import ALONE, LOST, NOW, ORDERS, OUTAGE, history
from unit.quorum_recovery.disks import CLUSTER_ID, Disk, topic_record
from unit.salvage.batches import a_batch, batch

_HEADER, _FOOTER = 3, 4
"""Types of the control records at the begin and the end of a snapshot."""
_SOURCE = "the metadata log in /d"


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    """Return a copy with ten batches of two records each."""
    found = Disk(tmp_path, dynamic=False)
    for number in range(10):
        found.add(topic_record(f"a{number}"), topic_record(f"b{number}"))
    return found


def opened(disk: Disk) -> MetadataDirectory:
    return MetadataDirectory(str(disk.log_dir), CLUSTER_ID)


def begin_later(disk: Disk, offset: int) -> None:
    """Replace the log by one that begins later, as after its retention."""
    disk.segment.unlink()
    later = disk.metadata_dir / f"{offset:020}.log"
    later.write_bytes(batch(offset, [topic_record("later")], epoch=1))


@pytest.mark.parametrize("piece_bytes", [1, 1024 * 1024])
def test_any_part_of_the_log_can_be_read(disk: Disk, piece_bytes: int) -> None:
    log = MetadataDirectory(str(disk.log_dir), CLUSTER_ID, piece_bytes)
    assert log.range() == (0, 20, None)
    assert [each.base_offset for each in log.batches(0, 20)] == [*range(0, 20, 2)]
    assert [each.base_offset for each in log.batches(7, 11)] == [6, 8, 10]
    assert [len(each.values) for each in log.batches(18, 20)] == [2]


def test_what_a_dying_node_wrote_last_is_left_out(disk: Disk) -> None:
    disk.segment.write_bytes(disk.segment.read_bytes()[:-3])
    assert opened(disk).range().high_watermark == 18


def test_another_cluster_s_copy_is_refused(disk: Disk) -> None:
    with pytest.raises(MetadataLogError, match=f"is of cluster {CLUSTER_ID}, and not of other"):
        MetadataDirectory(str(disk.log_dir), "other")


def test_a_directory_without_a_metadata_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MetadataLogError, match=r"no meta\.properties"):
        MetadataDirectory(str(tmp_path), CLUSTER_ID)


@pytest.mark.parametrize("content", [b"", bytes(4096)])
def test_a_segment_without_records_is_named(disk: Disk, content: bytes) -> None:
    disk.segment.write_bytes(content)
    with pytest.raises(MetadataLogError, match="has no records: the copy is not complete"):
        opened(disk).range()


def test_a_whole_log_that_does_not_know_the_partition_says_so(disk: Disk) -> None:
    question = HistoryQuestion({ORDERS: "AAAAAAAAAAAAAAAAAAAABQ"}, {ORDERS: (2, 3)}, ())
    found = read_log(opened(disk), question, HistoryLimits())
    assert found.missing == "the metadata log does not say when 1 partition, such as orders-0, lost their leader"


def test_a_missing_segment_is_named(disk: Disk) -> None:
    (disk.metadata_dir / f"{30:020}.log").write_bytes(batch(30, [topic_record("later")], epoch=1))
    with pytest.raises(MetadataLogError, match=r"truncated: .* ends at offset 20, and the next segment begins at 30"):
        opened(disk).range()


def test_a_missing_snapshot_is_named(disk: Disk) -> None:
    begin_later(disk, 30)
    with pytest.raises(MetadataLogError, match="begins at offset 30, and the snapshot of what was before is missing"):
        opened(disk).range()


def test_the_newest_snapshot_is_found_and_read(disk: Disk) -> None:
    begin_later(disk, 30)
    content = batch(0, [topic_record("earlier")], epoch=1) + a_batch(1, control=_FOOTER, epoch=1)
    (disk.metadata_dir / f"{30:020}-{4:010}.checkpoint").write_bytes(content)
    (disk.metadata_dir / f"{31:020}-{4:010}.checkpoint.part").write_bytes(b"")
    log = opened(disk)
    found = log.range()
    assert (found.start, found.high_watermark, found.snapshot) == (30, 31, SnapshotId(30, 4))
    assert log.snapshot(SnapshotId(30, 4), 10_000) == content
    assert log.snapshot(SnapshotId(30, 4), 1) is None


def test_a_snapshot_that_was_copied_in_part_is_no_base_for_a_proof(disk: Disk) -> None:
    """It may lack a topic's min.insync.replicas, which then looks like one that is not set."""
    begin_later(disk, 30)
    path = disk.metadata_dir / f"{30:020}-{4:010}.checkpoint"
    header, footer = (a_batch(offset, control=kind, epoch=1) for offset, kind in ((0, _HEADER), (2, _FOOTER)))
    content = header + batch(1, [topic_record("earlier")], epoch=1) + footer
    path.write_bytes(content)
    assert opened(disk).snapshot(SnapshotId(30, 4), 10_000) == content
    for size in range(len(content)):
        path.write_bytes(content[:size])
        with pytest.raises(MetadataLogError, match="is truncated: it has no footer"):
            opened(disk).snapshot(SnapshotId(30, 4), 10_000)


def test_a_damaged_batch_is_named(disk: Disk) -> None:
    content = bytearray(disk.segment.read_bytes())
    content[len(content) // 2] ^= 1
    disk.segment.write_bytes(content)
    with pytest.raises(MetadataLogError, match=r"damaged|wrong checksum"):
        [*opened(disk).batches(0, opened(disk).range().high_watermark)]


def state(leader_id: int, *isr: int) -> PartitionState:
    return PartitionState("orders", 0, "", leader_id, 5, (1, 2, 3), isr, None, None, ())


def judged(leader: PartitionState, now_ms: int, epoch: int | None = 5) -> tuple[MetadataHistory, list[str]]:
    last = OUTAGE[-1]._replace(leader_epoch=epoch)
    return confirmed(history(*OUTAGE[:-1], last), {ORDERS: leader}, _SOURCE, now_ms)


def test_a_copy_that_ends_as_the_cluster_is_now_proves_the_same() -> None:
    found, missing = judged(state(-1, 1), NOW + 1000)
    assert missing == []
    assert judge_promise(found, ORDERS, 3, is_empty=False).is_kept


@pytest.mark.parametrize("minutes", [-60, -1, 1, 60])
def test_a_copy_whose_end_is_not_now_by_the_clock_proves_nothing(minutes: int) -> None:
    """It is old, or this host's clock is behind: then an old copy could look like that of a running node."""
    found, (missing,) = judged(state(-1, 1), NOW + minutes * 60_000)
    assert ("is behind it" if minutes < 0 else "is not known") in missing
    assert judge_promise(found, ORDERS, 3, is_empty=False).obstacle is Obstacle.ENDS_EARLY


@pytest.mark.parametrize("epoch", [3, None])
def test_an_old_copy_dates_nothing_if_a_leader_may_have_come_and_gone_since(epoch: int | None) -> None:
    """The partition is offline again with the same ISR, in a later leader epoch."""
    found, (differing, stale) = judged(state(-1, 1), NOW + 3_600_000, epoch)
    assert "does not have the last change of 1 partition" in differing
    assert "what happened since is not known" in stale
    assert ORDERS not in found.partitions


def test_a_copy_without_epochs_is_used_if_its_node_runs() -> None:
    found, missing = judged(state(-1, 1), NOW + 1000, None)
    assert missing == []
    assert ORDERS in found.partitions


@pytest.mark.parametrize("now", [state(-1, 1, 3), state(1, 1)])
def test_a_history_that_ends_otherwise_than_the_cluster_is_now_is_not_used(now: PartitionState) -> None:
    found, (missing,) = judged(now, NOW + 1000)
    assert "does not have the last change of 1 partition" in missing
    assert judge_promise(found, ORDERS, 3, is_empty=False).obstacle is Obstacle.NO_HISTORY


def test_an_old_copy_dates_the_outage_and_proves_nothing() -> None:
    found, (missing,) = judged(state(-1, 1), NOW + 3_600_000)
    assert "what happened since is not known" in missing
    of_partition = found.partitions[ORDERS]
    assert (of_partition.alone_since_ms, of_partition.leader_lost_at_ms) == (ALONE, LOST)
    assert judge_promise(found, ORDERS, 3, is_empty=False).obstacle is Obstacle.ENDS_EARLY
