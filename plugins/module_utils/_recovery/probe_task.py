# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask several brokers about their replicas at the same time: one Spark task, or a whole gather without Spark.

A task asks one broker, or several if Spark has fewer task slots than brokers. Each broker is asked in its own thread: a
hung broker takes until the deadline, so no broker may wait for another one. Threads that wait for the network are
cheaper than the Python workers of more slots.

The result has exactly one row for each (topic, partition, broker): a broker belongs to one task, and a task returns
each replica once. Python workers import this module from a zip file and compile it each time, so it imports little.
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
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from typing import TypeAlias

from .._kafka.package import defer_clients
from .._model.background import in_background
from .._model.partition import LOST_LOG_DIR, Broker, BrokerState, Cause, PartitionState, ReplicaLog, TopicPartition
from .._model.run import KafkaOpsError, garbage_collection_paused
from .._spark.workers import Deadline

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyarrow as pa

    from .rows import to_record_batch


_NOT_ASKED = frozenset({BrokerState.UNREACHABLE, BrokerState.NOT_AUTHORIZED, BrokerState.GIVEN_UP})
"""States of brokers that are not asked. A fenced broker may answer, and a hung one may answer again."""


@dataclass(frozen=True, slots=True)
class TopicSlice:
    """The partitions of one topic with a replica on one broker. Arrays, because there may be a million replicas."""

    partitions: array[int] = field(default_factory=lambda: array("i"))
    places: array[int] = field(default_factory=lambda: array("i"))
    """The broker's place in each partition's replica list, from 0."""


@dataclass(frozen=True, slots=True)
class BrokerWork:
    """One broker, and all partitions to ask it about."""

    broker: Broker
    topics: dict[str, TopicSlice]

    def __len__(self) -> int:
        """Return the number of the broker's replicas."""
        return sum(len(each.partitions) for each in self.topics.values())

    @property
    def can_be_asked(self) -> bool:
        return self.broker.host is not None and self.broker.state not in _NOT_ASKED

    def replicas(self) -> Iterator[tuple[TopicPartition, int]]:
        """Yield each partition with the broker's place in its replica list."""
        for topic, topic_slice in self.topics.items():
            for partition, place in zip(topic_slice.partitions, topic_slice.places, strict=True):
                yield TopicPartition(topic, partition), place


def divide_by_broker(brokers: Sequence[Broker], partitions: Sequence[PartitionState]) -> list[BrokerWork]:
    """Return the replicas of all partitions by broker, in order of broker id.

    Duplicate partitions count once. A broker that is missing in ``brokers`` is treated as fenced.
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
"""How long a broker's thread may take after the deadline (a name lookup cannot be interrupted)."""

AskBroker: TypeAlias = Callable[[str, Broker, Sequence[TopicPartition], float], list[ReplicaLog]]
"""(settings reference, broker, partitions, deadline in time.monotonic() seconds) -> one log per partition."""


@dataclass(frozen=True, slots=True)
class AskBrokers:
    """Asks the brokers of one task, and yields a record batch for each. Sent to Spark's tasks: it has no secrets."""

    settings_reference: str
    """Path of the connection settings on the task's host. The settings themselves are never sent with the task."""
    deadline: Deadline
    least_seconds: float
    """The least time of a task that Spark started late or again. All tasks run at the same time, so that a gather takes
    at most this much longer."""
    ask: AskBroker
    elsewhere: str | None = None
    """The path on the hosts of a Spark cluster. None if all tasks run on this host."""

    def __call__(self, work: Sequence[BrokerWork]) -> Iterator[pa.RecordBatch]:
        deadline = time.monotonic() + self.seconds_left()
        with garbage_collection_paused():
            asked = [(item, in_background(partial(self._ask, item, deadline), "broker")) for item in work]
            for item, answer in asked:
                yield to_rows(item, _await_logs(item, answer, deadline, may_raise=self.is_elsewhere))

    def for_tasks(self) -> AskBrokers:
        """Return the same for Spark's tasks, which may run on other hosts.

        These raise KafkaOpsError if their host can ask no broker. Then the module asks all brokers from its own host.
        """
        return self if self.elsewhere is None else replace(self, settings_reference=self.elsewhere)

    @property
    def is_elsewhere(self) -> bool:
        return self.settings_reference == self.elsewhere

    def seconds_left(self) -> float:
        """Return the time for brokers that are asked from now on."""
        return max(self.deadline.remaining(), self.least_seconds)

    def _ask(self, item: BrokerWork, deadline: float) -> list[ReplicaLog]:
        partitions = [partition for partition, _place in item.replicas()]
        return self.ask(self.settings_reference, item.broker, partitions, deadline)


def _await_logs(
    item: BrokerWork, answer: Future[list[ReplicaLog]], deadline: float, *, may_raise: bool
) -> list[ReplicaLog]:
    try:
        return answer.result(timeout=max(deadline - time.monotonic(), 0) + GRACE_SECONDS)
    except FutureTimeoutError:
        return silence_all(item, Cause.HUNG, f"broker {item.broker.broker_id} was still being asked after the deadline")
    except KafkaOpsError as error:
        if may_raise:
            raise
        return silence_all(item, Cause.ERROR, f"broker {item.broker.broker_id} was not asked: {error}")
    except Exception as error:  # noqa: BLE001 - one broker's error, ours included, must not cost the others' answers
        return silence_all(item, Cause.ERROR, f"asking broker {item.broker.broker_id} failed: {error!r}")


def silence_all(item: BrokerWork, cause: Cause, error: str) -> list[ReplicaLog]:
    """Return the logs of a broker that did not answer. Each has this cause and error."""
    return [ReplicaLog.failed(partition, item.broker.broker_id, cause, error) for partition, _place in item.replicas()]


def to_rows(item: BrokerWork, logs: list[ReplicaLog]) -> pa.RecordBatch:
    """Return one row for each replica of the broker, in the order of the questions."""
    broker_id = item.broker.broker_id
    answered = {log.topic_partition: log for log in logs}
    replicas = [*item.replicas()]
    rows = [
        answered.get(partition)
        or ReplicaLog.failed(partition, broker_id, Cause.BAD_ANSWER, "the broker's answers left it out")
        for partition, _place in replicas
    ]
    return to_record_batch(rows, [place for _partition, place in replicas], item.broker.is_fenced)


class NoKafkaClientError(KafkaOpsError):
    """No broker can be asked from the task's host. The message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class AskReplicas:
    """Asks one broker about its replicas.

    Raises KafkaOpsError if this host cannot read the connection settings, or has no kafka-python.
    """

    tiered: Mapping[str, bool] = field(default_factory=dict)
    """For topics of which it is known, whether they are tiered."""
    native_key: int | None = None
    """The API key of GetReplicaLogInfo, which then returns the log ends; None for Kafka's public RPCs."""
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    """Topic ids by topic name, in Kafka's text form. Only needed with ``native_key``."""
    checks_epochs: bool = False
    """Whether the epochs of all logs are compared with the headers of their batches."""
    only_newest: bool = False
    """Whether only the newest epoch of each log is asked and compared."""
    lost: frozenset[int] = frozenset()
    """Ids of brokers that the operator named as lost: their replicas on offline log dirs get the cause GIVEN_UP."""
    cluster_id: str | None = None
    """The cluster of the brokers: a task's host may find another host by a broker's name. None for any cluster."""

    def __call__(
        self, settings_reference: str, broker: Broker, partitions: Sequence[TopicPartition], deadline: float
    ) -> list[ReplicaLog]:
        _check_client()
        # Imported here, because a host without kafka-python must be able to import this file and report the error.
        from .._kafka.native import NativeSource  # noqa: PLC0415
        from .._kafka.private_files import read_settings_reference  # noqa: PLC0415
        from .._kafka.replica_logs import NativeQuestion, probe_replicas  # noqa: PLC0415

        key = self.native_key
        native = None if key is None else NativeQuestion(NativeSource(key), self.topic_ids)
        settings = read_settings_reference(settings_reference)
        checked = frozenset(partitions) if self.checks_epochs else ()
        newest = dict.fromkeys(partitions) if self.only_newest else {}
        logs = probe_replicas(
            settings,
            broker,
            partitions,
            deadline,
            native,
            only_newest=newest,
            checked=checked,
            tiered=self.tiered,
            cluster_id=self.cluster_id,
        )
        return [_give_up(each) for each in logs] if broker.broker_id in self.lost else logs


def _give_up(log: ReplicaLog) -> ReplicaLog:
    """Return a replica of a broker that was declared lost. It is lost if its log dir is offline."""
    if log.cause is not Cause.LOG_DIR_OFFLINE:
        return log
    return replace(log, cause=Cause.GIVEN_UP, error=f"{LOST_LOG_DIR}: {log.error}")


def _check_client() -> None:
    """Raise NoKafkaClientError if this host has no kafka-python. Modules check only their own host."""
    if find_spec("kafka") is None:
        raise NoKafkaClientError(
            f"{sys.executable} on {socket.gethostname()}, which Spark's tasks run with, lacks kafka-python: install it "
            "there (docs/spark.md), or name a Python that has it in spark.executor_python"
        )
    defer_clients()
