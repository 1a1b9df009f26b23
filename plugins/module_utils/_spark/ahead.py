# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A session that starts in the background as soon as it is known to be needed. Imports nothing of PySpark itself."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Self

from .._model.background import in_background

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SessionAhead:
    """Use it in a ``with`` block, at whose end the session ends, if there is one."""

    def __init__(self, open_session: Callable[[], AbstractContextManager[SparkSession]]) -> None:
        """``open_session`` is called in the background, and imports what it needs."""
        self._open_session = open_session
        self._context: AbstractContextManager[SparkSession] | None = None
        self._started: Future[SparkSession] | None = None

    def __enter__(self) -> Self:
        return self

    @property
    def has_begun(self) -> bool:
        return self._started is not None

    def begin(self) -> None:
        """Start the session, unless that was done already. Does not wait for it."""
        self._begun()

    def session(self) -> SparkSession:
        """Return the session once it is there.

        Raises what starting it raised.
        """
        return self._begun().result()

    def _begun(self) -> Future[SparkSession]:
        if self._started is None:
            self._started = in_background(self._start, "spark-start")
        return self._started

    def _start(self) -> SparkSession:
        context = self._open_session()
        spark = context.__enter__()  # entered here, and left in another thread
        self._context = context
        return spark

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        if self._started is None:
            return None
        self._started.exception()  # it has started now, or never will
        return self._context.__exit__(kind, error, trace) if self._context is not None else None
