# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cluster in memory, whose controller follows Kafka's rules, and whose answers get lost when a test says so.

Real brokers are in tests/integration; this one does what they do not on demand.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils.journal.file_journal import read_unfinished
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka import error_codes
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.addresses import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.batches import PARTITIONS_PER_REQUEST
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.cluster import Cluster, Registration
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.elections import UNCLEAN, ElectionAnswer
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.errors import (
    BrokerCallError,
    NoBrokerAnswersError,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.partitions import Description, TopicError
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.settings import ConnectionSettings
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.broker import Broker
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import (
    NO_LEADER,
    PartitionState,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.replica_log import Cause, EpochEnd, ReplicaLog
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations import (
    designated_election,
    election_batch,
    leftovers,
    observation,
    partition_sight,
    replica_orders,
)

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
ROOMS = (designated_election, election_batch, leftovers, observation, partition_sight, replica_orders)


def nothing() -> None:
    """What happens around a request unless a test says otherwise."""


@dataclass(frozen=True)
class Fate:
    """What befalls one write request."""

    lost_request: bool = False
    """It never reaches the controller, and the caller learns nothing."""
    lost_answer: bool = False
    """It is carried out, and the caller learns nothing."""
    refused_with: int = 0
    """The whole request is refused with this code."""
    timed_out: bool = False
    """It is carried out, and the broker between answers REQUEST_TIMED_OUT."""
    errors: Mapping[TopicPartition, int] = field(default_factory=dict)
    """These partitions are answered with a code, and nothing is done to them."""
    left_out: frozenset[TopicPartition] = frozenset()
    """These are carried out, and missing from the answer."""
    before: Callable[[], None] = nothing
    after: Callable[[], None] = nothing


WELL = Fate()


@dataclass(frozen=True)
class Write:
    """A write request as the controller got it."""

    kind: str
    partitions: tuple[TopicPartition, ...]
    address: Address


@dataclass
class FakeCluster:
    """Partitions, the brokers that are unfenced, and what each replica holds."""

    states: dict[TopicPartition, PartitionState]
    logs: dict[tuple[int, TopicPartition], ReplicaLog]
    unfenced: set[int]
    registered: set[int]
    journal_dir: str
    fates: dict[str, list[Fate]] = field(default_factory=dict)
    """For "reorder" and "elect", what befalls the next such requests, in turn; then all is well."""
    stale_reads: int = 0
    """So many descriptions after each write still show the world before it, as lagging brokers do."""
    reads_until_silent: int | None = None
    """After so many more descriptions no broker answers any."""
    reassigning: frozenset[TopicPartition] = frozenset()
    refused_topics: dict[str, int] = field(default_factory=dict)
    writes: list[Write] = field(default_factory=list)
    _before_write: dict[TopicPartition, PartitionState] = field(default_factory=dict)
    _stale_left: int = 0

    settings = ConnectionSettings(bootstrap_servers=(Address("fake.invalid", 9092),), request_timeout_ms=1000)

    def replace_rooms(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Puts this cluster in the place of the Kafka room, wherever operations use it."""
        functions: dict[str, Callable[..., Any]] = {
            "describe_cluster": self.describe_cluster,
            "describe_partitions": self.describe_partitions,
            "elect": self.elect,
            "offers_designated_election": lambda _wire, _addresses: False,
            "reorder": self.reorder,
            "running_reassignments": self.running_reassignments,
            "probe_replicas": self.probe_replicas,
        }
        for room in ROOMS:
            for name, function in functions.items():
                if hasattr(room, name):
                    monkeypatch.setattr(room, name, function)

    def lag_behind(self, reads: int) -> None:
        """So many descriptions from now on show the world as it is now, whatever is changed."""
        self._before_write, self._stale_left = dict(self.states), reads

    def kinds(self) -> list[str]:
        return [each.kind for each in self.writes]

    def change(self, partition: TopicPartition, **values: Any) -> None:
        self.states[partition] = replace(self.states[partition], **values)

    def kill(self, broker_id: int) -> None:
        """Fences it: what it led has no leader then."""
        self.unfenced.discard(broker_id)
        for partition, state in self.states.items():
            if state.leader_id == broker_id:
                self.change(partition, leader_id=NO_LEADER, leader_epoch=state.leader_epoch + 1)

    def revive(self, broker_id: int) -> None:
        """Unfences it: it leads at once where it is in the ISR or the ELR, or the last known leader."""
        self.unfenced.add(broker_id)
        for partition in self.states:
            self._elect(partition, unclean=False)

    # The Kafka room's functions, with its signatures.

    def describe_cluster(self, _wire: object) -> Cluster:
        return Cluster(
            CLUSTER_ID,
            tuple(
                Registration(each, Address(f"broker-{each}.invalid", 9092), None, each not in self.unfenced)
                for each in sorted(self.registered)
            ),
        )

    def describe_partitions(
        self, _wire: object, topics: Collection[str], _span: tuple[TopicPartition, TopicPartition] | None = None
    ) -> Description:
        if self.reads_until_silent is not None:
            if self.reads_until_silent == 0:
                raise NoBrokerAnswersError("DescribeTopicPartitions", [_lost("DescribeTopicPartitions")])
            self.reads_until_silent -= 1
        states = self.states
        if self._stale_left > 0:
            self._stale_left -= 1
            states = self._before_write
        visible = {*topics} - self.refused_topics.keys()
        found = [states[each] for each in sorted(states) if each.topic in visible]
        unknown = visible - {each.topic for each in found}
        refused = {**dict.fromkeys(unknown, error_codes.UNKNOWN_TOPIC_OR_PARTITION), **self.refused_topics}
        return Description(
            tuple(self._as_described(each) for each in found),
            tuple(TopicError(each, code) for each, code in sorted(refused.items()) if each in {*topics}),
        )

    def running_reassignments(self, _wire: object, partitions: Collection[TopicPartition]) -> frozenset[TopicPartition]:
        return self.reassigning & {*partitions}

    def probe_replicas(
        self, _settings: ConnectionSettings, broker: Broker, partitions: Sequence[TopicPartition], _deadline: float
    ) -> list[ReplicaLog]:
        return [self._log(broker.broker_id, each) for each in partitions]

    def reorder(
        self, _wire: object, address: Address, orders: Mapping[TopicPartition, Sequence[int]]
    ) -> dict[TopicPartition, str | None]:
        journal = {each.topic_partition: each for each in read_unfinished(self.journal_dir, CLUSTER_ID)}
        for partition, order in orders.items():
            assert sorted(order) == sorted(self.states[partition].replicas), "the replica set is never changed"
            assert tuple(order) in (journal[partition].original, journal[partition].changed), "the journal comes first"
        codes = self._write("reorder", address, orders, lambda each: self._reorder(each, tuple(orders[each])))
        return {each: error_codes.described(code) if code else None for each, code in codes.items()}

    def elect(
        self, _wire: object, address: Address, election_type: int, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, ElectionAnswer]:
        is_unclean = election_type == UNCLEAN
        codes = self._write("elect", address, partitions, lambda each: self._elect(each, unclean=is_unclean))
        return {each: ElectionAnswer(code, None) for each, code in codes.items()}

    def _write(
        self,
        kind: str,
        address: Address,
        partitions: Collection[TopicPartition],
        carry_out: Callable[[TopicPartition], int],
    ) -> dict[TopicPartition, int]:
        assert 0 < len(partitions) <= PARTITIONS_PER_REQUEST
        self.writes.append(Write(kind, tuple(partitions), address))
        waiting = self.fates.get(kind, [])
        fate = waiting.pop(0) if waiting else WELL
        fate.before()
        if fate.lost_request:
            raise _lost(kind)
        if fate.refused_with:
            raise error_codes.refusal(kind, fate.refused_with)
        self.lag_behind(self.stale_reads)
        codes = {each: fate.errors.get(each) or carry_out(each) for each in partitions}
        fate.after()
        if fate.lost_answer:
            raise _lost(kind)
        if fate.timed_out:
            raise error_codes.refusal(kind, error_codes.REQUEST_TIMED_OUT)
        return {each: code for each, code in codes.items() if each not in fate.left_out}

    def _reorder(self, partition: TopicPartition, order: tuple[int, ...]) -> int:
        self.change(partition, replicas=order)
        self._elect(partition, unclean=False)
        return 0

    def _elect(self, partition: TopicPartition, *, unclean: bool) -> int:
        """PartitionChangeBuilder.electAnyLeader, retold; returns the code that ElectLeaders would answer."""
        state = self.states[partition]
        if state.leader_id != NO_LEADER:
            return error_codes.ELECTION_NOT_NEEDED
        in_sync = [each for each in state.replicas if each in {*state.isr, *(state.elr or ())}]
        choices: Iterable[int] = in_sync
        if not in_sync and len(state.last_known_elr or ()) == 1:
            choices = state.last_known_elr or ()
        if unclean:
            choices = [*choices, *state.replicas]
        leader = next((each for each in choices if each in self.unfenced), None)
        if leader is None:
            return ELIGIBLE_LEADERS_NOT_AVAILABLE
        self.change(
            partition,
            leader_id=leader,
            leader_epoch=state.leader_epoch + 1,
            isr=(leader,),
            elr=(),
            last_known_elr=(),
        )
        return 0

    def _as_described(self, state: PartitionState) -> PartitionState:
        return replace(state, offline_replicas=tuple(each for each in state.replicas if each not in self.unfenced))

    def _log(self, broker_id: int, partition: TopicPartition) -> ReplicaLog:
        silent = ReplicaLog(partition.topic, partition.partition, broker_id, cause=Cause.UNREACHABLE, error="refused")
        return self.logs.get((broker_id, partition), silent) if broker_id in self.unfenced else silent


def a_log(broker_id: int, partition: TopicPartition, epoch: int, end: int) -> ReplicaLog:
    return ReplicaLog(
        partition.topic, partition.partition, broker_id, 0, end, epoch + 1, epoch, (EpochEnd(epoch, end),)
    )


def _lost(kind: str) -> BrokerCallError:
    return BrokerCallError("fake.invalid:9092", Cause.HUNG, "no answer within 1000 ms", request=kind)
