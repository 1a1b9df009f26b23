# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Work in a thread of its own: done, made or opened before it is wanted. Standard library only."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Generic, Self, TypeVar

Result = TypeVar("Result")


def in_background(work: Callable[[], Result], name: str) -> Future[Result]:
    """Begin work in a thread of this name, and return what it will return or raise.

    The thread is a daemon, unlike those of a pool: a process that is done, or asked to end, does not wait for it.
    """
    answer: Future[Result] = Future()

    def run() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is raised where the result is wanted
            answer.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return answer


class BackgroundContext(Generic[Result]):
    """A context that is entered in a thread of this name, once and only when it is needed.

    Use it in a ``with`` block, at whose end the context is left, if it was entered.
    """

    def __init__(self, open_context: Callable[[], AbstractContextManager[Result]], name: str) -> None:
        """``open_context`` is called in the thread, and imports what it needs."""
        self._open_context = open_context
        self._name = name
        self._context: AbstractContextManager[Result] | None = None
        self._begun: Future[Result] | None = None

    def __enter__(self) -> Self:
        return self

    @property
    def has_begun(self) -> bool:
        return self._begun is not None

    def begin(self) -> Future[Result]:
        """Begin to enter it, unless that was done already. Does not wait for it."""
        if self._begun is None:
            self._begun = in_background(self._enter, self._name)
        return self._begun

    def opened(self) -> Result:
        """Return what entering it returns, once it does. Raises what entering it raised."""
        return self.begin().result()

    def _enter(self) -> Result:
        context = self._open_context()
        entered = context.__enter__()  # entered here, and left in another thread
        self._context = context
        return entered

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        if self._begun is None:
            return None
        self._begun.exception()  # it was entered now, or never will be
        return self._context.__exit__(kind, error, trace) if self._context is not None else None
