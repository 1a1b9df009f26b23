# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Partitions that ended alike, in few words: their topics, ranges of their numbers, and one reason for all. Pure.

Standard library only.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

_MAX_TOPICS = 4
"""Topics that a group names."""
_WORD = re.compile(
    r"(?P<brokers>\b(?:[Bb]rokers?|[Rr]eplicas?|electing|rank) \d+(?:(?:, | and )\d+)*)"
    r"|(?P<list>\[[\d, ]*\])"
    r"|(?P<number>(?<![\w.:/+-])\d+(?![\w:/+-]|\.\w))"
)
"""Broker ids and lists of them, and numbers that stand alone: not those in names, addresses and versions."""


class Placed(Protocol):
    """One partition."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...


class Ended(Placed, Protocol):
    """How one partition ended, and why."""

    @property
    def status(self) -> StrEnum: ...
    @property
    def reason(self) -> str: ...


@dataclass(frozen=True, slots=True)
class TopicPartitions:
    """Partitions of one topic."""

    topic: str
    partitions: str
    """Their numbers, such as "0-499, 512"."""
    count: int


@dataclass(frozen=True, slots=True)
class NamedTopics:
    """The topics of a group."""

    named: tuple[TopicPartitions, ...]
    """Those with the most partitions first; at most four."""
    more: int
    """Topics that are not named."""


@dataclass(frozen=True, slots=True)
class Alike:
    """Partitions with the same status for the same reason."""

    status: StrEnum
    partitions: int
    """How many."""
    topics: NamedTopics
    reason: str
    """Numbers that differ are given from the lowest to the highest."""


def group_by_reason(rows: Iterable[Ended]) -> tuple[Alike, ...]:
    """Group rows by status and reason, those with the most partitions first."""
    buckets: dict[tuple[StrEnum, str], list[Ended]] = defaultdict(list)
    for each in rows:
        form, _values = replace_numbers(each.reason, with_brokers=True)
        buckets[each.status, form].append(each)
    groups = [
        Alike(status, len(members), name_topics(members), common_reason([each.reason for each in members]))
        for (status, _form), members in buckets.items()
    ]
    return tuple(sorted(groups, key=lambda group: -group.partitions))


def name_topics(rows: Iterable[Placed]) -> NamedTopics:
    """Name the topics of the rows, with ranges of partitions."""
    topics: dict[str, list[int]] = defaultdict(list)
    for each in rows:
        topics[each.topic].append(each.partition)
    named = sorted(topics, key=lambda topic: (-len(topics[topic]), topic))[:_MAX_TOPICS]
    return NamedTopics(
        tuple(TopicPartitions(topic, ranges(topics[topic]), len(topics[topic])) for topic in named),
        len(topics) - len(named),
    )


def common_reason(reasons: Sequence[str]) -> str:
    """Return the most frequent of the reasons, and how many others there are. Empty reasons are left out."""
    shapes: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for each in filter(None, reasons):
        form, values = replace_numbers(each, with_brokers=False)
        shapes[form].append(values)
    if not shapes:
        return ""
    form, values_of = max(shapes.items(), key=lambda one: len(one[1]))
    rest = len(shapes) - 1
    return merge_numbers(form, values_of) + (f", and {rest} other reason{'' if rest == 1 else 's'}" if rest else "")


def ranges(numbers: Iterable[int]) -> str:
    """Return the numbers in ascending order, neighbors joined: "0-499, 512"."""
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in _joined(numbers))


def replace_numbers(text: str, *, with_brokers: bool) -> tuple[str, tuple[str, ...]]:
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


def merge_numbers(form: str, values: Sequence[tuple[str, ...]]) -> str:
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
