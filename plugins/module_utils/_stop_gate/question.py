# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the question to the stop gate from its options. Pure; standard library only."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._model.fields import INT32_MAX
from .._model.run import KafkaOpsError

_MOST_MINUTES = 7 * 24 * 60
"""A ticket that is forgotten blocks every other stop for so long."""


@dataclass(frozen=True, slots=True)
class Question:
    """The brokers that are to stop. Each set stops together; the next set when the one before is back and in sync."""

    sets: tuple[tuple[int, ...], ...] = ()
    racks: tuple[str, ...] = ()
    """All brokers of these racks are one more set."""


class QuestionError(KafkaOpsError):
    """The options name no brokers, or something else than brokers."""


def question_of(
    brokers: Sequence[int], racks: Sequence[str], sets: Sequence[str], *, is_one_set: bool = False
) -> Question:
    """Return the question. ``brokers`` and ``racks`` are a set each. Each of ``sets`` is one more, such as "1+2".

    ``is_one_set`` if a ticket is for one set only.

    Raises QuestionError with every problem.
    """
    problems = []
    if not brokers and not racks and not sets:
        problems.append("name the brokers that are to stop (stop_gate_brokers=4,5) or their racks (stop_gate_racks=b)")
    if any(not each.strip() for each in racks):
        problems.append("a rack has no name")
    found = [[*brokers]] if brokers else []
    for text in sets:
        words = text.split("+")
        if all(re.fullmatch(r"\s*[0-9]{1,10}\s*", each) for each in words):
            found.append([*map(int, words)])
        else:
            problems.append(f"sets: {text!r} is not a set of broker ids, such as 1+2")
    odd = sorted({each for some in found for each in some if not 0 <= each <= INT32_MAX})
    if odd:
        problems.append(f"{', '.join(map(str, odd))}: not a broker id, which is a number from 0 to {INT32_MAX}")
    if is_one_set and len(found) + bool(racks) > 1:
        problems.append("a ticket is for one set of brokers: give stop_gate_brokers, stop_gate_racks or one set")
    if problems:
        raise QuestionError("\n".join(problems))
    return Question(tuple(tuple(sorted({*some})) for some in found), tuple(dict.fromkeys(racks)))


def check_terms(params: Mapping[str, Any]) -> None:
    """Refuse what cannot be done with a ticket. Raises QuestionError with every problem."""
    minutes, release_timeout_ms = params["minutes"], params["release_timeout_ms"]
    problems = []
    if params["take"] and params["release"]:
        problems.append(
            "stop_gate_take and stop_gate_release are both true: take the ticket first, and release it later"
        )
    if not 1 <= minutes <= _MOST_MINUTES:
        problems.append(f"stop_gate_minutes is {minutes}, which is not from 1 to {_MOST_MINUTES}")
    if release_timeout_ms < 0:
        problems.append(f"stop_gate_release_timeout_ms is {release_timeout_ms}, which is below 0")
    if problems:
        raise QuestionError("\n".join(problems))
