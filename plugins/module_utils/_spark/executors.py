# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a Spark cluster gives this session an executor. Without one, Spark lets a job wait for ever."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from .java import SparkUnavailableError

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # it ships no types
    from pyspark.errors import PySparkException

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LIMIT_S = 60.0
"""An incident does not wait longer for a cluster that is full: this host can do the work by itself."""


def await_executor(spark: SparkSession, master: str, limit_s: float = LIMIT_S) -> None:
    """Run a job without data, and give it up where no executor has taken it in time.

    A job, since a cluster with dynamic allocation starts its executors for jobs only.

    Raises SparkUnavailableError, and what Spark raises for a job that fails.
    """
    failures: list[Exception] = []

    def run() -> None:
        try:
            spark.range(0, 1, 1, 1).collect()
        except (Py4JError, PySparkException, ConnectionError) as error:
            failures.append(error)

    job = threading.Thread(target=run, daemon=True)
    job.start()
    job.join(limit_s)
    if job.is_alive():
        with suppress(Py4JError, ConnectionError):
            spark.sparkContext.cancelAllJobs()
        raise SparkUnavailableError(
            f"Spark at {master} gave this session no executor within {limit_s:g} s: its workers are not registered "
            "with the master, are busy, or have less memory or fewer cores than spark.conf asks for "
            "(spark.executor.memory, spark.executor.cores). Look at the master's own page, or run with spark.master "
            "local[*], which needs no cluster"
        )
    if failures:
        raise failures[0]
