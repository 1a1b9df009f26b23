# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The columns of recordings: one row for each replica, and one for each log directory of each broker.

The ``comment`` of every field has its unit and the RPC that returned the value. A value that is unknown is null, never
zero.
"""

from __future__ import annotations

from contextlib import suppress

KEY = ("topic", "partition", "broker_id")
COMPARED = (
    "topic_id",
    "leader_id",
    "leader_epoch",
    "isr",
    "min_isr",
    "is_compacted",
    "known_epoch",
    "log_start_offset",
    "log_end_offset",
    "high_watermark",
    "size_bytes",
    "log_dir",
    "cause",
)
"""A replica of which one of these changed is stored again."""
LAST_ANSWER = (
    "topic_id",
    "leader_id",
    "leader_epoch",
    "isr",
    "known_epoch",
    "log_start_offset",
    "log_end_offset",
    "high_watermark",
    "log_dir",
)
"""What is kept of the last answer of a replica that gives none now."""

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyarrow as pa

    def _field(name: str, data_type: pa.DataType, comment: str) -> pa.Field:
        return pa.field(name, data_type, metadata={"comment": comment})

    _TIME = pa.timestamp("us", "UTC")

    ASKED_SCHEMA = pa.schema(
        [
            _field("topic", pa.string(), "topic name"),
            _field("partition", pa.int32(), "partition number"),
            _field("broker_id", pa.int32(), "the broker that holds the replica"),
            _field("topic_id", pa.string(), "id of the topic, in Kafka's text form; DescribeTopicPartitions"),
            _field("leader_id", pa.int32(), "the partition's leader, -1 for none; DescribeTopicPartitions"),
            _field("leader_epoch", pa.int32(), "the partition's leader epoch; DescribeTopicPartitions"),
            _field("isr", pa.list_(pa.int32()), "the in-sync replicas; DescribeTopicPartitions"),
            _field("min_isr", pa.int32(), "the topic's min.insync.replicas; DescribeConfigs"),
            _field("is_compacted", pa.bool_(), "whether the topic's cleanup.policy has compact; DescribeConfigs"),
            _field("known_epoch", pa.int32(), "the leader epoch as this broker knows it; ListOffsets, replica -2"),
            _field("log_start_offset", pa.int64(), "first offset of the log; ListOffsets, replica -2, timestamp -2"),
            _field("log_end_offset", pa.int64(), "offset after the last record; ListOffsets, replica -2, timestamp -1"),
            _field("high_watermark", pa.int64(), "of the leader only; ListOffsets, replica -1, timestamp -1"),
            _field("size_bytes", pa.int64(), "bytes on disk; DescribeLogDirs"),
            _field("log_dir", pa.string(), "the log directory that holds it; DescribeLogDirs"),
            _field("cause", pa.string(), "why there is no answer, one of _model.partition.Cause; null for an answer"),
        ]
    )

    _LAST_ANSWER_TYPE = pa.struct(
        [*(ASKED_SCHEMA.field(name) for name in LAST_ANSWER), _field("seen_at", _TIME, "the last look with an answer")]
    )

    RECORDED_SCHEMA = pa.schema(
        [
            *ASKED_SCHEMA,
            _field("observed_at", _TIME, "the look at which it was like this first"),
            _field("is_removed", pa.bool_(), "the replica does not exist any more: all other values are null"),
            _field("last_answer", _LAST_ANSWER_TYPE, "of a replica without an answer: what it held before"),
        ]
    )

    BROKER_SCHEMA = pa.schema(
        [
            _field("recorded_at", _TIME, "the time of the look"),
            _field("broker_id", pa.int32(), "broker id; DescribeCluster"),
            _field("rack", pa.string(), "broker.rack, null for none; DescribeCluster"),
            _field("state", pa.string(), "one of _model.partition.BrokerState"),
            _field("error", pa.string(), "what was found, for a person; empty if nothing went wrong"),
            _field("log_dir", pa.string(), "path of a log directory, null if the broker gave none; DescribeLogDirs"),
            _field("total_bytes", pa.int64(), "size of the volume, null if unknown; DescribeLogDirs"),
            _field("usable_bytes", pa.int64(), "free space of the volume, null if unknown; DescribeLogDirs"),
        ]
    )
