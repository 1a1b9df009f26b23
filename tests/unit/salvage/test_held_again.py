# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Records that the topic has again are not written, and newer keys are looked for where the logs diverge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.cluster import Cluster, Registration
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.partitions import Description
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Broker,
    Cause,
    EpochEnd,
    PartitionState,
    ReplicaLog,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.gaps import CompactedGaps
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.held_again import (
    Held,
    HeldAgain,
    compare_with_saved,
    describe_held_too,
    find_first_newer_offset,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.ledger import Ledger
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.partition_replay import PartitionReplay
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.replay_progress import LedgerKey
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.replayed import LeftOut
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.targets import TargetTopic
from unit.salvage.saved import SAVED, a_run

ORIGINAL = TargetTopic("orders", "id", 4, -1, 1_000_000, is_compacted=False, states={})
STATE = PartitionState("orders", 3, "id", 1, 9, (1, 2), (1,), None, None, ())
SIDE = replace(ORIGINAL, name="orders.salvaged")


def replaying(target: TargetTopic, *held: EpochRange) -> PartitionReplay:
    part = PartitionReplay(
        SAVED, target, LedgerKey("id", "id", 3), Ledger(), include_unknown=False, gaps=CompactedGaps(())
    )
    part.set_held(Held(1, 9, ranges=held))
    return part


def offsets(part: PartitionReplay, *, outcome: str = "none") -> list[int]:
    """Return the offsets that are written of 100 to 109."""
    run = a_run(*({"offset": offset, "transaction": outcome} for offset in range(100, 110)))
    return [offset for one in part.take(run) for offset in range(one.offset, one.next_offset)]


def test_offsets_that_the_topic_has_are_left_out() -> None:
    part = replaying(ORIGINAL, EpochRange(3, 90, 102), EpochRange(3, 104, 106))
    assert offsets(part) == [102, 103, 106, 107, 108, 109]
    assert part.counts.left_out == {LeftOut.HELD: 4}
    assert part.ledger.settled == (EpochRange(3, 102, 104), EpochRange(3, 106, 110)), "another election may lose them"


def test_the_same_offsets_of_another_epoch_are_other_records() -> None:
    assert len(offsets(replaying(ORIGINAL, EpochRange(4, 100, 110)))) == 10


def test_a_held_record_of_unknown_outcome_is_not_lost() -> None:
    part = replaying(ORIGINAL, EpochRange(3, 100, 105))
    assert offsets(part, outcome="unknown") == []
    assert part.counts.left_out == {LeftOut.HELD: 5, LeftOut.UNKNOWN: 5}


def test_a_side_topic_gets_all_and_the_held_ones_are_counted() -> None:
    part = replaying(SIDE, EpochRange(3, 100, 105))
    assert len(offsets(part)) == 10
    assert (part.counts.held_too, part.counts.left_out) == (5, {})


def test_nothing_is_written_to_a_topic_whose_leader_is_silent() -> None:
    silent = Held(1, 9, reason="broker 1, the leader, did not say what it holds: hung")
    original, side = replaying(ORIGINAL), replaying(SIDE)
    for each in (original, side):
        each.set_held(silent)
    assert "could be written twice" in original.failure
    assert not side.failure


@pytest.mark.parametrize(
    ("lineage", "log_start", "expected"),
    [
        ([(3, 100), (5, 200)], 0, 100),
        ([(3, 150), (5, 200)], 0, 100),
        ([(2, 5), (5, 200)], 0, 5),
        ([(5, 200)], 0, 0),
        ([(5, 200)], 120, 120),
        ([(3, 40)], 0, 40),
    ],
    ids=["diverged", "held in part", "another election", "no shared epoch", "log start moved", "a shorter log"],
)
def test_where_newer_keys_begin(lineage: list[tuple[int, int]], log_start: int, expected: int) -> None:
    """The saved records begin at offset 100 of epoch 3."""
    log = ReplicaLog("orders", 3, 1, log_start, lineage[-1][1], lineage=tuple(EpochEnd(*each) for each in lineage))
    assert find_first_newer_offset(log, (EpochRange(3, 100, 350),)) == expected


def a_log(*lineage: tuple[int, int], log_start: int = 0) -> ReplicaLog:
    return ReplicaLog("orders", 3, 1, log_start, lineage[-1][1], lineage=tuple(EpochEnd(*each) for each in lineage))


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (a_log((2, 100), (3, 350)), [(100, 350)]),
        (a_log((2, 100), (3, 200), (9, 400)), [(100, 200)]),
        (a_log((2, 100), (9, 400)), []),
        (a_log((3, 350), (9, 400), log_start=300), [(300, 350)]),
        (a_log((9, 400), log_start=360), []),
    ],
    ids=["all", "a part", "none", "log start moved into them", "log start moved past them"],
)
def test_what_the_leader_holds_of_the_saved_records(log: ReplicaLog, expected: list[tuple[int, int]]) -> None:
    """Saved are the offsets 100 to 349 of epoch 3. What is not in the leader's log now is given back."""
    found = compare_with_saved(STATE, log, (EpochRange(3, 100, 350),))
    assert [each[1:] for each in found.ranges] == expected
    assert (found.leader_id, found.leader_epoch, found.reason) == (1, 9, "")


@pytest.mark.parametrize(
    ("state", "log", "reason"),
    [
        (STATE._replace(leader_id=-1), None, "no leader"),
        (STATE, None, "not registered"),
        (STATE, ReplicaLog.failed(TopicPartition("orders", 3), 1, Cause.HUNG, "no answer"), "hung: no answer"),
        (STATE, ReplicaLog("orders", 3, 1, 0, 10, lineage=()), "without a leader epoch"),
    ],
    ids=["offline", "not registered", "silent", "records without epochs"],
)
def test_it_is_unknown_what_the_leader_holds(state: PartitionState, log: ReplicaLog | None, reason: str) -> None:
    found = compare_with_saved(state, log, (EpochRange(3, 100, 350),))
    assert reason in found.reason
    assert reason in describe_held_too(TopicPartition("orders", 3), "orders.salvaged", found, 0)
    assert not found.ranges


def test_records_of_an_epoch_that_two_leaders_had_are_not_taken_for_held() -> None:
    log = a_log((2, 100), (3, 350))
    saved = (EpochRange(3, 100, 350),)
    assert compare_with_saved(STATE, log, saved).ranges == saved, "by epochs alone"
    found = compare_with_saved(STATE, log, saved, (3,))
    assert (found.log, found.ranges) == (None, ())
    assert "has records of leader epoch 3, too, which two leaders had" in found.reason
    assert not compare_with_saved(STATE, a_log((2, 100), (4, 350)), saved, (3,)).reason


HELD = TopicPartition("orders", 3)


@dataclass
class FakeLeader(Kafka):
    """Broker 1 leads the partition, and answers with this log."""

    log: ReplicaLog
    state: PartitionState | None = field(default_factory=lambda: STATE._replace(topic_id=SAVED.topic_id or ""))
    asked: int = 0

    def describe_partitions(
        self, names: Iterable[str] | None = None, span: tuple[TopicPartition, TopicPartition] | None = None
    ) -> Description:
        assert (names, span) == ({"orders"}, None)
        return Description(() if self.state is None else (self.state,), ())

    def describe_cluster(self) -> Cluster:
        return Cluster("c", tuple(Registration(each, Address("b.invalid", 9092), None, False) for each in (1, 2)))

    def probe_replicas(self, broker: Broker, partitions: Sequence[TopicPartition], *_: Any, **options: Any) -> Any:
        assert (broker.broker_id, [*partitions], options) == (1, [HELD], {"checked": {HELD}, "is_retried": True})
        self.asked += 1
        return [self.log]


def looked(kafka: FakeLeader, *, again: HeldAgain | None = None) -> HeldAgain:
    held = again or HeldAgain(kafka, [SAVED], {})
    held.look([HELD])
    return held


def test_a_leader_is_asked_once_in_its_epoch() -> None:
    kafka = FakeLeader(a_log((0, 200), (9, 400)))
    held = looked(kafka)
    assert held[HELD].ranges == (EpochRange(0, 100, 200),)
    looked(kafka, again=held)
    assert kafka.asked == 1
    kafka.state, kafka.log = STATE._replace(topic_id=SAVED.topic_id or "", leader_epoch=10), a_log((10, 400))
    looked(kafka, again=held)
    assert (kafka.asked, held[HELD].ranges, held[HELD].leader_epoch) == (2, (), 10)


def test_a_leader_that_did_not_say_it_is_asked_again() -> None:
    kafka = FakeLeader(ReplicaLog.failed(HELD, 1, Cause.HUNG, "no answer"))
    held = looked(kafka)
    assert "hung: no answer" in held[HELD].reason
    kafka.log = a_log((0, 200), (9, 400))
    looked(kafka, again=held)
    assert (kafka.asked, held[HELD].reason) == (2, "")


@pytest.mark.parametrize("state", [None, STATE], ids=["the topic is gone", "another topic of that name"])
def test_another_topic_is_not_asked(state: PartitionState | None) -> None:
    kafka = FakeLeader(a_log((0, 400)), state)
    held = looked(kafka)
    assert (kafka.asked, held[HELD].is_of_other_topic, held[HELD].ranges) == (0, True, ())
    assert "deleted or re-created" in describe_held_too(HELD, "orders.salvaged", held[HELD], 0)
