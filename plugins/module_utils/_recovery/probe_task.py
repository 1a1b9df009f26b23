# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Asks several brokers about their replicas at the same time: one task of a gather on Spark, or all of it without.

A task takes one broker while Spark has task slots enough, and several when it has not. Each broker has a thread: a hung
broker costs the whole deadline, so brokers must never queue behind one another, neither for a slot nor in a task; and
threads that wait for a network are cheaper than the Python workers of more slots.

Exactly one row per (topic, partition, broker): a broker belongs to one task, and a task returns each of its replicas
once. Python workers import this module from a zip file and compile it each time, so it imports little.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from .._model.background import in_background
from .._model.partition import TopicPartition
from .._model.replica_log import Cause, ReplicaLog
from .._model.run import KafkaOpsError, collector_paused
from .._spark.workers import Deadline
from .gather_work import AskBroker, BrokerWork

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    import pyarrow as pa

    from .rows import to_record_batch

GRACE_SECONDS = 0.5
"""How long past the deadline a broker's thread may take to come back (a name lookup cannot be interrupted)."""


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
                yield _rows(item, _logs(item, answer, deadline))

    def _ask(self, item: BrokerWork, deadline: float) -> list[ReplicaLog]:
        partitions = [partition for partition, _place in item.replicas()]
        return self.ask(self.settings_reference, item.broker, partitions, deadline)


def _logs(item: BrokerWork, answer: Future[list[ReplicaLog]], deadline: float) -> list[ReplicaLog]:
    try:
        return answer.result(timeout=max(deadline - time.monotonic(), 0) + GRACE_SECONDS)
    except FutureTimeoutError:
        return _all_silent(item, Cause.HUNG, f"broker {item.broker.broker_id} was still being asked after the deadline")
    except KafkaOpsError as error:
        return _all_silent(item, Cause.ERROR, f"broker {item.broker.broker_id} was not asked: {error}")
    except Exception as error:  # noqa: BLE001 - one broker's error, ours included, must not cost the others' answers
        return _all_silent(item, Cause.ERROR, f"asking broker {item.broker.broker_id} failed: {error!r}")


def _all_silent(item: BrokerWork, cause: Cause, error: str) -> list[ReplicaLog]:
    return [_silent(partition, item.broker.broker_id, cause, error) for partition, _place in item.replicas()]


def _silent(partition: TopicPartition, broker_id: int, cause: Cause, error: str) -> ReplicaLog:
    return ReplicaLog(partition.topic, partition.partition, broker_id, cause=cause, error=error)


def _rows(item: BrokerWork, logs: list[ReplicaLog]) -> pa.RecordBatch:
    """One row for each replica asked about, in the order asked."""
    broker_id = item.broker.broker_id
    answered = {TopicPartition(log.topic, log.partition): log for log in logs}
    replicas = [*item.replicas()]
    rows = [
        answered.get(partition) or _silent(partition, broker_id, Cause.BAD_ANSWER, "the broker's answers left it out")
        for partition, _place in replicas
    ]
    return to_record_batch(rows, [place for _partition, place in replicas], item.broker.is_fenced)
