# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The shape of a replica's log info in Spark: one schema, and the one way between it and ``ReplicaLog``.

Every field's ``comment`` names its unit and where the value comes from. Offsets are record offsets.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import accumulate

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.replica_log import ReplicaLog


def _field(name: str, data_type: DataType, comment: str) -> StructField:
    return StructField(name, data_type, nullable=True, metadata={"comment": comment})


with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import (
        ArrayType,
        BooleanType,
        DataType,
        IntegerType,
        LongType,
        StringType,
        StructField,
        StructType,
    )

    LINEAGE = ArrayType(
        StructType(
            [
                _field("epoch", IntegerType(), "a leader epoch that the log holds records of"),
                _field("end_offset", LongType(), "the offset after the last record of that epoch"),
            ]
        )
    )

    REPLICA_LOG_SCHEMA = StructType(
        [
            _field("topic", StringType(), "topic name"),
            _field("partition", IntegerType(), "partition number"),
            _field("broker_id", IntegerType(), "the broker that was asked about its own replica"),
            _field("place", IntegerType(), "place in the partition's replica list, from 0; DescribeTopicPartitions"),
            _field("is_fenced", BooleanType(), "the controller fences this broker; DescribeCluster"),
            _field("log_start_offset", LongType(), "first offset of the log; ListOffsets, replica -2, timestamp -2"),
            _field("log_end_offset", LongType(), "offset after the last record; ListOffsets, replica -2, timestamp -1"),
            _field("current_leader_epoch", IntegerType(), "the partition's epoch as this broker knows it; ListOffsets"),
            _field(
                "last_written_epoch", IntegerType(), "newest epoch in the log, null for none; Fetch v12 epoch probes"
            ),
            _field("lineage", LINEAGE, "every epoch of the log, oldest first; Fetch v12 epoch probes"),
            _field("size_bytes", LongType(), "bytes on disk; DescribeLogDirs"),
            _field("log_dir", StringType(), "the log directory that holds it; DescribeLogDirs"),
            _field("is_future", BooleanType(), "a future replica exists too, null if untold; DescribeLogDirs"),
            _field("cause", StringType(), "why nothing was told, one of model.replica_log.Cause; null when all was"),
            _field("error", StringType(), "what was found, for a person; empty when nothing went wrong"),
        ]
    )

    RANKED_SCHEMA = StructType(
        [
            *REPLICA_LOG_SCHEMA.fields,
            _field("rank", IntegerType(), "1 is the best; null for a replica that told nothing"),
            _field("flags", ArrayType(StringType()), "recovery.candidate.Flag values, in the order of that enum"),
        ]
    )

    REPLICA_LOG_ARROW_SCHEMA: pa.Schema = to_arrow_schema(REPLICA_LOG_SCHEMA)

    """What Spark itself makes of the schema: a Data Source's record batches must have exactly this one."""


def to_record_batch(logs: Sequence[ReplicaLog], places: Sequence[int], is_fenced: bool) -> pa.RecordBatch:
    """One broker's logs as one record batch of ``REPLICA_LOG_SCHEMA``, in the order given.

    ``places`` has each replica's place in its replica list; ``is_fenced`` is the controller's word on the broker.
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
        "lineage": _lineages(logs),
        "size_bytes": [log.size_bytes for log in logs],
        "log_dir": [log.log_dir for log in logs],
        # A broker that does not tell its log dirs, told nothing of a future replica either.
        "is_future": [log.is_future or (None if log.log_dir is None else False) for log in logs],
        "cause": [None if log.cause is None else str(log.cause) for log in logs],
        "error": [log.error for log in logs],
    }
    return pa.RecordBatch.from_pydict(columns, schema=REPLICA_LOG_ARROW_SCHEMA)


def _lineages(logs: Sequence[ReplicaLog]) -> pa.Array:
    """By column: a dict for each entry would take longer than all other columns together."""
    kind = REPLICA_LOG_ARROW_SCHEMA.field("lineage").type
    entry = kind.value_type
    ends = [end for log in logs for end in log.lineage]
    columns = [
        pa.array([end.epoch for end in ends], entry.field("epoch").type),
        pa.array([end.end_offset for end in ends], entry.field("end_offset").type),
    ]
    offsets = [0, *accumulate(len(log.lineage) for log in logs)]
    values = pa.StructArray.from_arrays(columns, fields=[entry.field("epoch"), entry.field("end_offset")])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values, type=kind)
