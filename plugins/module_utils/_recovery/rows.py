# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Convert what replicas hold between dataclasses and Arrow tables. This file defines the schemas.

The ``comment`` of every field has its unit and the RPC that returned the value. Offsets are record offsets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, groupby, islice
from typing import Any, NamedTuple, TypedDict, TypeVar

from .._model.partition import Cause, EpochEnd, ReplicaLog, TopicPartition
from .candidate import AnsweredLog, Candidate, Flag, SilentReplica, Standing, explain_ranks, rank_logs
from .forecast import Comparison

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyarrow as pa

    from .comparison_rows import AGAINST, LOST, read_comparisons

    def _field(name: str, data_type: pa.DataType, comment: str) -> pa.Field:
        return pa.field(name, data_type, metadata={"comment": comment})

    _LINEAGE = pa.list_(
        pa.struct(
            [
                _field("epoch", pa.int32(), "a leader epoch that the log holds records of"),
                _field("end_offset", pa.int64(), "the offset after the last record of that epoch"),
            ]
        )
    )

    REPLICA_LOG_SCHEMA = pa.schema(
        [
            _field("topic", pa.string(), "topic name"),
            _field("partition", pa.int32(), "partition number"),
            _field("broker_id", pa.int32(), "the broker that was asked about its own replica"),
            _field("place", pa.int32(), "place in the partition's replica list, from 0; DescribeTopicPartitions"),
            _field("is_fenced", pa.bool_(), "the controller fences this broker; DescribeCluster"),
            _field("log_start_offset", pa.int64(), "first offset of the log; ListOffsets, replica -2, timestamp -2"),
            _field("log_end_offset", pa.int64(), "offset after the last record; ListOffsets, replica -2, timestamp -1"),
            _field("current_leader_epoch", pa.int32(), "the partition's epoch as this broker knows it; ListOffsets"),
            _field("last_written_epoch", pa.int32(), "newest epoch in the log, null for none; Fetch v12 epoch probes"),
            _field("lineage", _LINEAGE, "every epoch of the log, oldest first; Fetch v12 epoch probes"),
            _field("size_bytes", pa.int64(), "bytes on disk; DescribeLogDirs"),
            _field("log_dir", pa.string(), "the log directory that holds it; DescribeLogDirs"),
            _field("is_future", pa.bool_(), "a future replica exists too, null if unknown; DescribeLogDirs"),
            _field("cause", pa.string(), "the cause of no answer, one of model.replica_log.Cause; null for an answer"),
            _field("error", pa.string(), "what was found, for a person; empty when nothing went wrong"),
            _field("is_tiered", pa.bool_(), "the topic's remote.storage.enable, null if unknown; DescribeConfigs"),
            _field("local_log_start_offset", pa.int64(), "of a tiered topic: ListOffsets, replica -2, timestamp -4"),
            _field("last_tiered_offset", pa.int64(), "of a tiered topic: ListOffsets, replica -2, timestamp -5"),
            _field(
                "is_rebuilt", pa.bool_(), "the lineage is of the batches, not of the leader-epoch-checkpoint; Fetch"
            ),
            _field("last_batch_offset", pa.int64(), "first offset of the last batch, null if it was not read; Fetch"),
            _field("last_batch_checksum", pa.int64(), "its CRC, null if a log cleaner may have rewritten it; Fetch"),
        ]
    )

    RANKED_SCHEMA = pa.schema(
        [
            *REPLICA_LOG_SCHEMA,
            _field("rank", pa.int32(), "1 is the best; null for a replica that did not answer"),
            _field("flags", pa.list_(pa.string()), "recovery.candidate.Flag values, in the order of that enum"),
        ]
    )

    COMPARED_SCHEMA = pa.schema([*RANKED_SCHEMA, AGAINST, LOST])


def to_record_batch(logs: Sequence[ReplicaLog], places: Sequence[int], is_fenced: bool) -> pa.RecordBatch:
    """Return the logs of one broker as a record batch of ``REPLICA_LOG_SCHEMA``, in the given order.

    ``places`` are the places of the replicas in their replica lists. ``is_fenced`` is true if the controller fences the
    broker.
    """
    columns: dict[str, list[object] | pa.Array] = {
        "topic": [log.topic for log in logs],
        "partition": [log.partition for log in logs],
        "broker_id": [log.broker_id for log in logs],
        "place": list(places),
        "is_fenced": [is_fenced] * len(logs),
        "log_start_offset": [log.log_start_offset for log in logs],
        "log_end_offset": [log.log_end_offset for log in logs],
        "current_leader_epoch": [log.current_leader_epoch for log in logs],
        "last_written_epoch": [log.last_written_epoch for log in logs],
        "lineage": _write_lineages(logs),
        "size_bytes": [log.size_bytes for log in logs],
        "log_dir": [log.log_dir for log in logs],
        # Without an answer to DescribeLogDirs, it is unknown whether a future replica exists.
        "is_future": [log.is_future or (None if log.log_dir is None else False) for log in logs],
        "cause": [None if log.cause is None else str(log.cause) for log in logs],
        "error": [log.error for log in logs],
        "is_tiered": [log.is_tiered for log in logs],
        "local_log_start_offset": [log.local_log_start_offset for log in logs],
        "last_tiered_offset": [log.last_tiered_offset for log in logs],
        "is_rebuilt": [log.is_rebuilt for log in logs],
        "last_batch_offset": [log.last_batch_offset for log in logs],
        "last_batch_checksum": [log.last_batch_checksum for log in logs],
    }
    return pa.RecordBatch.from_pydict(columns, schema=REPLICA_LOG_SCHEMA)


def _write_lineages(logs: Sequence[ReplicaLog]) -> pa.Array:
    """Return the lineages as an Arrow column. A dict for each entry would take longer than all other columns."""
    kind = REPLICA_LOG_SCHEMA.field("lineage").type
    entry = kind.value_type
    ends = [end for log in logs for end in log.lineage]
    columns = [
        pa.array([end.epoch for end in ends], entry.field("epoch").type),
        pa.array([end.end_offset for end in ends], entry.field("end_offset").type),
    ]
    offsets = [0, *accumulate(len(log.lineage) for log in logs)]
    values = pa.StructArray.from_arrays(columns, fields=[entry.field("epoch"), entry.field("end_offset")])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values, type=kind)


REPLICA_KEY = ("topic", "partition", "broker_id")
_ROWS_AT_ONCE = 50_000
"""Limits how many Python objects exist at the same time besides the Arrow table."""


class RankedPartition(NamedTuple):
    """The ranked replicas of a partition: candidates best first, silent replicas in the order of the replica list."""

    topic_partition: TopicPartition
    candidates: tuple[Candidate, ...]
    silent: tuple[SilentReplica, ...]
    compared: tuple[Comparison, ...] | None = None
    """What each candidate lacks, if Spark has compared them."""


class _Row(NamedTuple):
    topic: str
    partition: int
    broker_id: int
    log_start_offset: int | None
    log_end_offset: int | None
    last_written_epoch: int | None
    lineage: tuple[EpochEnd, ...]
    size_bytes: int | None
    cause: str | None
    error: str
    rank: int | None
    flags: list[str]
    local_log_start_offset: int | None
    last_tiered_offset: int | None


Row = TypeVar("Row", "_Row", "_ToRank")


def rank_table(replica_logs: pa.Table) -> pa.Table:
    """Return the rows of ``REPLICA_LOG_SCHEMA`` with ranks and flags, as ``RANKED_SCHEMA``.

    Partitions must be complete; the order of rows does not matter. A silent replica has no rank and no flags.
    """
    table = replica_logs.sort_by([("topic", "ascending"), ("partition", "ascending")])
    ranks: list[int | None] = []
    flags: list[tuple[Flag, ...]] = []
    for _partition, rows in groupby(_iterate_rows(table, _ToRank), key=lambda row: (row.topic, row.partition)):
        replicas = list(rows)
        answered = rank_logs(log for row in replicas if (log := row.to_log()) is not None)
        found = {each.log.broker_id: (number, each.flags) for number, each in enumerate(answered, start=1)}
        for row in replicas:
            own_rank, own_flags = found.get(row.broker_id, (None, ()))
            ranks.append(own_rank)
            flags.append(own_flags)
    columns = [*table.columns, pa.array(ranks, pa.int32()), pa.array(flags, pa.list_(pa.string()))]
    return pa.Table.from_arrays(columns, schema=RANKED_SCHEMA)


class Summary(TypedDict):
    """The result ``summary`` of ``replica_log_info``. Both engines make it."""

    partitions: int
    replicas: int
    answered: int
    silent: dict[str, int]
    """The number of replicas without an answer, by cause."""


def summarize_table(replica_logs: pa.Table) -> Summary:
    """Count the partitions and replicas in rows of ``REPLICA_LOG_SCHEMA``, and the silent ones by cause."""
    causes = {each["values"]: each["counts"] for each in replica_logs["cause"].value_counts().to_pylist()}
    return Summary(
        partitions=replica_logs.group_by(["topic", "partition"]).aggregate([]).num_rows,
        replicas=replica_logs.num_rows,
        answered=causes.pop(None, 0),
        silent=dict(sorted(causes.items())),
    )


class _ToRank(NamedTuple):
    topic: str
    partition: int
    broker_id: int
    place: int
    last_written_epoch: int | None
    log_start_offset: int | None
    log_end_offset: int | None
    lineage: tuple[EpochEnd, ...]
    local_log_start_offset: int | None
    is_fenced: bool
    is_future: bool | None
    is_tiered: bool | None
    cause: str | None

    def to_log(self) -> AnsweredLog | None:
        if self.cause is not None or self.log_start_offset is None or self.log_end_offset is None:
            return None
        return AnsweredLog(
            self.broker_id,
            self.place,
            self.last_written_epoch,
            self.log_start_offset,
            self.log_end_offset,
            self.lineage,
            self.local_log_start_offset,
            self.is_fenced,
            bool(self.is_future),
            bool(self.is_tiered),
        )


def find_rebuilt(replica_logs: pa.Table) -> set[tuple[TopicPartition, int]]:
    """Return the replicas, by broker id, whose leader-epoch-checkpoint contradicts their batches."""
    found = replica_logs.filter(replica_logs["is_rebuilt"])
    rows = zip(*(found[name].to_pylist() for name in REPLICA_KEY), strict=True)
    return {(TopicPartition(topic, partition), broker_id) for topic, partition, broker_id in rows}


def read_ranked_partitions(ranked: pa.Table) -> Iterator[RankedPartition]:
    """Yield the partitions in the rows of ``RANKED_SCHEMA`` or ``COMPARED_SCHEMA``, in order of topic and number."""
    table = ranked.sort_by([(name, "ascending") for name in ("topic", "partition", "rank", "place")])
    comparisons = _iterate_comparisons(table) if AGAINST.name in table.column_names else None
    for (topic, partition), rows in groupby(_iterate_rows(table, _Row), key=lambda row: (row.topic, row.partition)):
        replicas = list(rows)
        candidates = [row for row in replicas if row.rank is not None]
        compared = None
        if comparisons is not None:
            # Silent replicas come last, and have no rank.
            compared = tuple(islice(comparisons, len(replicas)))[: len(candidates)]
        yield _to_ranked_partition(TopicPartition(topic, partition), candidates, replicas[len(candidates) :], compared)


def _iterate_comparisons(table: pa.Table) -> Iterator[Comparison]:
    for batch in table.select([AGAINST.name, LOST.name]).to_batches(max_chunksize=_ROWS_AT_ONCE):
        yield from read_comparisons(batch)


def _iterate_rows(table: pa.Table, kind: type[Row]) -> Iterator[Row]:
    for batch in table.select(kind._fields).to_batches(max_chunksize=_ROWS_AT_ONCE):
        columns: list[Iterable[Any]] = [
            _read_lineages(batch.column(name)) if name == "lineage" else batch.column(name).to_pylist()
            for name in kind._fields
        ]
        yield from map(kind, *columns)


def _read_lineages(column: pa.ListArray) -> Iterator[tuple[EpochEnd, ...]]:
    """Yield the lineages of an Arrow column. to_pylist would make a dict for each entry, which is slow."""
    entries = column.flatten()
    ends = map(EpochEnd, entries.field("epoch").to_pylist(), entries.field("end_offset").to_pylist())
    for length in column.value_lengths().to_pylist():
        yield tuple(islice(ends, length or 0))


def _to_ranked_partition(
    topic_partition: TopicPartition,
    candidates: list[_Row],
    silent: list[_Row],
    compared: tuple[Comparison, ...] | None,
) -> RankedPartition:
    standings = [
        Standing(
            row.broker_id,
            row.last_written_epoch,
            _require(row.log_start_offset),
            _require(row.log_end_offset),
            tuple(map(Flag, row.flags)),
            row.local_log_start_offset,
        )
        for row in candidates
    ]
    return RankedPartition(
        topic_partition,
        tuple(map(_to_candidate, candidates, standings, explain_ranks(standings))),
        tuple(SilentReplica(row.broker_id, Cause(row.cause or Cause.BAD_ANSWER), row.error) for row in silent),
        compared,
    )


def _require(number: int | None) -> int:
    if number is None:
        raise ValueError("only a replica that answered is ranked")
    return number


def _to_candidate(row: _Row, standing: Standing, explanation: str) -> Candidate:
    return Candidate(
        broker_id=row.broker_id,
        rank=_require(row.rank),
        last_written_epoch=row.last_written_epoch,
        log_start_offset=standing.log_start_offset,
        log_end_offset=standing.log_end_offset,
        lineage=row.lineage,
        size_bytes=row.size_bytes,
        flags=standing.flags,
        explanation="; ".join(filter(None, [explanation, row.error])),
        local_log_start_offset=row.local_log_start_offset,
        last_tiered_offset=row.last_tiered_offset,
    )
