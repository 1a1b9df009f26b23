# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run work in a separate thread before its result is needed. Standard library only."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Generic, Self, TypeVar

Result = TypeVar("Result")


def in_background(work: Callable[[], Result], name: str) -> Future[Result]:
    """Start work in a thread with this name, and return the future of its result.

    The thread is a daemon, unlike those of a pool: the process does not wait for it at its end.
    """
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - the future raises it again in the thread that reads the result
            future.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future


class BackgroundContext(Generic[Result]):
    """A context manager that is entered in a thread with this name, at most once.

    Use it in a ``with`` block. At its end the context is exited, if it was entered.
    """

    def __init__(self, open_context: Callable[[], AbstractContextManager[Result]], name: str) -> None:
        """Set ``open_context``, which is called in the thread and makes the context."""
        self._open_context = open_context
        self._name = name
        self._context: AbstractContextManager[Result] | None = None
        self._is_abandoned = False
        self._lock = threading.Lock()
        self._begun: Future[Result] | None = None

    def __enter__(self) -> Self:
        return self

    @property
    def has_begun(self) -> bool:
        return self._begun is not None

    def begin(self) -> Future[Result]:
        """Start to enter the context, if that has not begun. Does not wait for it."""
        if self._begun is None:
            self._begun = in_background(self._enter, self._name)
        return self._begun

    def opened(self, limit_s: float | None = None) -> Result:
        """Wait until the context is entered, and return its value. Raises the error of entering it, or TimeoutError."""
        return self.begin().result(limit_s)

    def is_over(self, limit_s: float) -> bool:
        """Wait until the context is entered or has failed, and return whether that happened in time."""
        return bool(wait([self.begin()], limit_s).done)

    def abandon(self) -> None:
        """Do not wait for the context any more: if it is entered later, its own thread exits it at once."""
        with self._lock:
            self._is_abandoned = self._context is None

    def _enter(self) -> Result:
        context = self._open_context()
        entered = context.__enter__()  # another thread exits it
        with self._lock:
            if not self._is_abandoned:
                self._context = context
                return entered
        context.__exit__(None, None, None)
        raise TimeoutError("entered after it was abandoned")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        if self._begun is None or self._is_abandoned:
            return None
        self._begun.exception()  # wait until it is entered or has failed
        context, self._context = self._context, None
        return context.__exit__(kind, error, trace) if context is not None else None
