# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Advance several exchanges with one broker together, so that each wait for a distant broker is for all of them.

An exchange is a series of requests, some of which need the answers to earlier ones: a generator that yields the
requests of its next step, at least one, receives their answers, and returns its result. No I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from itertools import islice
from typing import Any, Generic, TypeAlias, TypeVar

from .bulk import BulkRequest

Result = TypeVar("Result")
Requests: TypeAlias = Sequence[BulkRequest[Any]]
Exchange: TypeAlias = Generator[Requests, list[Any], Result]


def in_lockstep(call: Callable[[Requests], Sequence[Any]], exchanges: Iterable[Exchange[Result]]) -> list[Result]:
    """Carry out exchanges, and return their results in the given order.

    ``call`` sends the requests of one step of all exchanges, and returns the answers. Its errors are raised.
    """
    ongoing = [_Ongoing(each) for each in exchanges]
    while requests := [request for each in ongoing for request in each.requests]:
        answers = iter(call(requests))
        for each in ongoing:
            if each.requests:
                each.advance([*islice(answers, len(each.requests))])
    return [each.result for each in ongoing]


class _Ongoing(Generic[Result]):
    """One exchange: the requests of its present step or, after the last one, its result."""

    requests: Requests
    result: Result

    def __init__(self, exchange: Exchange[Result]) -> None:
        self._exchange = exchange
        self.advance(None)

    def advance(self, answers: list[Any] | None) -> None:
        try:
            # None starts the generator.
            self.requests = self._exchange.send(answers)  # type: ignore[arg-type]
        except StopIteration as end:
            self.requests, self.result = (), end.value
