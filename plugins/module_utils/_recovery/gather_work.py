# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the gather asks of which broker, small enough to be sent to every task. Standard library only.

Asking one broker, where the task runs: the one thing in a gather that touches the network.
"""

from __future__ import annotations

import socket
import sys
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TypeAlias

from .._kafka.package import defer_clients
from .._model.partition import Broker, BrokerState, PartitionState, TopicPartition
from .._model.replica_log import ReplicaLog
from .._model.run import KafkaOpsError

_NOT_ASKED = frozenset({BrokerState.UNREACHABLE, BrokerState.NOT_AUTHORISED, BrokerState.GIVEN_UP})
"""A fenced broker may answer, and a hung one wake up; nothing is to be had where we cannot connect, or are refused."""


@dataclass(frozen=True, slots=True)
class TopicSlice:
    """The partitions of one topic that have a replica on one broker: two arrays, because a cluster has a million."""

    partitions: array[int] = field(default_factory=lambda: array("i"))
    places: array[int] = field(default_factory=lambda: array("i"))
    """The broker's place in each partition's replica list, from 0."""


@dataclass(frozen=True, slots=True)
class BrokerWork:
    """One broker, and every partition it is to be asked about."""

    broker: Broker
    topics: dict[str, TopicSlice]

    def __len__(self) -> int:
        """Return the number of replicas."""
        return sum(len(each.partitions) for each in self.topics.values())

    @property
    def can_be_asked(self) -> bool:
        return self.broker.host is not None and self.broker.state not in _NOT_ASKED

    def replicas(self) -> Iterator[tuple[TopicPartition, int]]:
        """Each partition with the broker's place in its replica list."""
        for topic, topic_slice in self.topics.items():
            for partition, place in zip(topic_slice.partitions, topic_slice.places, strict=True):
                yield TopicPartition(topic, partition), place


def work_by_broker(brokers: Sequence[Broker], partitions: Sequence[PartitionState]) -> list[BrokerWork]:
    """Every (partition, replica) of the replica lists, by broker, in order of broker id.

    A partition given twice counts once. A replica's broker that ``brokers`` lacks is taken for a fenced one.
    """
    known = {broker.broker_id: broker for broker in brokers}
    topics: dict[int, dict[str, TopicSlice]] = defaultdict(lambda: defaultdict(TopicSlice))
    for state in {partition.topic_partition: partition for partition in partitions}.values():
        for place, broker_id in enumerate(state.replicas):
            topic_slice = topics[broker_id][state.topic]
            topic_slice.partitions.append(state.partition)
            topic_slice.places.append(place)
    return [BrokerWork(known.get(each) or _unlisted(each), dict(topics[each])) for each in sorted(topics)]


def _unlisted(broker_id: int) -> Broker:
    cause = "the controller does not list this broker"
    return Broker(broker_id, None, None, None, is_fenced=True, state=BrokerState.FENCED, cause=cause)


AskBroker: TypeAlias = Callable[[str, Broker, Sequence[TopicPartition], float], list[ReplicaLog]]
"""(settings reference, broker, partitions, deadline in time.monotonic() seconds) -> one log per partition."""


class NoKafkaClientError(KafkaOpsError):
    """No broker can be asked from where the task runs. The message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class AskReplicas:
    """Asks one broker about its replicas, with the connection settings that the reference leads to on this host.

    Raises KafkaOpsError where they cannot be read, or kafka-python is missing.
    """

    tiered: Mapping[str, bool] = field(default_factory=dict)
    """By topic, where it is known whether it is tiered."""
    native_key: int | None = None
    """The operator's key of the proposals' own RPC, which log ends come from then."""
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    """By topic name, in Kafka's text form. Only that RPC needs them."""

    def __call__(
        self, settings_reference: str, broker: Broker, partitions: Sequence[TopicPartition], deadline: float
    ) -> list[ReplicaLog]:
        _check_client()
        # Not above: a host without kafka-python must be able to import this, and name what it lacks.
        from .._kafka.native import NativeSource  # noqa: PLC0415
        from .._kafka.private_files import read_settings_reference  # noqa: PLC0415
        from .._kafka.replica_logs import NativeQuestion, probe_replicas  # noqa: PLC0415

        key = self.native_key
        native = None if key is None else NativeQuestion(NativeSource(key), self.topic_ids)
        settings = read_settings_reference(settings_reference)
        return probe_replicas(settings, broker, partitions, deadline, native, tiered=self.tiered)


def _check_client() -> None:
    """Modules check the host that they run on. Executors may be elsewhere."""
    if find_spec("kafka") is None:
        raise NoKafkaClientError(
            f"{sys.executable} on {socket.gethostname()}, which Spark's tasks run with, lacks kafka-python: install it "
            "there (docs/spark.md), or name a Python that has it in spark.executor_python"
        )
    defer_clients()
