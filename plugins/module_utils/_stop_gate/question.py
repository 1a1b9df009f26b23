# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the question to the stop gate from its options. Pure; standard library only."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .._model.fields import INT32_MAX
from .._model.run import KafkaOpsError


@dataclass(frozen=True, slots=True)
class Question:
    """The brokers that are to stop. Each set stops together; the next set when the one before is back and in sync."""

    sets: tuple[tuple[int, ...], ...] = ()
    racks: tuple[str, ...] = ()
    """All brokers of these racks are one more set."""


class QuestionError(KafkaOpsError):
    """The options name no brokers, or something else than brokers."""


def question_of(brokers: Sequence[int], racks: Sequence[str], sets: Sequence[str]) -> Question:
    """Return the question. ``brokers`` and ``racks`` are a set each. Each of ``sets`` is one more, such as "1+2".

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
        problems.append(f"not a broker id: {', '.join(map(str, odd))}")
    if problems:
        raise QuestionError("\n".join(problems))
    return Question(tuple(tuple(sorted({*some})) for some in found), tuple(dict.fromkeys(racks)))
