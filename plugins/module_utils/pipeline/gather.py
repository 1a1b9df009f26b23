# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Gathers what every replica of the given partitions holds, by Spark tasks that ask the brokers."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.replica_logs import silent_rows
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.broker import Broker
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import PartitionState
from ansible_collections.kafkaops.recovery.plugins.module_utils.pipeline.ask import AskBroker, ask_broker
from ansible_collections.kafkaops.recovery.plugins.module_utils.pipeline.deadline import Deadline
from ansible_collections.kafkaops.recovery.plugins.module_utils.pipeline.probe_source import (
    DATA_SOURCE_NAME,
    Gather,
    replica_log_source,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.pipeline.work import BrokerWork, work_by_broker

with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from ansible_collections.kafkaops.recovery.plugins.module_utils.pipeline.schemas import (
        REPLICA_LOG_ARROW_SCHEMA,
        to_record_batch,
    )

_CONNECT = "pyspark.sql.connect."
_PARALLELISM = "spark.default.parallelism"
_SLOTS_UNTOLD = "4"
_LEAST_SECONDS = 1.0
_LEAST_SHARE = 1 / 3
"""Of the duration. A bastion that is busy with Spark must not call brokers hung that it hardly asked."""


def gather(
    spark: SparkSession,
    settings_reference: str,
    brokers: Sequence[Broker],
    partitions: Sequence[PartitionState],
    duration_ms: int,
    *,
    ask: AskBroker = ask_broker,
) -> pa.Table:
    """One row of ``REPLICA_LOG_SCHEMA`` for every replica in the partitions' replica lists: a silent one is named too.

    ``settings_reference`` is the path of the file with the connection settings; each task reads it where it runs.
    ``duration_ms`` counts from this call; Spark's planning is paid from it, but for the last third. Brokers that cannot
    be asked (no address, unreachable, not authorised) are not; their rows name their state and cause.

    The rows are an Arrow table and not a DataFrame, because each action on a DataFrame, and each retry of a lost task
    behind it, would ask the brokers again and hear something else. ``spark.createDataFrame`` takes it from there.
    """
    deadline = Deadline.after_ms(duration_ms)
    work = work_by_broker(brokers, partitions)
    to_ask = tuple(item for item in work if item.can_be_asked)
    tables = [_not_asked(item) for item in work if not item.can_be_asked]
    if to_ask:
        least_seconds = max(_LEAST_SECONDS, duration_ms * _LEAST_SHARE / 1000)
        what = Gather(settings_reference, to_ask, _slots(spark), deadline, least_seconds, ask)
        spark.dataSource.register(replica_log_source(what))
        tables.append(spark.read.format(DATA_SOURCE_NAME).load().toArrow())
    return (
        pa.concat_tables(table.cast(REPLICA_LOG_ARROW_SCHEMA) for table in tables)
        if tables
        else REPLICA_LOG_ARROW_SCHEMA.empty_table()
    )


def _slots(spark: SparkSession) -> int:
    """How many tasks Spark runs at once. A Spark Connect server tells it only where it is set."""
    if type(spark).__module__.startswith(_CONNECT):
        return int(spark.conf.get(_PARALLELISM, _SLOTS_UNTOLD) or _SLOTS_UNTOLD)
    return spark.sparkContext.defaultParallelism


def _not_asked(item: BrokerWork) -> pa.Table:
    replicas = [*item.replicas()]
    logs = silent_rows(item.broker, [partition for partition, _place in replicas])
    return pa.Table.from_batches(
        [to_record_batch(logs, [place for _partition, place in replicas], item.broker.is_fenced)]
    )
