# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A reason as data: clauses, each with a kind, a form and values. It becomes prose where it is printed or written.

``say("its leader epoch is {now} now, and was {then} in the plan", now=7, then=5)`` returns a reason of one clause, and
``because(*reasons)`` joins reasons. Both are strings, so a reason can be used wherever a text is expected; a text
without a form is a clause too. An f-string or ``str.join`` of reasons keeps only their text: use ``because``.

Pure; standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from string import Formatter
from typing import TypeAlias

Value: TypeAlias = int | str | tuple[int, ...]
_TEXT = "{text}"
"""The form of a clause that is only text."""
_MOST_VALUES = 4
"""How many different values to name where a group of reasons has several."""


class ClauseKind(StrEnum):
    """What a clause says."""

    CAUSE = "cause"
    """Why this is the status."""
    RANK = "rank"
    """Why the replica is the best one. Candidates have it as their explanation."""
    LOSS = "loss"
    """What an election loses. Expected losses have it as their explanation."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause of a reason. Clauses with the same form differ only in their values."""

    form: str
    """The text, with a name in braces for each value."""
    values: tuple[tuple[str, Value], ...] = ()
    """By name. A name that begins with "broker" has one broker id, or a tuple of them."""
    kind: ClauseKind = ClauseKind.CAUSE

    def __str__(self) -> str:
        return _fill(self.form, {name: _in_words(name, value) for name, value in self.values})

    def like(self, *, with_brokers: bool) -> tuple[object, ...]:
        """Return what is equal for clauses that may be printed as one. Numbers and lists may always differ.

        ``with_brokers`` keeps clauses about different brokers apart.
        """
        kept = tuple(
            each for each in self.values if isinstance(each[1], str) or (with_brokers and each[0].startswith("broker"))
        )
        return self.form, kept


class Reason(str):
    """A reason: its text, and its clauses."""

    __slots__ = ("clauses",)
    clauses: tuple[Clause, ...]

    @classmethod
    def of(cls, clauses: Iterable[Clause]) -> Reason:
        kept = tuple(clauses)
        reason = cls("; ".join(map(str, kept)))
        reason.clauses = kept
        return reason


def say(form: str, /, **values: Value | Sequence[int] | None) -> Reason:
    """Return a reason of one clause. A list is shown in brackets, except one of brokers: "brokers 1, 4"."""
    return Reason.of([Clause(form, tuple((name, _plain(value)) for name, value in values.items()))])


def because(*parts: str | None) -> Reason:
    """Join reasons and texts to one reason. Empty ones are dropped."""
    return Reason.of(clause for each in parts for clause in clauses_of(each))


def as_kind(kind: ClauseKind, text: str) -> Reason:
    """Return a text as a clause of this kind."""
    return Reason.of([Clause(_TEXT, (("text", text),), kind)] if text else [])


def clauses_of(reason: str | None) -> tuple[Clause, ...]:
    """Return the clauses of a reason. A text is one clause."""
    if not reason:
        return ()
    if isinstance(reason, Reason):
        return reason.clauses
    return (Clause(_TEXT, (("text", reason),)),)


def causes_of(reason: str) -> Reason:
    """Return the reason without the clauses on rank and loss, which a group of partitions states once."""
    return Reason.of(each for each in clauses_of(reason) if each.kind is ClauseKind.CAUSE)


def likeness(reason: str, *, with_brokers: bool) -> tuple[object, ...]:
    """Return what is equal for reasons that may be printed as one. See ``Clause.like``."""
    return tuple(each.like(with_brokers=with_brokers) for each in clauses_of(reason))


def merge(reasons: Sequence[str]) -> str:
    """Return one text for reasons of the same likeness: "log end offset 15 to 340", "broker 1 or 4"."""
    texts = []
    for alike in zip(*map(clauses_of, reasons), strict=True):
        values = zip(*(each.values for each in alike), strict=True)
        texts.append(_fill(alike[0].form, {each[0][0]: _merge_values(each) for each in values}))
    return "; ".join(texts)


def _plain(value: Value | Sequence[int] | None) -> Value:
    if value is None:
        return "none"
    return value if isinstance(value, int | str) else tuple(value)


def _in_words(name: str, value: Value) -> str:
    if not isinstance(value, tuple):
        return str(value)
    listed = ", ".join(map(str, value))
    return f"broker{'' if len(value) == 1 else 's'} {listed}" if name.startswith("broker") else f"[{listed}]"


def _merge_values(named: Sequence[tuple[str, Value]]) -> str:
    name = named[0][0]
    different = [*dict.fromkeys(value for _name, value in named)]
    numbers = [each for each in different if isinstance(each, int)]
    if len(different) == 1:
        return _in_words(name, different[0])
    if len(numbers) == len(different) and not name.startswith("broker"):
        return f"{min(numbers)} to {max(numbers)}"
    words = [_in_words(name, each) for each in different]
    if len(different) > _MOST_VALUES:
        return f"{words[0]} or {len(different) - 1:,} others"
    # "broker 1" and "broker 4" become "broker 1 or 4".
    return " or ".join([words[0], *(each.removeprefix("brokers ").removeprefix("broker ") for each in words[1:])])


def _fill(form: str, words: dict[str, str]) -> str:
    return "".join(literal + (words[name] if name is not None else "") for literal, name in _pieces(form))


@lru_cache(maxsize=1024)
def _pieces(form: str) -> tuple[tuple[str, str | None], ...]:
    return tuple((literal, name) for literal, name, _spec, _conversion in Formatter().parse(form))
