# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Many numbers in few words, such as partitions "0-499, 512". Standard library only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

_WORD = re.compile(
    r"(?P<brokers>\b(?:[Bb]rokers?|[Rr]eplicas?|electing|rank) \d+(?:(?:, | and )\d+)*)"
    r"|(?P<list>\[[\d, ]*\])"
    r"|(?P<number>(?<![\w.:/+-])\d+(?![\w:/+-]|\.\w))"
)
"""Broker ids and lists of them, and numbers that stand alone: not those in names, addresses and versions."""


def ranges(numbers: Iterable[int]) -> str:
    """Return the numbers in ascending order, neighbors joined: "0-499, 512"."""
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in _joined(numbers))


def shape(text: str, *, with_brokers: bool) -> tuple[str, tuple[str, ...]]:
    """Return the text with a placeholder for each number, and the numbers as they stand in the text.

    Two reasons with the same shape say the same about different offsets. With ``with_brokers`` the broker ids stay in
    the shape, so that texts about different brokers have different shapes.
    """
    found: list[str] = []

    def keep_or_take(match: re.Match[str]) -> str:
        if match["number"] is None and with_brokers:
            return match[0]
        found.append(match[0])
        return "\0"

    return _WORD.sub(keep_or_take, text), tuple(found)


def merged(form: str, values: Sequence[tuple[str, ...]]) -> str:
    """Return the text of a shape for all its values: "log end offset 15 to 340"."""
    slots = iter([_range(each) for each in zip(*values, strict=True)])
    return re.sub("\0", lambda _match: next(slots), form)


def _range(words: Sequence[str]) -> str:
    different = list(dict.fromkeys(words))
    if len(different) == 1:
        return different[0]
    if all(each.isdigit() for each in different):
        numbers = [int(each) for each in different]
        return f"{min(numbers)} to {max(numbers)}"
    # Broker ids: "broker 1", "broker 4" become "broker 1 or 4"; of more than a few, only how many there are.
    most = 4
    if len(different) > most:
        return f"{different[0]} or {len(different) - 1} others"
    return " or ".join([different[0], *(each.rpartition(" ")[2] for each in different[1:])])


def _joined(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    first = last = None
    for each in sorted(set(numbers)):
        if first is None or last is None:
            first = last = each
        elif each == last + 1:
            last = each
        else:
            yield first, last
            first = last = each
    if first is not None and last is not None:
        yield first, last
