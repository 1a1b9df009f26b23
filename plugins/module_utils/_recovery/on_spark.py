# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask replicas by Spark's tasks, and rank and compare them by Spark SQL.

A rehearsal does the same with one invented partition, so that the class archive gets every class that is needed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import wait
from contextlib import contextmanager, suppress

from .._model.background import in_background
from .._model.partition import Broker, BrokerState, EpochEnd, PartitionState, ReplicaLog, TopicPartition
from .._model.program import program
from .._module.libraries import missing_libraries_message
from .._spark.failures import describe_failure
from .._spark.interpreted import interpreted
from .._spark.java import SparkUnavailableError, find_java
from .._spark.options import SparkOptions
from .._spark.session import has_class_archive, kill_jvms, spark_session
from .._spark.tasks import distribute, slots, task_for_each
from .._spark.workers import Deadline
from .probe_task import AskBrokers, BrokerWork, divide_by_broker
from .rows import Summary
from .transformations import RANKED_BY, ROW, compare, summarize

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyarrow as pa
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it ships no types
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.pandas.types import from_arrow_schema

    from .rows import COMPARED_SCHEMA, REPLICA_LOG_SCHEMA, read_ranked_partitions, to_record_batch


_FEW = 20_000
"""Up to so many rows, one task that interprets a query is faster."""


class OnSpark:
    """The engine that uses a Spark session."""

    def __init__(self, spark: SparkSession, few: int = _FEW) -> None:
        self._spark = spark
        self._few = few

    def ask(self, work: Sequence[BrokerWork], ask_brokers: AskBrokers) -> pa.Table:
        """Ask the brokers by as many tasks as Spark runs at the same time.

        The result is an Arrow table, not a DataFrame: each action on a DataFrame, and each retry of a lost task, would
        ask the brokers again and could get other answers.
        """
        hands = distribute(work, len, slots(self._spark))
        rows = task_for_each(self._spark, hands, ask_brokers.for_tasks(), from_arrow_schema(REPLICA_LOG_SCHEMA))
        return rows.toArrow().cast(REPLICA_LOG_SCHEMA)

    def rank(self, replica_logs: pa.Table) -> pa.Table:
        """Return the rows as ``COMPARED_SCHEMA``, in the same order.

        Spark gets the columns that decide, and the number of each row. It returns what it found by this number.
        """
        numbers = pa.array(range(replica_logs.num_rows), pa.int64())
        found = self._query(replica_logs.select([*RANKED_BY]).append_column(ROW, numbers), compare).sort_by(ROW)
        added = COMPARED_SCHEMA.names[replica_logs.num_columns :]
        return pa.Table.from_arrays(
            [*replica_logs.columns, *(found[name].cast(COMPARED_SCHEMA.field(name).type) for name in added)],
            schema=COMPARED_SCHEMA,
        )

    def summarize(self, replica_logs: pa.Table) -> Summary:
        """Count the partitions and replicas, and the silent ones by cause."""
        counts = self._query(replica_logs.select(["topic", "partition", "cause"]), summarize).to_pylist()
        causes = {row["cause"]: row["replicas"] for row in counts}
        return Summary(
            partitions=sum(row["partitions"] for row in counts),
            replicas=replica_logs.num_rows,
            answered=causes.pop(None, 0),
            silent=dict(sorted(causes.items())),
        )

    def _query(self, table: pa.Table, transformation: Callable[[DataFrame], DataFrame]) -> pa.Table:
        rows = self._spark.createDataFrame(table)
        if table.num_rows > self._few:
            return rows.transform(transformation).toArrow()
        with interpreted(self._spark):
            return rows.coalesce(1).transform(transformation).toArrow()

    def write_parquet(self, table: pa.Table, uri: str) -> str:
        """Write a table to one file in a new directory. Return why the file system refused, empty if it did not."""
        rows = self._spark.createDataFrame(table).coalesce(1)
        try:
            rows.write.parquet(uri)
        except (PySparkException, Py4JJavaError) as error:
            return describe_failure(str(error))
        return ""


@contextmanager
def open_session(
    options: SparkOptions, *, is_long: bool, has_work: Callable[[], bool] = lambda: True
) -> Iterator[SparkSession]:
    """Open a session for one run. ``has_work`` tells whether its work is there already.

    On this host, Spark ranks something invented while it has no work: its first plan takes two seconds, a later one
    half a second. Raises SparkUnavailableError.
    """
    with spark_session(options, rehearse=rehearse, runs_python=not options.is_local, is_long=is_long) as spark:
        if options.is_local and not has_work():
            rank_once(spark)
        yield spark


_DURATION_MS = 10_000
_LEAST_SECONDS = 1.0


def make_class_archive() -> None:
    """Write the class archive, for an installation or the build of an image. A complete one is kept.

    Raises SparkUnavailableError.
    """
    with spark_session(rehearse=rehearse, wait_for_class_archive=True):
        pass


def make_class_archive_later() -> None:
    """Start a process of the lowest priority that writes the class archive, if there is none. Does not wait for it.

    For a host whose Spark starts too slowly without the archive: no session would live long enough to write it.
    """
    with suppress(OSError, SparkUnavailableError):  # without it, the next run starts as slowly as this one
        if not has_class_archive(find_java()):
            subprocess.Popen(
                [sys.executable, "-c", program(f"from {__name__} import {_LATER}\n{_LATER}()\n")],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )


def make_class_archive_in_time(limit_s: float = 600.0) -> None:
    """Write the class archive with the lowest priority, and end after ``limit_s`` in any case.

    Nobody waits for this process, and a JVM that cannot start may never answer.
    """
    os.nice(19)
    made = in_background(make_class_archive, "class-archive")
    if wait([made], limit_s).not_done:
        kill_jvms()
        wait([made], _KILLED_S)


_LATER = make_class_archive_in_time.__name__
_KILLED_S = 10.0
"""The time in which a session removes its files after its JVM was killed."""


def rehearse(spark: SparkSession) -> None:
    """Rank and read one invented partition, and gather it without a broker where Spark's tasks can run Python."""
    rank_once(spark)
    rank_once(spark, few=0)
    if missing_libraries_message(("pandas",)):
        return
    partition = PartitionState("rehearsal", 0, "", -1, 0, (0,), (), None, None, ())
    ask_brokers = AskBrokers("", Deadline.after_ms(_DURATION_MS), _LEAST_SECONDS, _answer_rehearsal)
    OnSpark(spark).ask(divide_by_broker(_TWO, [partition]), ask_brokers)


def rank_once(spark: SparkSession, few: int = _FEW) -> None:
    """Rank and read one invented partition."""
    logs = [
        to_record_batch(_answer_rehearsal("", each, [TopicPartition("rehearsal", 0)], 0), [0], False) for each in _TWO
    ]
    list(read_ranked_partitions(OnSpark(spark, few).rank(pa.Table.from_batches(logs))))


_TWO = tuple(
    Broker(each, "rehearsal.invalid", 9092, None, is_fenced=False, state=BrokerState.ONLINE) for each in range(2)
)


def _answer_rehearsal(
    settings_reference: str, broker: Broker, partitions: Sequence[TopicPartition], deadline: float
) -> list[ReplicaLog]:
    return [
        ReplicaLog(each.topic, each.partition, broker.broker_id, 0, 1, 0, 0, (EpochEnd(0, 1),)) for each in partitions
    ]
