# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask all brokers what all their replicas hold. Reads only.

A broker that gives no answer costs one request_timeout_ms, and its replicas have a row with the cause and no values.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from .._kafka import error_codes
from .._kafka.cluster import check_identity
from .._kafka.connection import Connection
from .._kafka.errors import BrokerCallError, RequestRefusedError
from .._kafka.held_replicas import HeldOffset, OffsetAnswer, offsets_request
from .._kafka.log_dir_space import LogDirSpace, describe_log_dir_space
from .._kafka.log_dirs import LogDirs, log_dirs_request
from .._kafka.messages import CONSUMER
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import Broker, BrokerState, Cause, PartitionState, TopicPartition, grouped, in_batches
from .._model.reasons import name_brokers
from .._model.retention import POLICY, is_compacted
from .._model.run import garbage_collection_paused

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyarrow as pa

    from .rows import ASKED_SCHEMA, BROKER_SCHEMA

_BROKERS_AT_ONCE = 16
"""More threads would only wait for this process."""
_CAUSES = {
    error_codes.UNKNOWN_TOPIC_OR_PARTITION: Cause.MISSING,
    error_codes.NOT_LEADER_OR_FOLLOWER: Cause.MISSING,
    error_codes.KAFKA_STORAGE_ERROR: Cause.LOG_DIR_OFFLINE,
}
_NOT_ASKED = {
    BrokerState.UNREACHABLE: Cause.UNREACHABLE,
    BrokerState.HUNG: Cause.HUNG,
    BrokerState.NOT_AUTHORIZED: Cause.NOT_AUTHORIZED,
}


@dataclass(frozen=True, slots=True)
class ClusterLook:
    """What all brokers said at one time."""

    cluster_id: str
    at: datetime
    """UTC, when the look began. The answers are a little newer."""
    replicas: pa.Table
    """Rows of ``rows.ASKED_SCHEMA``."""
    brokers: pa.Table
    """Rows of ``rows.BROKER_SCHEMA``."""
    silent: Mapping[int, str]
    """Broker ids, and why the broker gave no answer."""
    notes: tuple[str, ...]
    """What else could not be read."""


def look_at_cluster(kafka: Kafka, scope: re.Pattern[str] | None) -> ClusterLook:
    """Ask about all replicas of the topics whose whole name matches ``scope``. None is all topics.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError if the metadata cannot be read.
    """
    at = datetime.now(UTC)
    cluster = kafka.describe_cluster()
    with garbage_collection_paused():
        states = [each for each in kafka.describe_partitions().partitions if not scope or scope.fullmatch(each.topic)]
        mentioned = frozenset(broker_id for each in states for broker_id in each.replicas)
        brokers = kafka.probe_brokers(cluster, mentioned)
        notes = [*kafka.notes_on_views()]
        if not states:
            of_scope = " of this scope" if scope else ""
            notes.append(f"no topic{of_scope} is seen: there is none, or our principal needs DESCRIBE on topics")
        configs = _Configs({}, {})
        try:
            configs = _read_configs(kafka, {each.topic for each in states}, cluster.online(brokers))
        except (BrokerCallError, RequestRefusedError) as error:
            notes.append(f"min.insync.replicas and cleanup.policy are not recorded: {error}")
        held = grouped((broker_id, each) for each in states for broker_id in each.replicas)
        lanes = threading.Semaphore(_BROKERS_AT_ONCE)

        def ask(broker: Broker) -> _Answer:
            with lanes:
                return _ask_broker(kafka, broker, held.get(broker.broker_id, ()), configs)

        answers = kafka.in_parallel(ask, brokers)
    found = {broker: each for broker, each in answers.items() if isinstance(each, _Answer)}
    notes += _explain_refusals(found)
    batches = [batch for each in found.values() for batch in each.rows]
    return ClusterLook(
        cluster.cluster_id,
        at,
        # Spark takes no table without a batch.
        pa.Table.from_batches(batches, ASKED_SCHEMA) if batches else ASKED_SCHEMA.empty_table(),
        pa.Table.from_pylist([row for broker, each in found.items() for row in _dirs(broker, each, at)], BROKER_SCHEMA),
        {broker.broker_id: each.error for broker, each in found.items() if each.is_silent},
        tuple(notes),
    )


@dataclass(frozen=True, slots=True)
class _Configs:
    """Configs by topic. Those that are unknown are left out."""

    min_isr: Mapping[str, int]
    is_compacted: Mapping[str, bool]


def _read_configs(kafka: Kafka, topics: Collection[str], online: Mapping[int, Address]) -> _Configs:
    policies = kafka.topic_configs(sorted(topics), POLICY)
    return _Configs(
        kafka.min_insync_replicas(topics, online),
        {topic: is_compacted(each.value) for topic, each in policies.items() if each.value is not None},
    )


@dataclass(frozen=True, slots=True)
class _Answer:
    rows: list[pa.RecordBatch]
    log_dirs: tuple[LogDirSpace, ...] = ()
    error: str = ""
    is_silent: bool = False


def _explain_refusals(answers: Mapping[Broker, _Answer]) -> Iterator[str]:
    """Yield why sizes and space are missing, once for all brokers with the same reason."""
    refused = {broker: each.error for broker, each in answers.items() if each.error and not each.is_silent}
    for error, brokers in grouped((error, broker.broker_id) for broker, error in refused.items()).items():
        yield f"sizes and free space of {name_brokers(brokers)} are not recorded: {error}"


def _dirs(broker: Broker, answer: _Answer, at: datetime) -> Iterator[dict[str, Any]]:
    row = {"recorded_at": at, "broker_id": broker.broker_id, "rack": broker.rack, "state": broker.state.value}
    if not answer.log_dirs:
        yield {**row, "error": answer.error or broker.cause}
    for each in answer.log_dirs:
        space = {"log_dir": each.path, "total_bytes": each.total_bytes, "usable_bytes": each.usable_bytes}
        yield {**row, **space, "error": each.error or broker.cause}


def _ask_broker(kafka: Kafka, broker: Broker, states: Sequence[PartitionState], configs: _Configs) -> _Answer:
    def silent(cause: Cause, error: str) -> _Answer:
        return _Answer([_rows(broker.broker_id, states, configs, cause)] if states else [], (), error, is_silent=True)

    if broker.host is None or broker.port is None:
        return silent(Cause.FENCED, broker.cause)
    if broker.state in _NOT_ASKED:
        return silent(_NOT_ASKED[broker.state], broker.cause)
    try:
        return kafka.wire.with_connection(
            Address(broker.host, broker.port),
            lambda connection: _ask(connection, broker.broker_id, states, configs, kafka.settings.request_timeout_ms),
        )
    except BrokerCallError as error:
        return silent(error.cause, str(error))


def _ask(
    connection: Connection,
    broker_id: int,
    states: Sequence[PartitionState],
    configs: _Configs,
    limit_ms: int,
) -> _Answer:
    """Ask over one connection: if the broker restarts meanwhile, none of its answers counts. Raises BrokerCallError."""
    check_identity(connection, broker_id)
    rows = []
    for some in in_batches(states):
        partitions = [each.topic_partition for each in some]
        led = [each.topic_partition for each in some if each.leader_id == broker_id]
        offsets = [
            offsets_request(partitions, HeldOffset.LOG_END),
            offsets_request(partitions, HeldOffset.LOG_START),
            *([offsets_request(led, HeldOffset.LOG_END, CONSUMER)] if led else []),
        ]
        ends, starts, *marks = (
            each.value for each in connection.call_pipelined(offsets, limit_ms, limit_ms * len(offsets))
        )
        disk: LogDirs = connection.call(log_dirs_request(partitions)).value
        rows.append(_rows(broker_id, some, configs, None, ends, starts, marks[0] if marks else {}, disk))
    try:
        return _Answer(rows, describe_log_dir_space(connection, with_sizes=False))
    except RequestRefusedError as error:
        return _Answer(rows, error=str(error))


_NOTHING: Mapping[TopicPartition, Sequence[OffsetAnswer]] = MappingProxyType({})


def _rows(  # noqa: PLR0917 - the answers to four requests
    broker_id: int,
    states: Sequence[PartitionState],
    configs: _Configs,
    cause: Cause | None,
    ends: Mapping[TopicPartition, Sequence[OffsetAnswer]] = _NOTHING,
    starts: Mapping[TopicPartition, Sequence[OffsetAnswer]] = _NOTHING,
    marks: Mapping[TopicPartition, Sequence[OffsetAnswer]] = _NOTHING,
    disk: LogDirs | None = None,
) -> pa.RecordBatch:
    """Return a row for each replica. ``cause`` is that of all of them, None if the broker was asked."""
    names = [each.topic_partition for each in states]
    causes = [cause or _cause(ends.get(each, ()), starts.get(each, ())) for each in names]
    on_disk = [disk.current_replica(each) if disk else None for each in names]

    def values(answers: Mapping[TopicPartition, Sequence[OffsetAnswer]], read: Callable[[OffsetAnswer], int]) -> Any:
        return [
            read(answers[each][0])
            if no_answer is None and each in answers and not answers[each][0].error_code
            else None
            for each, no_answer in zip(names, causes, strict=True)
        ]

    columns: dict[str, Any] = {
        "topic": [each.topic for each in states],
        "partition": [each.partition for each in states],
        "broker_id": [broker_id] * len(states),
        "topic_id": [each.topic_id for each in states],
        "leader_id": [each.leader_id for each in states],
        "leader_epoch": [each.leader_epoch for each in states],
        "isr": [each.isr for each in states],
        "min_isr": [configs.min_isr.get(each.topic) for each in states],
        "is_compacted": [configs.is_compacted.get(each.topic) for each in states],
        "known_epoch": [None if each == -1 else each for each in values(ends, lambda one: one.current_leader_epoch)],
        "log_start_offset": values(starts, lambda each: each.offset),
        "log_end_offset": values(ends, lambda each: each.offset),
        "high_watermark": values(marks, lambda each: each.offset),
        "size_bytes": [each and each.size_bytes for each in on_disk],
        "log_dir": [each and each.log_dir for each in on_disk],
        "cause": [each and each.value for each in causes],
    }
    return pa.RecordBatch.from_pydict(columns, schema=ASKED_SCHEMA)


def _cause(end: Sequence[OffsetAnswer], start: Sequence[OffsetAnswer]) -> Cause | None:
    """Return why a replica has no values. None if both of its offsets were answered, once each."""
    if len(end) != 1 or len(start) != 1:
        return Cause.BAD_ANSWER
    code = end[0].error_code or start[0].error_code
    if code:
        return _CAUSES.get(code, Cause.ERROR)
    return None if 0 <= start[0].offset <= end[0].offset else Cause.BAD_ANSWER
