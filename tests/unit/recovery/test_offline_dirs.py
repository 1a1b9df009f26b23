# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Log directories that are offline in a broker that runs: who is asked, what is said, and what counts as lost."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.log_dirs import LogDirs
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    LOST_LOG_DIR,
    NO_LEADER,
    Broker,
    BrokerState,
    Cause,
    PartitionState,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.candidate import SilentReplica
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.decide import decide
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.offline_dirs import describe_lost
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import LeftAlone
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.start_order import (
    describe_advice,
    find_awaited,
    find_start_order,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Policy, Strategy
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.survey import Survey, survey, survey_again
from unit.fakes.cluster import FakeCluster

WORKING = LogDirs({}, {}, "")
DEAD = LogDirs({}, {"/b": "KAFKA_STORAGE_ERROR (error 56)"}, "")


class FakeWithLogDirs(FakeCluster):
    """A cluster whose brokers lose log directories: a replica may be offline on a broker that is not fenced."""

    asked: list[str]

    def _as_described(self, state: PartitionState) -> PartitionState:
        return state


def offline(number: int, *replicas: int) -> PartitionState:
    return PartitionState("orders", number, "A" * 22, NO_LEADER, 7, (1, 2, 3), (), (1,), (1,), replicas)


def a_cluster(states: Sequence[PartitionState], answer: LogDirs | Cause, *, unfenced: set[int]) -> FakeWithLogDirs:
    cluster = FakeWithLogDirs({each.topic_partition: each for each in states}, unfenced, {1, 2, 3}, {})
    cluster.asked = []

    def describe(address: Address, partitions: Sequence[TopicPartition]) -> LogDirs:
        assert not partitions, "only the directories are of interest"
        cluster.asked.append(str(address))
        if isinstance(answer, Cause):
            raise BrokerCallError(str(address), answer, "no answer within 1000 ms")
        return answer

    cluster.answer(describe_log_dirs=describe)
    return cluster


def broker_1(found: Survey) -> Broker:
    return next(each for each in found.brokers if each.broker_id == 1)


@pytest.mark.parametrize(
    ("answer", "dirs", "cause"),
    [
        (
            DEAD,
            ("/b",),
            "log directory is offline: /b (KAFKA_STORAGE_ERROR (error 56)); its replicas of 2 partitions are offline",
        ),
        (WORKING, (), "although all its log directories are online: it has just returned, or one was replaced"),
        (LogDirs({}, {}, "needs DESCRIBE"), (), "so a log directory of it is; which one is not known: needs DESCRIBE"),
        (Cause.HUNG, (), "which one is not known: broker-1.invalid:9092"),
    ],
)
def test_an_online_broker_with_offline_replicas_is_asked(
    answer: LogDirs | Cause, dirs: tuple[str, ...], cause: str
) -> None:
    cluster = a_cluster([offline(0, 1), offline(1, 1, 2), offline(2)], answer, unfenced={1, 3})
    found = survey(cluster, lost={1})
    assert cluster.asked == ["broker-1.invalid:9092"]
    broker = broker_1(found)
    assert (broker.state, broker.offline_log_dirs) == (BrokerState.ONLINE, dirs)
    assert cause in broker.cause
    again = survey_again(cluster, found)
    assert (broker_1(again), again.lost) == (broker, frozenset({1}))


def test_no_broker_is_asked_without_offline_replicas_on_an_online_one() -> None:
    cluster = a_cluster([offline(0, 1)], DEAD, unfenced={2, 3})
    assert broker_1(survey(cluster)).offline_log_dirs == ()
    healthy = offline(0, 1)._replace(leader_id=2, offline_replicas=())
    cluster = a_cluster([healthy], DEAD, unfenced={1, 2, 3})
    survey(cluster)
    assert cluster.asked == []


def test_a_running_broker_is_to_be_repaired_and_not_started() -> None:
    found = survey(a_cluster([offline(0, 1)], DEAD, unfenced={1, 2, 3}))
    (advice,) = find_start_order(found.without_leader, found.brokers)
    assert advice.is_running
    text = describe_advice(advice)
    assert "repair the disk" in text
    assert "/b" in text
    assert "unclean_recovery_lost_brokers: [1], and only then replace the directory" in text
    assert "start it" not in text


@pytest.mark.parametrize(
    ("declared", "awaited"), [((), {2: (1, 0)}), ((1,), {2: (1, 1)}), ((3,), {2: (1, 0)})], ids=["none", "1", "3"]
)
def test_a_declared_replica_on_an_offline_directory_is_lost(
    declared: tuple[int, ...], awaited: dict[int, tuple[int, int]]
) -> None:
    """With broker 1 lost, balanced compares all the others, and needs broker 2. Else only aggressive asks for it."""
    found = survey(a_cluster([offline(0, 1, 2)], DEAD, unfenced={1, 3}), lost=declared)
    strategy = Strategy.BALANCED if 1 in declared else Strategy.AGGRESSIVE
    wanted = find_awaited(found.offline, {"orders": Policy(strategy)}, found.brokers, found.lost)
    assert {each.broker_id: (each.partitions, each.holds_back) for each in wanted.brokers} == awaited
    if 1 not in declared:
        waits = find_awaited(found.offline, {"orders": Policy(Strategy.BALANCED)}, found.brokers, found.lost)
        assert waits.brokers == (), "it waits for broker 1, which runs and cannot return"


def test_the_notes_say_what_of_an_online_broker_is_lost_and_which_one_is_unknown() -> None:
    found = survey(a_cluster([offline(0, 1, 2)], DEAD, unfenced={1, 3}), lost={1, 2, 3, 30})
    assert [*describe_lost(found.lost, found.brokers)] == [
        "lost_brokers names broker 30, which the cluster does not have, nor any replica: it has 1, 2, 3",
        "lost_brokers names broker 1, which is online: only its offline replicas count as lost",
        "lost_brokers names broker 3, which is online: it is treated like any other broker",
    ]


@pytest.mark.parametrize(
    ("error", "step"),
    [
        ("named in lost_brokers, so not waited for: refused", "start the same id with an empty disk"),
        (
            f"{LOST_LOG_DIR}: /b: KAFKA_STORAGE_ERROR",
            "restart broker 1 with an empty directory in place of the offline one, and with all its other directories "
            "as they are",
        ),
    ],
)
def test_a_broker_that_runs_without_one_directory_keeps_the_others(error: str, step: str) -> None:
    alone = offline(0, 1)._replace(replicas=(1,))
    left = decide(alone, [], [SilentReplica(1, Cause.GIVEN_UP, error)], Policy(Strategy.BALANCED))
    assert isinstance(left, LeftAlone)
    assert step in left.reason
    assert ("empty disk" in left.reason) is not error.startswith(LOST_LOG_DIR)
