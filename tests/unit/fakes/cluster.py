# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The port of a cluster in memory (controller.py), whose answers a test can drop.

Real brokers are in tests/integration; this one does what they do not on demand.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import Change, OrderChange
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_topic import RUN_TOPIC
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka import error_codes
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.cluster import Cluster, Registration
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.controllers import ControllerSide
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.elections import UNCLEAN, ElectionAnswer
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import (
    BrokerCallError,
    NoBrokerAnswersError,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.header_reading import BatchAnswers, Questions
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.partitions import (
    Description,
    PartitionStates,
    TopicError,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address, ConnectionSettings
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    PARTITIONS_PER_REQUEST,
    Broker,
    BrokerState,
    Cause,
    EpochEnd,
    PartitionState,
    Reassignment,
    ReplicaLog,
    TopicPartition,
)
from unit.fakes.controller import FakeController
from unit.fakes.fates import WELL, Fate, Write
from unit.fakes.journals import CLUSTER_ID, read_pending
from unit.fakes.topics import SETTINGS, FakeTopics

INVALID_REPLICA_ASSIGNMENT = 39
MEMORY_TOPIC = "_kafkaops_leadership"


@dataclass
class FakeCluster(FakeController):
    """The controller, the log of each replica, and what the port answers."""

    logs: dict[tuple[int, TopicPartition], ReplicaLog]
    fates: dict[str, list[Fate]] = field(default_factory=dict)
    """The fates of the next requests "reorder" and "elect", in turn; later requests succeed."""
    closed: dict[Address, Cause] = field(default_factory=dict)
    """The error of each new connection. Writes are not sent, and other brokers answer reads."""
    stale_reads: int = 0
    """After each write, this number of descriptions still shows the old state, as brokers with old metadata do."""
    reads_until_silent: int | None = None
    """After this number of further descriptions, no broker answers."""
    reassigning: frozenset[TopicPartition] = frozenset()
    lists_fenced: bool = True
    """Whether fenced brokers are listed. Before Kafka 4.0 they are not."""
    refused_topics: dict[str, int] = field(default_factory=dict)
    described: list[set[str] | None] = field(default_factory=list)
    """The topics of each requested description; None for all."""
    late_brokers: set[int] = field(default_factory=set)
    """Brokers that apply metadata late."""
    fenced_but_alive: set[int] = field(default_factory=set)
    """Brokers that answer although the controller fences them."""
    writes: list[Write] = field(default_factory=list)
    _before_write: dict[TopicPartition, PartitionState] = field(default_factory=dict)
    _stale_left: int = 0

    run_topic: FakeTopics = field(default_factory=FakeTopics)

    def __post_init__(self) -> None:
        own = (
            "create_topic",
            "assign",
            "delete_topic",
            "append_records",
            "read_records",
            "read_configs",
            "write_configs",
        )
        for name in own:
            setattr(self, name, getattr(self.run_topic, name))
        # Unused: every request of the tests is answered here.
        self.wire = cast(Wire, self)

    @property
    def settings(self) -> ConnectionSettings:
        return SETTINGS

    def controller_side(self) -> ControllerSide:
        return ControllerSide(self.wire, (), "the fake has no controllers of its own")

    def answer(self, **requests: Callable[..., Any]) -> None:
        """Answer these requests of the port with these functions from now on."""
        for name, function in requests.items():
            assert hasattr(Kafka, name)
            setattr(self, name, function)

    def lag_behind(self, reads: int) -> None:
        """Show the present state in this number of descriptions, whatever changes."""
        self._before_write, self._stale_left = dict(self.states), reads

    def pending(self) -> tuple[Change, ...]:
        """Return the pending changes of the journal."""
        return read_pending(self.run_topic)

    def kinds(self) -> list[str]:
        return [each.kind for each in self.writes]

    # The port.

    def find_late(self, addresses: Mapping[int, Address], patience_s: float = 0) -> dict[int, str]:
        return {each: "it ends at offset 8" for each in addresses if each in self.late_brokers}

    def notes_on_views(self) -> tuple[str, ...]:
        return ()

    def read_batches(self, questions: Questions) -> BatchAnswers:
        """Answer nothing: no epoch has had two leaders."""
        return BatchAnswers()

    def first_partitions_at(self, address: Address, topic: str, count: int) -> tuple[PartitionState, ...]:
        return self.run_topic.first_partitions_at(address, topic, count)

    def describe_cluster(self) -> Cluster:
        return Cluster(
            CLUSTER_ID,
            tuple(
                Registration(each, Address(f"broker-{each}.invalid", 9092), None, each not in self.unfenced)
                for each in sorted(self.registered if self.lists_fenced else self.registered & self.unfenced)
            ),
            lists_fenced=self.lists_fenced,
        )

    def probe_brokers(self, cluster: Cluster, mentioned: frozenset[int] = frozenset()) -> tuple[Broker, ...]:
        known = {each.broker_id: each for each in cluster.registrations}
        return tuple(
            Broker(
                each,
                known[each].address.host if each in known else None,
                9092,
                None,
                each not in self.unfenced,
                self.broker_states.get(each, BrokerState.ONLINE if each in self.unfenced else BrokerState.FENCED),
            )
            for each in sorted(known.keys() | mentioned)
        )

    def describe_partitions(
        self, names: Iterable[str] | None = None, span: tuple[TopicPartition, TopicPartition] | None = None
    ) -> Description:
        self.execute_late()
        topics = None if names is None else {*names}
        if topics and topics <= {RUN_TOPIC, MEMORY_TOPIC}:
            return self.run_topic.describe_partitions(topics)
        self.described.append(topics)
        if self.reads_until_silent is not None:
            if self.reads_until_silent == 0:
                raise NoBrokerAnswersError("DescribeTopicPartitions", [_lost("DescribeTopicPartitions")])
            self.reads_until_silent -= 1
        states = self.states
        if self._stale_left > 0:
            self._stale_left -= 1
            states = self._before_write
        if topics is None:
            topics = {each.topic for each in states}
        visible = topics - self.refused_topics.keys()
        found = [states[each] for each in sorted(states) if each.topic in visible]
        unknown = visible - {each.topic for each in found}
        refused = {**dict.fromkeys(unknown, error_codes.UNKNOWN_TOPIC_OR_PARTITION), **self.refused_topics}
        return Description(
            tuple(self._as_described(each) for each in found),
            tuple(TopicError(each, code) for each, code in sorted(refused.items()) if each in topics),
        )

    def read_partition_states(self, partitions: Collection[TopicPartition]) -> PartitionStates:
        description = self.describe_partitions({each.topic for each in partitions})
        return PartitionStates(
            {each.topic_partition: each for each in description.partitions if each.topic_partition in {*partitions}},
            {each.topic: each for each in description.refused if not each.is_unknown},
        )

    def running_reassignments(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, Reassignment]:
        running = {
            **{each: Reassignment(adding=(9,)) for each in self.reassigning},
            **{each: Reassignment(removing=removed) for each, removed in self.removing.items()},
        }
        return {each: how for each, how in running.items() if each in {*partitions}}

    def check_topic_creation(
        self, address: Address, name: str, replicas: Sequence[int], config: Mapping[str, str]
    ) -> None:
        if gone := sorted({*replicas} - self.registered):
            raise error_codes.request_refused_error(
                "CreateTopics", INVALID_REPLICA_ASSIGNMENT, _no_such_broker(gone[0])
            )

    def cancel(self, address: Address, partition: TopicPartition) -> str | None:
        self._connect(address, "cancel")
        self.writes.append(Write("cancel", (partition,), address, ("",)))
        if not self.states[partition].isr:
            return error_codes.describe_error(
                INVALID_REPLICA_ASSIGNMENT, "it would require an unclean leader election."
            )
        self.removing.pop(partition, None)
        return None

    def probe_replicas(
        self, broker: Broker, partitions: Sequence[TopicPartition], *_args: Any, **_options: Any
    ) -> list[ReplicaLog]:
        return [self._log(broker.broker_id, each) for each in partitions]

    def reorder(
        self, address: Address, orders: Mapping[TopicPartition, Sequence[int]]
    ) -> dict[TopicPartition, str | None]:
        changes = [each for each in self.pending() if isinstance(each, OrderChange)]
        journal = {each.topic_partition: each for each in changes}
        for partition, order in orders.items():
            assert sorted(order) == sorted(self.states[partition].replicas), "the replica set is never changed"
            assert tuple(order) in (journal[partition].original, journal[partition].changed), "the journal comes first"
        return self._set(address, orders, "reorder")

    def reorder_without(
        self, address: Address, orders: Mapping[TopicPartition, Sequence[int]]
    ) -> dict[TopicPartition, str | None]:
        journal = {each.topic_partition: each for each in self.pending() if isinstance(each, OrderChange)}
        for partition, order in orders.items():
            change = journal[partition]
            assert {*self.states[partition].replicas} <= {*order, *change.dropped}, "nothing else is dropped"
            left = change.changed[: len(change.changed) - len(change.dropped)]
            assert tuple(order) in (left, change.without_dropped), "the journal comes first"
            assert not {*change.dropped} & self.registered, "no registered broker is dropped"
        return self._set(address, orders, "reorder without")

    def _set(
        self, address: Address, orders: Mapping[TopicPartition, Sequence[int]], kind: str
    ) -> dict[TopicPartition, str | None]:
        asked = {each: str(list(order)) for each, order in orders.items()}
        gone = {each: sorted({*order} - self.registered) for each, order in orders.items()}
        codes = self._write(
            kind,
            address,
            asked,
            lambda each: INVALID_REPLICA_ASSIGNMENT if gone[each] else self.set_replicas(each, tuple(orders[each])),
        )
        return {
            each: error_codes.describe_error(code, _no_such_broker(gone[each][0]) if gone[each] else None)
            if code
            else None
            for each, code in codes.items()
        }

    def elect(
        self, address: Address, election_type: int, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, ElectionAnswer]:
        is_unclean = election_type == UNCLEAN
        asked = dict.fromkeys(partitions, "unclean" if is_unclean else "preferred")
        codes = self._write("elect", address, asked, lambda each: self.elect_any(each, unclean=is_unclean))
        return {each: ElectionAnswer(code, None) for each, code in codes.items()}

    def elect_designated(
        self, address: Address, leaders: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, ElectionAnswer]:
        asked = {each: f"broker {leader}" for each, leader in leaders.items()}
        codes = self._write("elect designated", address, asked, lambda each: self.lead(each, leaders[each]))
        return {each: ElectionAnswer(code, None) for each, code in codes.items()}

    def _connect(self, address: Address, kind: str) -> None:
        if address in self.closed:
            raise BrokerCallError(str(address), self.closed[address], "refused", request=kind)

    def _write(
        self,
        kind: str,
        address: Address,
        partitions: Mapping[TopicPartition, str],
        carry_out: Callable[[TopicPartition], int],
    ) -> dict[TopicPartition, int]:
        assert 0 < len(partitions) <= PARTITIONS_PER_REQUEST
        self._connect(address, kind)
        waiting = self.fates.get(kind, [])
        fate = waiting.pop(0) if waiting else WELL
        if fate.unsent:
            raise BrokerCallError(str(address), Cause.UNREACHABLE, "connection refused", request=kind)
        self.writes.append(Write(kind, tuple(partitions), address, tuple(partitions.values())))
        fate.before()
        if fate.lost_request:
            if fate.executed_after_s is not None:
                self.later(fate.executed_after_s, carry_out, [*partitions])
            raise _lost(kind)
        if fate.refused_with:
            raise error_codes.request_refused_error(kind, fate.refused_with)
        self.lag_behind(self.stale_reads)
        codes = {each: fate.errors.get(each) or carry_out(each) for each in partitions}
        fate.after()
        if fate.lost_answer:
            raise _lost(kind)
        if fate.timed_out:
            raise error_codes.request_refused_error(kind, error_codes.REQUEST_TIMED_OUT)
        return {each: code for each, code in codes.items() if each not in fate.left_out}

    def _as_described(self, state: PartitionState) -> PartitionState:
        return state._replace(offline_replicas=tuple(each for each in state.replicas if each not in self.unfenced))

    def _log(self, broker_id: int, partition: TopicPartition) -> ReplicaLog:
        silent = ReplicaLog(partition.topic, partition.partition, broker_id, cause=Cause.UNREACHABLE, error="refused")
        answers = broker_id in self.unfenced or broker_id in self.fenced_but_alive
        return self.logs.get((broker_id, partition), silent) if answers else silent


def _no_such_broker(broker_id: int) -> str:
    return f"The manual partition assignment includes broker {broker_id}, but no such broker is registered."


def a_log(broker_id: int, partition: TopicPartition, epoch: int, end: int) -> ReplicaLog:
    return ReplicaLog(
        partition.topic, partition.partition, broker_id, 0, end, epoch + 1, epoch, (EpochEnd(epoch, end),)
    )


def _lost(kind: str) -> BrokerCallError:
    return BrokerCallError("fake.invalid:9092", Cause.HUNG, "no answer within 1000 ms", request=kind)
