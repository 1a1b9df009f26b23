# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which leaders are asked, while the cluster still names a broker as leader that has just died."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.log_dir import LogDir, PartitionDir
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.cluster import Cluster, Registration
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.partitions import Description
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    NO_LEADER,
    Broker,
    Cause,
    PartitionState,
    ReplicaLog,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.finding import DiskReplica, SalvageStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.leaders import Leaders, read_leader_logs
from unit.fakes.clock import FakeClock

DEAD, NEXT, OTHER = 1, 2, 3
STATE = PartitionState("orders", 0, "A" * 22, DEAD, 9, (1, 2, 3), (1, 2), (), (), ())
ANSWER = ReplicaLog("orders", 0, NEXT, log_start_offset=0, log_end_offset=5, lineage=())


class Steps:
    """Keeps the progress messages."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def step(self, text: str, _done: int | None = None, _total: int | None = None) -> None:
        self.texts.append(text)


class FakeCluster(Kafka):
    """Names a leader of each partition, depending on the time, and answers for brokers that are up."""

    clock: FakeClock

    def __init__(self, leaders: Callable[[float], dict[int, int]], causes: dict[int, Cause] | None = None) -> None:
        self.leaders = leaders
        self.causes = {DEAD: Cause.UNREACHABLE} if causes is None else causes
        self.clock = FakeClock()
        self.steps = Steps()
        self.asked: list[tuple[int, tuple[int, ...]]] = []
        self.fails_at: set[float] = set()
        self.up_at: dict[int, float] = {}
        self.listed_at: dict[int, float] = {}

    def describe_cluster(self) -> Cluster:
        if self.clock.now in self.fails_at:
            raise BrokerCallError("broker2:9092", Cause.DISCONNECTED, "gone")
        listed = [each for each in (DEAD, NEXT, OTHER) if self.clock.now >= self.listed_at.get(each, 0)]
        brokers = tuple(Registration(each, Address(f"broker{each}", 9092), None, False) for each in listed)
        return Cluster("cluster", brokers, lists_fenced=True)

    def describe_partitions(
        self, names: Iterable[str] | None = None, span: tuple[TopicPartition, TopicPartition] | None = None
    ) -> Description:
        assert (names, span) == ({"orders"}, None)
        led = self.leaders(self.clock.now)
        return Description(
            tuple(STATE._replace(partition=number, leader_id=leader) for number, leader in led.items()), ()
        )

    def probe_replicas(self, broker: Broker, partitions: Sequence[TopicPartition], *_: Any, **options: Any) -> Any:
        assert options == {"checked": {*partitions}, "is_retried": False}
        self.asked.append((broker.broker_id, tuple(each.partition for each in partitions)))
        is_up = self.clock.now >= self.up_at.get(broker.broker_id, float("inf"))
        cause = None if is_up else self.causes.get(broker.broker_id)
        rows = [replace(ANSWER, partition=each.partition, broker_id=broker.broker_id) for each in partitions]
        return [replace(each, cause=cause, error="refused") for each in rows] if cause else rows

    def ask(self, limit_s: float = 30.0) -> Leaders:
        numbers = self.leaders(0.0)
        directories = [PartitionDir("orders", number, STATE.topic_id, (), f"/d/orders-{number}") for number in numbers]
        replicas = [DiskReplica(LogDir("/d", "cluster", DEAD, None), each) for each in directories]
        return read_leader_logs(self, replicas, limit_s, self.steps)


def answered(found: Leaders) -> dict[int, int]:
    """Return which broker answered for which partition."""
    return {each.partition: log.broker_id for each, log in found.logs.items() if log.answered}


def test_another_leader_is_waited_for_if_the_leader_is_dead() -> None:
    cluster = FakeCluster(lambda now: {0: DEAD if now < 9 else NEXT, 1: OTHER})
    found = cluster.ask()
    assert answered(found) == {0: NEXT, 1: OTHER}
    assert sorted(cluster.asked) == [*[(DEAD, (0,))] * 9, (NEXT, (0,)), (OTHER, (1,))]
    assert [each.state.leader_id for each in found.comparable] == [NEXT, OTHER], "in order, each with who answered"
    assert cluster.clock.now == 9
    assert cluster.steps.texts[0] == "asking the leaders of 2 partitions"
    assert set(cluster.steps.texts[1:]) == {
        "waiting for broker 1 (unreachable; leader of 1 partition) to answer, or for other leaders"
    }


def test_a_partition_without_leader_is_not_waited_for() -> None:
    cluster = FakeCluster(lambda now: {0: DEAD if now < 3 else NO_LEADER})
    found = cluster.ask()
    assert (found.comparable, [each.status for each in found.findings]) == ([], [SalvageStatus.FAILED])
    assert "it has no leader" in found.findings[0].reason
    assert cluster.clock.now == 3


@pytest.mark.parametrize(
    "cause",
    [Cause.UNREACHABLE, Cause.HUNG, Cause.DISCONNECTED, Cause.FENCED, Cause.MISSING, Cause.WRONG_BROKER],
)
def test_a_silent_leader_is_reported_with_its_cause_at_the_deadline(cause: Cause) -> None:
    """Its log is unknown, and never counts as empty."""
    cluster = FakeCluster(lambda _now: {0: DEAD}, {DEAD: cause})
    found = cluster.ask(limit_s=4.5)
    assert [(each.state.leader_id, found.logs[each.state.topic_partition].cause) for each in found.comparable] == [
        (DEAD, cause)
    ]
    assert cluster.clock.now == 4.5


@pytest.mark.parametrize("cause", [Cause.NOT_AUTHORIZED, Cause.LOG_DIR_OFFLINE, Cause.ERROR])
def test_a_permanent_failure_is_not_waited_for(cause: Cause) -> None:
    cluster = FakeCluster(lambda _now: {0: DEAD}, {DEAD: cause})
    assert cluster.ask().logs[TopicPartition("orders", 0)].cause is cause
    assert cluster.clock.now == 0


def test_a_leader_that_comes_back_answers() -> None:
    cluster = FakeCluster(lambda _now: {0: DEAD})
    cluster.up_at = {DEAD: 2.0}
    assert answered(cluster.ask()) == {0: DEAD}
    assert cluster.clock.now == 2


def test_an_unregistered_leader_is_waited_for() -> None:
    cluster = FakeCluster(lambda now: {0: 7, 1: 7} if now < 2 else {0: NEXT, 1: NEXT})
    assert answered(cluster.ask()) == {0: NEXT, 1: NEXT}
    assert "broker 7 (not registered; leader of 2 partitions)" in cluster.steps.texts[1]


def test_the_address_of_a_leader_that_was_fenced_at_first_is_known() -> None:
    """Before Kafka 4.0, the cluster lists it only when it leads."""
    cluster = FakeCluster(lambda now: {0: DEAD if now < 2 else NEXT})
    cluster.listed_at = {NEXT: 2.0}
    found = cluster.ask()
    assert answered(found) == {0: NEXT}
    assert found.addresses[NEXT] == Address(f"broker{NEXT}", 9092)


def test_a_failed_description_does_not_stop_the_waiting() -> None:
    cluster = FakeCluster(lambda now: {0: DEAD if now < 2 else NEXT})
    cluster.fails_at = {1.0, 2.0}
    assert answered(cluster.ask()) == {0: NEXT}
    assert cluster.clock.now == 3


def test_a_failed_first_description_is_an_error() -> None:
    cluster = FakeCluster(lambda _now: {0: DEAD})
    cluster.fails_at = {0.0}
    with pytest.raises(BrokerCallError):
        cluster.ask()
