# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Chooses where replicas are asked and ranked, by their number or by the operator's own choice.

Spark takes seconds to start, and then uses every core, or a cluster: below ``MOST_IN_PROCESS`` replicas, this process
is done before Spark has started.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Self

from .._model.background import OpenedAhead
from .._spark.options import SparkOptions
from .gather import Engine, InProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST_IN_PROCESS = 100_000
"""Replicas. docs/benchmarks.md has the measurement."""


class Engines:
    """Chooses the engine by the number of replicas. Use it in a ``with`` block, at whose end Spark ends, if it runs."""

    def __init__(self, options: SparkOptions | None) -> None:
        """``options`` are the operator's own choice of Spark, which is used then for any number of replicas."""
        self._is_chosen = options is not None
        self._ahead = OpenedAhead(lambda: _open_session(options or SparkOptions()), "spark-start")

    def __enter__(self) -> Self:
        self._ahead.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return self._ahead.__exit__(kind, error, trace)

    def expect(self, replicas: int) -> None:
        """Start Spark in the background, if so many replicas need it. Does not wait for it."""
        if self.need_spark(replicas):
            self._ahead.begin()

    def need_spark(self, replicas: int) -> bool:
        """Return whether so many replicas are asked by Spark. What has begun to start is used."""
        return self._is_chosen or self._ahead.has_begun or replicas > MOST_IN_PROCESS

    def engine_for(self, replicas: int) -> Engine:
        """Return the engine, once it is there.

        Raises SparkUnavailableError.
        """
        if not self.need_spark(replicas):
            return InProcess()
        from .on_spark import OnSpark  # noqa: PLC0415 - PySpark takes half a second to import

        return OnSpark(self._ahead.opened())


def _open_session(options: SparkOptions) -> AbstractContextManager[SparkSession]:
    from .._spark.session import spark_session  # noqa: PLC0415 - see above
    from .on_spark import rehearse  # noqa: PLC0415

    return spark_session(options, rehearse=rehearse)
