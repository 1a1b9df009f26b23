# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask and rank replicas by Spark's tasks: for many replicas, or on the operator's own Spark.

A rehearsal does the same with one invented partition, so that the class archive gets every class that is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module

from .._model.partition import Broker, BrokerState, EpochEnd, PartitionState, ReplicaLog, TopicPartition
from .._spark.session import spark_session
from .._spark.tasks import distribute, slots, task_for_each
from .._spark.workers import Deadline
from .probe_task import AskBrokers, BrokerWork, divide_by_broker

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.pandas.types import from_arrow_schema

    from .rows import RANKED_SCHEMA, REPLICA_LOG_SCHEMA, rank_table, read_ranked_partitions

    # PySpark imports it with the first task. Importing it here takes place while the JVM starts.
    import_module("pandas")


class OnSpark:
    """The engine that uses a Spark session."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def ask(self, work: Sequence[BrokerWork], ask_brokers: AskBrokers) -> pa.Table:
        """Ask the brokers by as many tasks as Spark runs at the same time.

        The result is an Arrow table, not a DataFrame: each action on a DataFrame, and each retry of a lost task, would
        ask the brokers again and could get other answers.
        """
        hands = distribute(work, len, slots(self._spark))
        rows = task_for_each(self._spark, hands, ask_brokers, from_arrow_schema(REPLICA_LOG_SCHEMA))
        return rows.toArrow().cast(REPLICA_LOG_SCHEMA)

    def rank(self, replica_logs: pa.Table) -> pa.Table:
        return rank_dataframe(self._spark.createDataFrame(replica_logs)).toArrow().cast(RANKED_SCHEMA)


def rank_dataframe(replica_logs: DataFrame) -> DataFrame:
    """Return the rows of ``REPLICA_LOG_SCHEMA`` as ``RANKED_SCHEMA``, independent of how the rows are partitioned."""

    def rank_partitions(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        table = pa.Table.from_batches(batches, REPLICA_LOG_SCHEMA)
        yield from rank_table(table).to_batches()

    return replica_logs.repartition("topic", "partition").mapInArrow(rank_partitions, from_arrow_schema(RANKED_SCHEMA))


_DURATION_MS = 10_000
_LEAST_SECONDS = 1.0


def make_class_archive() -> None:
    """Write the class archive, for an installation or the build of an image. A complete one is kept.

    Raises SparkUnavailableError.
    """
    with spark_session(rehearse=rehearse, wait_for_class_archive=True):
        pass


def rehearse(spark: SparkSession) -> None:
    """Gather, rank and read one invented partition, without a broker."""
    broker = Broker(0, "rehearsal.invalid", 9092, None, is_fenced=False, state=BrokerState.ONLINE)
    partition = PartitionState("rehearsal", 0, "", -1, 0, (0,), (), None, None, ())
    engine = OnSpark(spark)
    ask_brokers = AskBrokers("", Deadline.after_ms(_DURATION_MS), _LEAST_SECONDS, _answer_rehearsal)
    logs = engine.ask(divide_by_broker([broker], [partition]), ask_brokers)
    list(read_ranked_partitions(engine.rank(logs)))


def _answer_rehearsal(
    settings_reference: str, broker: Broker, partitions: Sequence[TopicPartition], deadline: float
) -> list[ReplicaLog]:
    return [
        ReplicaLog(each.topic, each.partition, broker.broker_id, 0, 1, 0, 0, (EpochEnd(0, 1),)) for each in partitions
    ]
