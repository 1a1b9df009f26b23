# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Exchanges with one broker that advance together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.lockstep import Exchange, in_lockstep


def _exchange(name: str, *steps: int) -> Exchange[list[str]]:
    """Send this number of requests in each step, and return all answers."""
    answers: list[str] = []
    for number, requests in enumerate(steps):
        sent: Any = [f"{name}{number}"] * requests
        answers += yield sent
    return answers


def test_the_requests_of_each_step_are_sent_together() -> None:
    calls: list[list[str]] = []

    def call(requests: Sequence[Any]) -> list[str]:
        calls.append([*requests])
        return [f"answer to {each}" for each in requests]

    results = in_lockstep(call, [_exchange("a", 1, 2), _exchange("b"), _exchange("c", 2, 1, 1)])
    assert calls == [["a0", "c0", "c0"], ["a1", "a1", "c1"], ["c2"]]
    assert results == [
        ["answer to a0", "answer to a1", "answer to a1"],
        [],
        ["answer to c0", "answer to c0", "answer to c1", "answer to c2"],
    ]


def test_nothing_is_sent_for_no_exchanges() -> None:
    assert in_lockstep(lambda _requests: pytest.fail("nothing to send"), []) == []


def test_an_error_of_a_call_is_raised() -> None:
    def fail(_requests: Sequence[Any]) -> list[Any]:
        raise OSError("broken")

    with pytest.raises(OSError, match="broken"):
        in_lockstep(fail, [_exchange("a", 1)])
