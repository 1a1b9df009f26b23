# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Unite the first answers of replicas with those that they give when they are asked again. Tables of rows.py."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import reduce

from .._kafka.errors import BrokerCallError
from .._model.partition import Cause, TopicPartition
from .rows import REPLICA_KEY

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyarrow as pa
    import pyarrow.compute as pc


_ENDS = ("last_written_epoch", "log_end_offset")
_LAST_BATCHES = ("last_batch_offset", "last_batch_checksum")


def find_differing(replica_logs: pa.Table) -> set[TopicPartition]:
    """Return the partitions whose replicas do not all end with the same epoch at the same offset, by the same batch.

    Where batches were not read, the epochs and offsets alone decide.
    """
    answered = replica_logs.filter(pc.is_null(replica_logs["cause"]))
    of_partition = answered.group_by(["topic", "partition"]).aggregate(
        [(name, kind) for name in (*_ENDS, *_LAST_BATCHES) for kind in ("min", "max")]
    )
    differs = reduce(
        pc.or_,
        (
            pc.fill_null(pc.not_equal(of_partition[f"{name}_min"], of_partition[f"{name}_max"]), name in _ENDS)
            for name in (*_ENDS, *_LAST_BATCHES)
        ),
    )
    found = of_partition.filter(differs)
    return set(map(TopicPartition, found["topic"].to_pylist(), found["partition"].to_pylist()))


def find_denied(replica_logs: pa.Table, newest: pa.Table) -> set[TopicPartition]:
    """Return the partitions with a replica whose newest epoch is another one in the rows of ``newest``."""
    answered = [each.filter(pc.is_null(each["cause"])) for each in (replica_logs, newest)]
    names = (*REPLICA_KEY, "last_written_epoch")
    known, found = (set(zip(*(each[name].to_pylist() for name in names), strict=True)) for each in answered)
    replicas = {each[:-1] for each in known}
    return {TopicPartition(*each[:2]) for each in found - known if each[:-1] in replicas}


def only_silent(replica_logs: pa.Table) -> pa.Table:
    """Return the rows of silent replicas."""
    return replica_logs.filter(pc.is_valid(replica_logs["cause"]))


def count_late(replica_logs: pa.Table) -> int:
    """Return how many replicas were not asked in time."""
    return len(replica_logs.filter(_is_late(replica_logs)))


def replace_rows(replica_logs: pa.Table, again: pa.Table) -> pa.Table:
    """Return the rows with those of ``again`` instead, except where a replica was not asked again in time."""
    newer = again.filter(pc.invert(_is_late(again)))
    known = set(zip(*(newer[name].to_pylist() for name in REPLICA_KEY), strict=True))
    is_kept = [
        each not in known for each in zip(*(replica_logs[name].to_pylist() for name in REPLICA_KEY), strict=True)
    ]
    return pa.concat_tables([replica_logs.filter(pa.array(is_kept, pa.bool_())), newer])


def _is_late(replica_logs: pa.Table) -> pa.ChunkedArray:
    return pc.fill_null(pc.equal(replica_logs["cause"], str(Cause.DEADLINE)), False)


def silence(replica_logs: pa.Table, failed: Mapping[int, BrokerCallError]) -> pa.Table:
    """Return the rows of ``REPLICA_LOG_SCHEMA`` with brokers that failed since, by broker id, as silent ones."""
    answered = pc.is_null(replica_logs["cause"])
    for broker_id, error in failed.items():
        is_silent = pc.and_(answered, pc.equal(replica_logs["broker_id"], broker_id))
        for name, value in (("cause", str(error.cause)), ("error", str(error))):
            column = pc.if_else(is_silent, value, replica_logs[name])
            replica_logs = replica_logs.set_column(
                replica_logs.schema.get_field_index(name), replica_logs.schema.field(name), column
            )
    return replica_logs
