# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Copies that go on, stall, or cannot be made, because the broker died or its disk is full."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import cast

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal import Journal
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.sender import Writer
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.cluster import Cluster, Registration
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.log_dirs import LogDirs, ReplicaOnDisk
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.partitions import PartitionStates
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address, ConnectionSettings
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    NO_LEADER,
    Broker,
    BrokerState,
    Cause,
    PartitionState,
    Reassignment,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import NullProgress
from ansible_collections.kafkaops.recovery.plugins.module_utils._redundancy.copy_run import CopyRun
from ansible_collections.kafkaops.recovery.plugins.module_utils._redundancy.copying import (
    CopyPace,
    ReplicaCopier,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._redundancy.move_now import foresee
from ansible_collections.kafkaops.recovery.plugins.module_utils._redundancy.plan import (
    RedundancyPlan,
    ReplicaMove,
    ReplicaStatus,
)
from unit.fakes.clock import FakeClock
from unit.fakes.settings import CONNECTION

_TOPIC_ID = "A" * 22
_SIZE = 100
_BYTES_PER_S = 10
_LIVING = {each: Address(f"broker-{each}.invalid", 9092) for each in (1, 4, 6)}


def a_move(number: int, target: tuple[int, ...]) -> ReplicaMove:
    """Return a move from replicas on brokers 1, 3 and 5, of which 1 alone is up."""
    return ReplicaMove(
        topic="t",
        partition=number,
        topic_id=_TOPIC_ID,
        replicas=(1, 3, 5),
        target=target,
        adding=tuple(each for each in target if each not in (1, 3, 5)),
        removing=tuple(each for each in (3, 5) if each not in target),
        size_bytes=_SIZE,
        is_below_min_isr=True,
        reason="",
    )


@dataclass
class FakeCopies(Kafka):
    """Copies each new replica at a fixed rate, unless its broker is dead or makes no progress."""

    dies: set[int] = field(default_factory=set)
    back_at: float = float("inf")
    """When the dead brokers are back, by the clock."""
    returned: set[int] = field(default_factory=set)
    """The lost brokers that are back in sync."""
    stuck: set[int] = field(default_factory=set)
    is_away: bool = False
    """Whether partitions cannot be read."""
    compacts: bool = False
    """Whether the brokers compact what they copy, so that it never has 30 bytes before it is complete."""
    hung: set[Address] = field(default_factory=set)
    """The brokers that do not answer writes."""
    leaderless_at: float = float("inf")
    """When the only leader dies, by the clock. Nothing is copied from then on."""
    begun: dict[TopicPartition, tuple[Sequence[int], float]] = field(default_factory=dict)
    """The target of each reassignment, and when it was requested."""
    canceled: list[int] = field(default_factory=list)
    clock: FakeClock = field(default_factory=FakeClock)

    def __post_init__(self) -> None:
        # Unused: every request of the tests is answered here.
        self.wire = cast(Wire, None)

    def reassign(
        self, address: Address, targets: Mapping[TopicPartition, Sequence[int]]
    ) -> dict[TopicPartition, str | None]:
        self.begun |= {each: (target, self.clock.now) for each, target in targets.items()}
        return dict.fromkeys(targets)

    def cancel(self, address: Address, partition: TopicPartition) -> str | None:
        if address in self.hung:
            raise BrokerCallError(str(address), Cause.HUNG, "no answer")
        self.canceled.append(partition.partition)
        del self.begun[partition]
        return None

    def running_reassignments(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, Reassignment]:
        return {
            each: Reassignment(adding=tuple(self._adding(each)), removing=self._removing(each))
            for each in partitions
            if each in self.begun and not self._is_complete(each)
        }

    def read_partition_states(self, partitions: Collection[TopicPartition]) -> PartitionStates:
        if self.is_away:
            raise BrokerCallError("broker-1.invalid:9092", Cause.UNREACHABLE, "no answer")
        return PartitionStates({each: self._state(each) for each in partitions}, {})

    def describe_log_dirs(self, address: Address, partitions: Sequence[TopicPartition]) -> LogDirs:
        (broker_id,) = (each for each, where in _LIVING.items() if where == address)
        copies: dict[TopicPartition, tuple[ReplicaOnDisk, ...]] = {
            each: (ReplicaOnDisk("/d", self._size(each, broker_id), is_future=False),) for each in partitions
        }
        return LogDirs(copies, {}, "")

    def in_parallel(self, work, brokers):  # type: ignore[no-untyped-def]  # as many answers as brokers, one by one
        return {each: work(each) for each in brokers}

    @property
    def settings(self) -> ConnectionSettings:
        return CONNECTION

    def describe_cluster(self) -> Cluster:
        return Cluster("c", tuple(Registration(*each, None, is_fenced=False) for each in _LIVING.items()))

    def probe_brokers(self, cluster: Cluster, mentioned: frozenset[int] = frozenset()) -> tuple[Broker, ...]:
        return tuple(
            each.as_broker(BrokerState.UNREACHABLE if each.broker_id in self.dead else BrokerState.ONLINE)
            for each in cluster.registrations
        )

    @property
    def dead(self) -> set[int]:
        return self.dies if self.clock.now < self.back_at else set()

    def _adding(self, partition: TopicPartition) -> list[int]:
        return [each for each in self.begun[partition][0] if each not in (1, 3, 5)]

    def _removing(self, partition: TopicPartition) -> tuple[int, ...]:
        return tuple(each for each in (3, 5) if each not in self.begun[partition][0])

    def _copied(self, partition: TopicPartition, broker_id: int) -> int:
        if broker_id in self.dead | self.stuck:
            return 0
        return min(_SIZE, int((min(self.clock.now, self.leaderless_at) - self.begun[partition][1]) * _BYTES_PER_S))

    def _size(self, partition: TopicPartition, broker_id: int) -> int:
        copied = self._copied(partition, broker_id)
        return copied % 30 if self.compacts else copied

    def _is_complete(self, partition: TopicPartition) -> bool:
        return all(self._copied(partition, each) == _SIZE for each in self._adding(partition))

    def _state(self, partition: TopicPartition) -> PartitionState:
        replicas: tuple[int, ...] = (1, 3, 5)
        isr = [1, *self.returned]
        if partition in self.begun:
            target = tuple(self.begun[partition][0])
            replicas = target if self._is_complete(partition) else (*target, *self._removing(partition))
            isr += [each for each in self._adding(partition) if self._copied(partition, each) == _SIZE]
        offline = tuple(each for each in replicas if each in self.dead | {3, 5} - self.returned)
        leader = 1 if self.clock.now < self.leaderless_at else NO_LEADER
        return PartitionState("t", partition.partition, _TOPIC_ID, leader, 0, replicas, tuple(isr), (), (), offline)


@pytest.fixture
def kafka() -> FakeCopies:
    return FakeCopies()


def copier(kafka: FakeCopies, at_once: int = 20, stall_s: float = 600) -> ReplicaCopier:
    writer = Writer(kafka, [*_LIVING.values()], 2, 1.0)
    pace = CopyPace(at_once=at_once, stall_s=stall_s)
    return ReplicaCopier(writer, _LIVING, pace, NullProgress(), threading.Event(), cancels_on_stop=True)


def test_each_broker_copies_so_many_at_once_and_a_free_place_is_taken(kafka: FakeCopies) -> None:
    outcomes = copier(kafka, at_once=1).carry_out([a_move(0, (1, 4, 6)), a_move(1, (1, 4, 6)), a_move(2, (1, 4, 6))])
    assert [each.status for each in outcomes] == [ReplicaStatus.RESTORED] * 3
    began = [at for _target, at in kafka.begun.values()]
    assert all(later - earlier >= _SIZE / _BYTES_PER_S for earlier, later in pairwise(began))


def test_a_broker_that_dies_is_given_up_after_a_minute_and_the_rest_goes_on(kafka: FakeCopies) -> None:
    """Its partitions are left to the caller. Their other copies are not canceled."""
    kafka.dies.add(4)
    both, other, later = a_move(0, (1, 4, 6)), a_move(1, (1, 3, 6)), a_move(2, (1, 4, 5))
    run = copier(kafka, at_once=1)
    outcomes = run.carry_out([both, later, other])
    assert [(each.partition, each.status) for each in outcomes] == [(1, ReplicaStatus.RESTORED)]
    assert (run.given_up, [each.partition for each in run.left]) == ({4}, [0, 2])
    assert kafka.canceled == []
    assert TopicPartition("t", 2) not in kafka.begun, "a copy that cannot be made is not begun"


def test_a_broker_that_is_back_within_a_minute_goes_on(kafka: FakeCopies) -> None:
    kafka.dies.add(4)
    kafka.back_at = 30
    run = copier(kafka)
    (outcome,) = run.carry_out([a_move(0, (1, 4, 6))])
    assert (outcome.status, run.given_up) == (ReplicaStatus.RESTORED, set())


def test_a_partition_that_is_given_up_is_canceled_unless_it_is_complete(kafka: FakeCopies) -> None:
    kafka.dies.add(4)
    run = copier(kafka)
    run.carry_out([a_move(0, (1, 4, 6)), a_move(1, (1, 4, 6))])
    outcome = run.give_up(run.left[0])
    assert outcome.status is ReplicaStatus.FAILED
    assert "what broker 4 copied is offline" in outcome.reason
    assert kafka.canceled == [0]

    kafka.back_at = kafka.clock.now
    kafka.clock.sleep(_SIZE)
    assert run.give_up(run.left[1]).status is ReplicaStatus.RESTORED
    assert kafka.canceled == [0]


def test_a_copy_that_its_broker_compacts_meanwhile_goes_on(kafka: FakeCopies) -> None:
    """Its size says nothing about how far it is. A cleaner that was dead for weeks left the leader's log dirty."""
    kafka.compacts = True
    (outcome,) = copier(kafka, stall_s=5).carry_out([a_move(0, (1, 4, 5))])
    assert (outcome.status, kafka.canceled) == (ReplicaStatus.RESTORED, [])


def test_a_copy_that_keeps_its_size_is_canceled(kafka: FakeCopies) -> None:
    kafka.stuck.add(4)
    (outcome,) = copier(kafka, stall_s=120).carry_out([a_move(0, (1, 4, 6))])
    assert outcome.status is ReplicaStatus.FAILED
    assert "has had the same size for 120 s: it was canceled" in outcome.reason
    assert kafka.canceled == [0]


def test_a_copy_is_canceled_by_another_broker_if_the_first_one_hangs(kafka: FakeCopies) -> None:
    """The broker that hangs gets no further request first."""
    kafka.stuck.add(4)
    kafka.hung.add(_LIVING[1])
    moves = [a_move(number, (1, 4, 6)) for number in range(9)]
    outcomes = copier(kafka, stall_s=120).carry_out(moves)
    assert all("it was canceled" in each.reason for each in outcomes), outcomes
    assert kafka.canceled == [*range(9)]
    assert kafka.clock.now < 10 + 120 + 5


def test_a_broker_that_dies_is_given_up_also_if_a_stall_would_be_seen_first(kafka: FakeCopies) -> None:
    kafka.dies.add(4)
    run = copier(kafka, stall_s=30)
    assert run.carry_out([a_move(0, (1, 4, 5))]) == []
    assert (run.given_up, [each.partition for each in run.left], kafka.canceled) == ({4}, [0], [])


def a_run(kafka: FakeCopies, journal: Journal, living: Collection[int]) -> CopyRun:
    params = {"max_concurrent": 20, "stall_timeout_ms": 8000, "throttle_bytes_per_second": None}
    writer = Writer(kafka, [*_LIVING.values()], 2, 1.0)
    return CopyRun(params, writer, {each: _LIVING[each] for each in living}, journal, NullProgress(), threading.Event())


def a_plan(*moves: ReplicaMove) -> RedundancyPlan:
    return RedundancyPlan(
        cluster_id="c", created_at="", lost_brokers=(3,), moves=moves, left_alone=(), racks=(), notes=()
    )


def test_a_broker_that_has_returned_since_the_run_began_is_watched(kafka: FakeCopies, journal: Journal) -> None:
    """Broker 6 was down. Broker 4 dies, and what it was to hold is planned again on broker 6."""
    kafka.dies.add(4)
    plan = a_plan(a_move(0, (1, 4, 5)))
    again = replace(a_move(0, (1, 6, 5)), replicas=(1, 4, 5, 3))
    (outcome,) = a_run(kafka, journal, (1, 4)).carry_out(lambda: plan, lambda _gone: [again]).outcomes
    assert (outcome.status, outcome.target, kafka.canceled) == (ReplicaStatus.RESTORED, (1, 6, 5), [])


def test_what_cannot_be_planned_again_does_not_hide_what_was_done(kafka: FakeCopies, journal: Journal) -> None:
    """A broker dies, and then nobody answers this host for a moment."""
    kafka.dies.add(4)

    def plan_again(_gone: frozenset[int]) -> list[ReplicaMove]:
        kafka.is_away = True
        return [*kafka.read_partition_states([]).states]  # type: ignore[list-item]  # it raises an error

    plan = a_plan(a_move(0, (1, 4, 5)), a_move(1, (1, 6, 5)))
    lost, done = a_run(kafka, journal, (1, 4, 6)).carry_out(lambda: plan, plan_again).outcomes
    assert (lost.status, done.status) == (ReplicaStatus.FAILED, ReplicaStatus.RESTORED)
    assert "what broker 4 copied is offline" in lost.reason
    assert "no answer" in lost.reason


@pytest.mark.parametrize("stall_s", [30, 600])
def test_a_copy_without_a_leader_is_never_canceled(kafka: FakeCopies, stall_s: float) -> None:
    """What the new replicas have may be all that is left."""
    kafka.leaderless_at = 1
    (outcome,) = copier(kafka, stall_s=stall_s).carry_out([a_move(0, (1, 4, 6))])
    assert outcome.status is ReplicaStatus.FAILED
    assert outcome.reason.startswith("it has no leader now: recover it first")
    assert kafka.canceled == []
    assert kafka.clock.now < 1 + 65


def test_a_copy_is_not_begun_if_all_lost_brokers_are_back_in_sync(kafka: FakeCopies) -> None:
    """They returned after the plan. While one of two is missing, the copy is needed."""
    kafka.returned = {3}
    assert [each.status for each in foresee(kafka, [a_move(0, (1, 4, 6))]).values()] == [ReplicaStatus.WOULD_RESTORE]
    kafka.returned = {3, 5}
    (outcome,) = foresee(kafka, [a_move(0, (1, 4, 6))]).values()
    assert [outcome] == copier(kafka).carry_out([a_move(0, (1, 4, 6))])
    assert (outcome.status, kafka.begun) == (ReplicaStatus.RETURNED, {})
    assert outcome.reason == "brokers 3, 5 returned in sync, and kept what was there"


def test_what_a_reviewed_plan_has_reached_before_is_not_done_again(kafka: FakeCopies) -> None:
    moves = [a_move(number, (1, 4, 6)) for number in range(2)]
    assert {each.status for each in foresee(kafka, moves).values()} == {ReplicaStatus.WOULD_RESTORE}
    copier(kafka).carry_out(moves[:1])
    assert [each.status for each in foresee(kafka, moves).values()] == [
        ReplicaStatus.DONE_BEFORE,
        ReplicaStatus.WOULD_RESTORE,
    ]
