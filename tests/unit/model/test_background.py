# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A session that starts in the background: once and only when it is needed, and it always ends."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.background import BackgroundContext
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.java import SparkUnavailableError

_SECONDS = 20


class FakeSession(AbstractContextManager[Any]):
    """Counts who opens and closes it. ``may_start`` holds the start up."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.fault = fault
        self.may_start = threading.Event()
        self.opened_by: list[str] = []
        self.closed_by: list[type[BaseException] | None] = []

    def open(self) -> FakeSession:
        self.opened_by.append(threading.current_thread().name)
        return self

    def __enter__(self) -> Any:
        assert self.may_start.wait(_SECONDS)
        if self.fault:
            raise self.fault
        return "the session"

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closed_by.append(kind)
        if isinstance(error, ZeroDivisionError):
            raise SparkUnavailableError("as the session explains it") from error


def test_context_that_was_not_started_is_not_entered() -> None:
    fake = FakeSession()
    with BackgroundContext(fake.open, "spark-start"):
        pass
    assert (fake.opened_by, fake.closed_by) == ([], [])


def test_context_is_entered_once_in_the_background() -> None:
    fake = FakeSession()
    with BackgroundContext(fake.open, "spark-start") as ahead:
        ahead.begin()
        ahead.begin()
        # It could not have started by now.
        fake.may_start.set()
        assert str(ahead.opened()) == "the session"
        assert str(ahead.opened()) == "the session"
        assert fake.closed_by == []
    assert fake.opened_by == ["spark-start"]
    assert fake.closed_by == [None]


def test_session_starts_when_it_is_needed_if_not_started_before() -> None:
    fake = FakeSession()
    fake.may_start.set()
    with BackgroundContext(fake.open, "spark-start") as ahead:
        assert str(ahead.opened()) == "the session"
    assert fake.closed_by == [None]


def test_unneeded_start_is_awaited_and_ended() -> None:
    fake = FakeSession()
    with BackgroundContext(fake.open, "spark-start") as ahead:
        ahead.begin()
        threading.Timer(0.1, fake.may_start.set).start()
    assert fake.closed_by == [None]


@pytest.mark.parametrize("is_wanted", [True, False])
def test_failed_start_is_raised_when_the_session_is_needed(is_wanted: bool) -> None:
    fake = FakeSession(SparkUnavailableError("no Java"))
    fake.may_start.set()
    with BackgroundContext(fake.open, "spark-start") as ahead:
        ahead.begin()
        if is_wanted:
            with pytest.raises(SparkUnavailableError, match="no Java"):
                ahead.opened()
    assert fake.closed_by == []


def test_context_gets_the_error_of_the_block() -> None:
    fake = FakeSession()
    fake.may_start.set()
    ahead = BackgroundContext(fake.open, "spark-start")

    def work() -> None:
        with ahead:
            ahead.opened()
            raise ZeroDivisionError

    with pytest.raises(SparkUnavailableError, match="as the session explains it"):
        work()
    assert fake.closed_by == [ZeroDivisionError]


def test_a_context_that_is_abandoned_is_not_awaited_and_ends_by_itself() -> None:
    fake = FakeSession()
    with BackgroundContext(fake.open, "spark-start") as ahead:
        begun = ahead.begin()
        assert not ahead.is_over(0)
        ahead.abandon()
    assert fake.closed_by == []
    fake.may_start.set()
    with pytest.raises(TimeoutError, match="abandoned"):
        begun.result(_SECONDS)
    assert fake.closed_by == [None]
