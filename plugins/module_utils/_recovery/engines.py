# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask and rank by Spark, which starts in the background, and by this process where Spark is not there in time.

1. The survey sees an offline partition: Spark starts, while brokers and quorum are looked at and replicas are asked.
2. With Spark on this host, this process asks the replicas. With a cluster or a Spark Connect server, its tasks do.
3. Spark ranks. If it is not ready ``wait_ms`` after its work is there, or fails, or does not react, this process does
   the work instead, with the same result. From then on, the run uses no Spark. ``use`` has the reason.
"""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from .._model.background import BackgroundContext, in_background
from .._model.run import KafkaOpsError
from .._module.libraries import SPARK, missing_libraries_message
from .._spark.failures import describe_failure
from .._spark.java import SparkUnavailableError
from .._spark.options import EngineName, EngineOptions, EngineUse
from .on_this_host import OnThisHost
from .probe_task import AskBrokers, BrokerWork
from .rows import Summary

# PySpark takes half a second to import.
# ruff: noqa: PLC0415

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from .on_spark import OnSpark

Result = TypeVar("Result")

_LONG = 100_000
"""Replicas from which on Spark's JVM compiles its code better, which takes longer."""
_S_PER_REPLICA = 0.0001
"""The most that Spark's work on the answers may take beside ``wait_ms``: ten times what it took on two slow cores."""
_ASK_S = 30.0
"""How much longer than its deadline a gather by Spark's tasks may take: an executor that is lost is replaced."""
_KILL_EVERY_S = 0.1
_REHEARSAL_S = 30.0
"""The most that this process waits at its own end for the first session of a host."""
_END_S = 5.0
"""How long an end waits until a JVM that was killed while it started is gone."""
_ARCHIVE_S = 1.0
"""How long a run waits until another process begins to write the archive: Java, which it needs, may not answer."""


class Engines:
    """The engine of one run. Use it in a ``with`` block: its end stops Spark, if it runs."""

    def __init__(self, options: EngineOptions) -> None:
        """Set the operator's choice. Nothing is started."""
        self._options = options
        self._reason = ""
        self._replicas = 0
        self._has_work = False
        self._is_slow = False
        self._ahead = BackgroundContext(self._open, "spark-start")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._reason:  # otherwise it is closed, or was waited for long enough
            self._close(None)

    @property
    def use(self) -> EngineUse:
        """Return the engine that works in this run."""
        return EngineUse(EngineName.SPARK if self._is_on_spark else EngineName.PROCESS, self._reason)

    @property
    def _is_on_spark(self) -> bool:
        return self._options.name is EngineName.SPARK and not self._reason

    def begin(self, replicas: int) -> None:
        """Start Spark in the background for this number of replicas. Does not wait for it."""
        self._replicas = replicas
        if self._is_on_spark:
            self._ahead.begin()

    def ask(self, work: Sequence[BrokerWork], ask_brokers: AskBrokers) -> pa.Table:
        """Return one row of ``REPLICA_LOG_SCHEMA`` for every replica in ``work``, which is not empty."""
        replicas = sum(map(len, work))
        here = OnThisHost.for_replicas(replicas)
        if self._options.where.is_local:
            return here.ask(work, ask_brokers)
        return self._work(
            lambda spark: _on_spark(spark).ask(work, ask_brokers),
            lambda: here.ask(work, ask_brokers),
            ask_brokers.seconds_left() + _ASK_S,
        )

    def rank(self, replica_logs: pa.Table) -> pa.Table:
        """Return the rows of ``REPLICA_LOG_SCHEMA`` as ``RANKED_SCHEMA``, in any order. Partitions must be complete.

        Spark also compares the replicas: its rows are of ``COMPARED_SCHEMA``.
        """
        return self._work(
            lambda spark: _on_spark(spark).rank(replica_logs),
            lambda: OnThisHost().rank(replica_logs),
            self._limit_s(replica_logs),
        )

    def summarize(self, replica_logs: pa.Table) -> Summary:
        """Count the partitions and replicas in rows of ``REPLICA_LOG_SCHEMA``, and the silent ones by cause."""
        return self._work(
            lambda spark: _on_spark(spark).summarize(replica_logs),
            lambda: OnThisHost().summarize(replica_logs),
            self._limit_s(replica_logs),
        )

    def write_parquet(self, table: pa.Table, uri: str) -> None:
        """Write a table to a new directory on a file system that Spark reaches.

        Raises SparkUnavailableError if Spark is not there, or if the file system refuses.
        """
        error = self._work(
            lambda spark: _on_spark(spark).write_parquet(table, uri), lambda: self._reason, self._limit_s(table)
        )
        if error:
            raise SparkUnavailableError(error)

    def read(self, work: Callable[[SparkSession], pa.Table]) -> pa.Table:
        """Return what a function reads by Spark. Raises SparkUnavailableError if Spark is not there."""

        def refuse() -> pa.Table:
            raise SparkUnavailableError(self._reason or "the engine is process")

        return self._work(work, refuse, self._options.wait_ms / 1000 + _ASK_S)

    def _limit_s(self, rows: pa.Table) -> float:
        replicas: int = rows.num_rows
        return self._options.wait_ms / 1000 + replicas * _S_PER_REPLICA

    def _work(self, on_spark: Callable[[SparkSession], Result], here: Callable[[], Result], limit_s: float) -> Result:
        if self._is_on_spark:
            try:
                return self._within(on_spark, limit_s)
            except Exception as error:  # noqa: BLE001 - whatever happens to Spark must not cost a recovery
                self._reason = self._close(error)
        return here()

    def _within(self, on_spark: Callable[[SparkSession], Result], limit_s: float) -> Result:
        """Return what Spark does. Raises SparkUnavailableError if it is not ready or not done in time."""
        wait_s = self._options.wait_ms / 1000
        self._has_work = True
        try:
            spark = self._ahead.opened(wait_s)
        except TimeoutError:
            self._is_slow = True
            raise SparkUnavailableError(f"Spark was not ready {wait_s:g} s after its work was there") from None
        work = in_background(lambda: on_spark(spark), "spark-work")
        try:
            return work.result(limit_s)
        except TimeoutError:
            raise SparkUnavailableError(f"Spark did not finish within {limit_s:.0f} s") from None

    def _close(self, error: Exception | None) -> str:
        """End Spark, and return what happened to it, in one line."""
        text = _first_line(error)
        if not self._ahead.has_begun:
            return text
        is_stuck = isinstance(error, SparkUnavailableError)
        if is_stuck or not self._ahead.is_over(0):
            self._abandon()
        end = in_background(lambda: self._ahead.__exit__(type(error) if error else None, error, None), "spark-end")
        try:
            end.result(_END_S)
        except TimeoutError:
            # A Spark Connect server that does not react; or the first session of this host, which loads more classes
            # for the archive. The run goes on.
            if self._options.where.is_local:
                atexit.register(_end_at_last, end)
            if self._options.where.remote is not None:
                from .._spark.connect import explain_server_error

                return _first_line(explain_server_error(error, self._options.where)) or text
        except Exception as explained:  # noqa: BLE001 - see _work
            return _first_line(explained) if isinstance(explained, KafkaOpsError) else text
        return text

    def _abandon(self) -> None:
        """Stop waiting for a session that starts too slowly, or that hangs. Kill its JVM, if it is on this host."""
        if self._options.where.remote is None:
            from .._spark.session import kill_jvms

            end = time.monotonic() + _END_S
            while time.monotonic() < end:
                kill_jvms()  # again and again: the thread may be about to start one
                if self._ahead.is_over(_KILL_EVERY_S):
                    break
        self._ahead.abandon()
        if self._is_slow and self._options.where.is_local:
            from .on_spark import make_class_archive_later

            wait([in_background(make_class_archive_later, "class-archive")], _ARCHIVE_S)

    def _open(self) -> AbstractContextManager[SparkSession]:
        # PySpark needs pandas for tasks that return Arrow data.
        missing = missing_libraries_message(SPARK if self._options.where.is_local else (*SPARK, "pandas"))
        if missing:
            raise SparkUnavailableError(missing)
        from .on_spark import open_session

        return open_session(self._options.where, is_long=self._replicas >= _LONG, has_work=lambda: self._has_work)


def describe_fallback(used: EngineUse | None) -> list[str]:
    """Return a note for a person if another engine did the work than the one that the operator chose."""
    return [f"the module worked without Spark: {used.reason}"] if used is not None and used.reason else []


def _end_at_last(end: Future[Any]) -> None:
    """Wait for the end of a session on this host, and kill its JVM if it does not react."""
    from .._spark.session import kill_jvms

    if wait([end], _REHEARSAL_S).not_done:
        kill_jvms()


def _on_spark(spark: SparkSession) -> OnSpark:
    from .on_spark import OnSpark

    return OnSpark(spark)


def _first_line(error: BaseException | None) -> str:
    """Return the error in one line. An error of this collection is written for a person; of others, name the class."""
    if error is None:
        return ""
    if isinstance(error, KafkaOpsError):
        return " ".join(str(error).split())
    text = "its JVM has ended"
    with suppress(Exception):  # the JVM is asked for the text of some errors
        text = describe_failure(str(error))
    return f"Spark failed: {type(error).__name__}: {text}"
