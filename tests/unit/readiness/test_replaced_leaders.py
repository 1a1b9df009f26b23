# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Leaders whose disk seems to have been replaced, and what only looks like it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._history.replaced_leaders import find_replaced_leaders
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.cluster import Cluster
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import (
    BrokerCallError,
    NoBrokerAnswersError,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.groups import Commit, GroupCommits
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    NO_LEADER,
    Broker,
    BrokerState,
    Cause,
    PartitionState,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.replaced_disk import LogBeginning, leads_alone
from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.partitions import check_replaced
from unit.fakes.answers import one_by_one

BROKERS = (
    Broker(1, "one", 9092, None, False, BrokerState.ONLINE),
    *(Broker(each, "away", 9092, None, True, BrokerState.FENCED, "it is down") for each in (2, 3)),
)


def led(number: int, **values: Any) -> PartitionState:
    state = PartitionState("orders", number, "A" * 22, 1, 2, (1, 2, 3), (1,), (), (), (2, 3))
    return state._replace(**values)


def log(
    number: int, end: int, first_epoch_end: int | None, *, start: int = 0, epoch: int = 2, log_dir: str | None = "/a"
) -> LogBeginning:
    return LogBeginning("orders", number, 1, log_dir, start, end, epoch, first_epoch_end)


EMPTY, LATE, OLD, MOVED = log(0, 0, None), log(0, 9, 0), log(1, 9, 5), log(1, 9, None, start=4)
UNKNOWN_EPOCHS, NEVER_CHANGED = log(0, 9, None), log(0, 0, None, epoch=0)


@dataclass
class FakeBrokers(Kafka):
    """Brokers that answer with these logs, and whose groups committed these offsets."""

    logs: Sequence[LogBeginning] | BrokerCallError
    commits: Mapping[str, int] = field(default_factory=dict)
    asked: list[TopicPartition] = field(default_factory=list)

    def read_log_beginnings(
        self, address: Address, broker_id: int, partitions: Sequence[TopicPartition]
    ) -> list[LogBeginning]:
        self.asked += partitions
        if isinstance(self.logs, BrokerCallError):
            raise self.logs
        return [each for each in self.logs if each.topic_partition in partitions]

    def describe_cluster(self) -> Cluster:
        raise NoBrokerAnswersError("DescribeCluster", [])

    def in_parallel(self, work: Callable[[Any], Any], keys: Iterable[Any]) -> dict[Any, Any]:
        return one_by_one(work, keys)

    def group_states(self, address: Address) -> dict[str, str]:
        return dict.fromkeys(self.commits, "Empty")

    def read_commits(
        self, coordinator: Address, names: Sequence[str], partitions: Collection[TopicPartition] | None = None
    ) -> dict[str, GroupCommits]:
        return {
            each: GroupCommits(dict.fromkeys(partitions or (), Commit(offset))) for each, offset in self.commits.items()
        }


@pytest.mark.parametrize(
    ("logs", "replaced"),
    [
        ([EMPTY], [0]),
        ([LATE], [0]),
        ([EMPTY, log(1, 9, 0)], [0, 1]),
        ([EMPTY, OLD], []),
        ([EMPTY, MOVED], []),
        ([LATE, OLD], []),
        ([EMPTY, log(1, 9, 5, log_dir="/b")], [0]),
        ([log(0, 0, None, log_dir=None), log(1, 9, 5, log_dir=None)], []),
        ([EMPTY, log(1, 9, 9, epoch=0)], [0]),
        ([UNKNOWN_EPOCHS], []),
        ([NEVER_CHANGED], []),
        ([], []),
    ],
    ids=str,
)
def test_logs_of_one_directory_are_looked_at_together(logs: list[LogBeginning], replaced: list[int]) -> None:
    found = find_replaced_leaders(FakeBrokers(logs), [led(0), led(1)], BROKERS)
    assert [each.partition for each in found] == replaced
    assert all("Brokers 2, 3 may hold the records" in reason for reason in found.values())


def test_a_commit_beyond_the_end_of_a_blank_log_proves_it_on_an_old_directory() -> None:
    states = [led(0), led(1)]
    found = find_replaced_leaders(FakeBrokers([EMPTY, OLD], {"slow": 3, "billing": 100}), states, BROKERS)
    assert "group billing committed offset 100, and the log ends at 0" in found[TopicPartition("orders", 0)]
    assert not find_replaced_leaders(FakeBrokers([LATE, OLD], {"billing": 9}), states, BROKERS), "it is at the end"


def test_a_commit_beyond_the_end_of_an_old_log_shows_that_it_ends_too_early() -> None:
    brokers, states = FakeBrokers([OLD], {"slow": 3, "billing": 900}), [led(0), led(1)]
    (reason,) = find_replaced_leaders(brokers, states, BROKERS).values()
    assert "group billing committed offset 900, and the log ends at 9: its disk seems to be an older copy" in reason
    assert "Brokers 2, 3 may hold the records" in reason
    assert find_replaced_leaders(brokers, states, BROKERS, lost={2}), "broker 3 may hold them"
    assert not find_replaced_leaders(brokers, states, BROKERS, lost={2, 3}), "the operator knows that nobody does"


def test_replicas_that_a_living_broker_may_have_copied_are_not_asked_for() -> None:
    states = [
        led(0),
        led(1, replicas=(1,), offline_replicas=()),
        led(2, leader_id=NO_LEADER, offline_replicas=(2, 3)),
        led(3, leader_id=4, replicas=(4, 1, 2), offline_replicas=(2,)),
        led(4, replicas=(1, 2, 4), offline_replicas=(2,)),
    ]
    brokers = FakeBrokers([EMPTY])
    assert [*find_replaced_leaders(brokers, states, BROKERS)] == [TopicPartition("orders", 0)]
    assert [each.partition for each in brokers.asked] == [0, 1, 2]
    assert [leads_alone(each) for each in states] == [True, False, False, False, False]


def test_a_leader_that_cannot_be_asked_is_not_taken_for_well() -> None:
    error = BrokerCallError("one:9092", Cause.DISCONNECTED, "connection reset")
    (reason,) = find_replaced_leaders(FakeBrokers(error), [led(0)], BROKERS).values()
    assert "whether its log is on a new disk is not known: one:9092" in reason


def test_no_request_is_sent_while_another_replica_is_online() -> None:
    brokers = FakeBrokers([])
    assert not find_replaced_leaders(brokers, [led(0, offline_replicas=(3,))], BROKERS)
    assert brokers.asked == []


def test_readiness_says_to_save_the_disks_before_the_brokers_are_started() -> None:
    assert not [*check_replaced({}, ())]
    (check,) = check_replaced({TopicPartition("orders", each): "why" for each in (1, 0)}, {3, 2})
    assert check.found == "orders-0: why; and 1 more partition"
    assert check.remedy.startswith("Save the disks of brokers 2, 3 before you start them")


def test_what_the_metadata_log_may_know_better_is_said() -> None:
    (reason,) = find_replaced_leaders(FakeBrokers([EMPTY]), [led(0)], BROKERS).values()
    assert reason.endswith(
        "(the metadata log may know better, but: no broker could be asked for DescribeCluster: none is known)"
    )
