# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An epoch of the disk that begins at the same offset as the leader's, and had another leader."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.log_dir import DirKind, LogDir, PartitionDir
from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.segment import Segment
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.batch_headers import BatchEpoch
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.header_reading import BatchAnswers, Questions
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Cause,
    EpochEnd,
    PartitionState,
    ReplicaLog,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.finding import (
    Comparable,
    DiskReplica,
    SalvageStatus,
    compare_with_leader,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.reused import find_reused
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.scan import read_outlines
from unit.salvage.batches import batch, segment

ORDERS = TopicPartition("orders", 0)
STATE = PartitionState("orders", 0, "id", 2, 7, (1, 2), (2,), None, None, ())
LEADER = ReplicaLog("orders", 0, 2, log_start_offset=0, log_end_offset=9, lineage=(EpochEnd(0, 3), EpochEnd(5, 9)))


def the_replica(tmp_path: Path) -> DiskReplica:
    """Return a replica with offsets 0 to 2 of epoch 0, and 3 to 7 of epoch 5."""
    content = batch(0, [b"a", b"b", b"c"]) + batch(3, [b"old"] * 5, epoch=5)
    one: Segment = segment(content, tmp_path=tmp_path)
    directory = PartitionDir("orders", 0, "id", (one,), str(tmp_path), DirKind.CURRENT)
    return DiskReplica(LogDir("/disk", "cluster", 1, "directory"), directory)


def checksum(content: bytes) -> int:
    return int.from_bytes(content[17:21], "big")


@pytest.mark.parametrize(
    ("of_leader", "lost"),
    [
        pytest.param(BatchEpoch(5, 3, 8, checksum(batch(3, [b"old"] * 5, epoch=5))), 0, id="a copy"),
        pytest.param(BatchEpoch(5, 3, 8, checksum(batch(3, [b"new"] * 5, epoch=5))), 5, id="other records"),
        pytest.param(BatchEpoch(5, 3, 9, None), 5, id="another batch"),
        pytest.param(BatchEpoch(5, 8, 9, 1), 0, id="a log cleaner removed it"),
        pytest.param(None, 0, id="no batch"),
    ],
)
def test_records_of_an_epoch_that_two_leaders_had_count_as_lost(
    of_leader: BatchEpoch | None, lost: int, tmp_path: Path
) -> None:
    replica = the_replica(tmp_path)
    contents = read_outlines([replica.directory.segments])
    one = Comparable((replica,), STATE)
    asked = []

    def ask(questions: Questions) -> BatchAnswers:
        asked.append(questions)
        return BatchAnswers({2: {ORDERS: {7: of_leader}}} if of_leader else {})

    reused, silent = find_reused([one], {ORDERS: LEADER}, contents, ask)
    assert silent == {}
    assert asked == [{2: {ORDERS: {7}}}]
    assert reused == ({str(tmp_path): EpochRange(5, 3, 8)} if lost else {})
    found = compare_with_leader(one, LEADER, contents, reused)
    assert (found.lost_records, found.status is SalvageStatus.WOULD_BE_SAVED) == (lost, bool(lost))


@pytest.mark.parametrize("position", [17, 23, 57, 80])
def test_a_damaged_batch_shows_nothing(position: int, tmp_path: Path) -> None:
    """Of the first batch or the second: its checksum, the offset of its last record, their number, or a record."""
    replica = the_replica(tmp_path)
    path = Path(replica.directory.segments[0].path)
    intact = path.read_bytes()
    one = Comparable((replica,), STATE)
    of_leader = BatchAnswers({2: {ORDERS: {7: BatchEpoch(5, 3, 8, checksum(batch(3, [b"old"] * 5, epoch=5)))}}})
    for start in (0, len(batch(0, [b"a", b"b", b"c"]))):
        path.write_bytes(intact[: start + position] + b"\x01" + intact[start + position + 1 :])
        contents = read_outlines([replica.directory.segments])
        assert find_reused([one], {ORDERS: LEADER}, contents, lambda _questions: of_leader) == ({}, {})


def test_what_a_leader_holds_is_unknown_if_it_does_not_send_the_batch(tmp_path: Path) -> None:
    replica = the_replica(tmp_path)
    contents = read_outlines([replica.directory.segments])
    one = Comparable((replica,), STATE)
    hung = BrokerCallError("b2:9092", Cause.HUNG, "no answer within 30000 ms", request="Fetch")
    reused, silent = find_reused([one], {ORDERS: LEADER}, contents, lambda _questions: BatchAnswers({}, {2: hung}))
    found = compare_with_leader(one, silent[ORDERS], contents, reused)
    assert found.status is SalvageStatus.FAILED
    assert "Fetch at b2:9092: hung: no answer within 30000 ms" in found.reason
