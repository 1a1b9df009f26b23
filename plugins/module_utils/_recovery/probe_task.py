# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask several brokers about their replicas at the same time: one task of a gather on Spark, or all of it without.

A task takes one broker while Spark has task slots enough, and several when it has not. Each broker has a thread: a hung
broker costs the whole deadline, so brokers must never queue behind one another, neither for a slot nor in a task; and
threads that wait for a network are cheaper than the Python workers of more slots.

Exactly one row per (topic, partition, broker): a broker belongs to one task, and a task returns each of its replicas
once. Python workers import this module from a zip file and compile it each time, so it imports little.
"""

from __future__ import annotations

import socket
import sys
import time
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from typing import TypeAlias

from .._kafka.package import defer_clients
from .._model.background import in_background
from .._model.partition import Broker, BrokerState, Cause, PartitionState, ReplicaLog, TopicPartition
from .._model.run import KafkaOpsError, collector_paused
from .._spark.workers import Deadline

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    import pyarrow as pa

    from .rows import to_record_batch


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


def divide_by_broker(brokers: Sequence[Broker], partitions: Sequence[PartitionState]) -> list[BrokerWork]:
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
    return [BrokerWork(known.get(each) or _unlisted_broker(each), dict(topics[each])) for each in sorted(topics)]


def _unlisted_broker(broker_id: int) -> Broker:
    cause = "the controller does not list this broker"
    return Broker(broker_id, None, None, None, is_fenced=True, state=BrokerState.FENCED, cause=cause)


GRACE_SECONDS = 0.5
"""How long past the deadline a broker's thread may take to come back (a name lookup cannot be interrupted)."""

AskBroker: TypeAlias = Callable[[str, Broker, Sequence[TopicPartition], float], list[ReplicaLog]]
"""(settings reference, broker, partitions, deadline in time.monotonic() seconds) -> one log per partition."""


@dataclass(frozen=True, slots=True)
class AskBrokers:
    """Callable with one task's brokers; yields one record batch for each. It travels in closures: nothing is secret."""

    settings_reference: str
    """Where each task finds the connection settings; their values never travel with the task."""
    deadline: Deadline
    least_seconds: float
    """What a task that Spark started late, or again, still has: all tasks run at once, so it is paid once."""
    ask: AskBroker

    def __call__(self, work: Sequence[BrokerWork]) -> Iterator[pa.RecordBatch]:
        deadline = max(self.deadline.at, time.monotonic() + self.least_seconds)
        with collector_paused():
            asked = [(item, in_background(partial(self._ask, item, deadline), "broker")) for item in work]
            for item, answer in asked:
                yield _to_rows(item, _await_logs(item, answer, deadline))

    def _ask(self, item: BrokerWork, deadline: float) -> list[ReplicaLog]:
        partitions = [partition for partition, _place in item.replicas()]
        return self.ask(self.settings_reference, item.broker, partitions, deadline)


def _await_logs(item: BrokerWork, answer: Future[list[ReplicaLog]], deadline: float) -> list[ReplicaLog]:
    try:
        return answer.result(timeout=max(deadline - time.monotonic(), 0) + GRACE_SECONDS)
    except FutureTimeoutError:
        return _silence_all(
            item, Cause.HUNG, f"broker {item.broker.broker_id} was still being asked after the deadline"
        )
    except KafkaOpsError as error:
        return _silence_all(item, Cause.ERROR, f"broker {item.broker.broker_id} was not asked: {error}")
    except Exception as error:  # noqa: BLE001 - one broker's error, ours included, must not cost the others' answers
        return _silence_all(item, Cause.ERROR, f"asking broker {item.broker.broker_id} failed: {error!r}")


def _silence_all(item: BrokerWork, cause: Cause, error: str) -> list[ReplicaLog]:
    return [_silent_log(partition, item.broker.broker_id, cause, error) for partition, _place in item.replicas()]


def _silent_log(partition: TopicPartition, broker_id: int, cause: Cause, error: str) -> ReplicaLog:
    return ReplicaLog(partition.topic, partition.partition, broker_id, cause=cause, error=error)


def _to_rows(item: BrokerWork, logs: list[ReplicaLog]) -> pa.RecordBatch:
    """One row for each replica asked about, in the order asked."""
    broker_id = item.broker.broker_id
    answered = {TopicPartition(log.topic, log.partition): log for log in logs}
    replicas = [*item.replicas()]
    rows = [
        answered.get(partition)
        or _silent_log(partition, broker_id, Cause.BAD_ANSWER, "the broker's answers left it out")
        for partition, _place in replicas
    ]
    return to_record_batch(rows, [place for _partition, place in replicas], item.broker.is_fenced)


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
