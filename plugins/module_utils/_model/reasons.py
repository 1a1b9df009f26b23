# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Group partitions that ended alike, with their topics, ranges of their numbers, and one reason for all. Pure.

Standard library only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Protocol

from .partition import grouped
from .reason import likeness, merge

_MAX_TOPICS = 4
"""Topics to name in a group."""
_SINGULAR = {"are": "is", "were": "was", "have": "has", "do": "does"}
_MAX_BROKERS = 20
"""Brokers to name. A person must know which ones to start, or not to start."""
_MAX_RANGES = 12
"""Ranges of numbers to name."""


class HasPartition(Protocol):
    """One partition."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...


class HasOutcome(HasPartition, Protocol):
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
    """Their numbers, for example "0-499, 512", or the first of many."""
    count: int


@dataclass(frozen=True, slots=True)
class NamedTopics:
    """The topics of a group."""

    named: tuple[TopicPartitions, ...]
    """The topics with the most partitions first, at most _MAX_TOPICS."""
    more: int
    """Number of topics that are not named."""


@dataclass(frozen=True, slots=True)
class ReasonGroup:
    """Partitions with the same status for the same reason."""

    status: StrEnum
    partitions: int
    """Number of partitions."""
    topics: NamedTopics
    reason: str
    """The reason. Numbers that differ are shown as a range."""


def group_by_reason(rows: Iterable[HasOutcome]) -> tuple[ReasonGroup, ...]:
    """Group rows by status and reason, the largest group first."""
    buckets = grouped(((each.status, likeness(each.reason, with_brokers=True)), each) for each in rows)
    groups = [
        ReasonGroup(status, len(members), name_topics(members), common_reason([each.reason for each in members]))
        for (status, _alike), members in buckets.items()
    ]
    return tuple(sorted(groups, key=lambda group: -group.partitions))


def name_topics(rows: Iterable[HasPartition]) -> NamedTopics:
    """Return the topics of the rows, with the first ranges of partitions."""
    topics = grouped((each.topic, each.partition) for each in rows)
    named = sorted(topics, key=lambda topic: (-len(topics[topic]), topic))[:_MAX_TOPICS]
    return NamedTopics(
        tuple(TopicPartitions(topic, first_ranges(topics[topic]), len(topics[topic])) for topic in named),
        len(topics) - len(named),
    )


def name_partitions(rows: Iterable[HasPartition]) -> str:
    """Name partitions by topic and ranges of numbers. The topics with the most partitions come first."""
    found = name_topics(rows)
    texts = [f"{each.topic} {each.partitions}" for each in found.named]
    return "; ".join(texts) + (f"; and {found.more} more topics" if found.more else "")


def join_first(names: Iterable[object], most: int = 5) -> str:
    """Join the first names to a text, and say how many more there are."""
    texts = [str(each) for each in names]
    more = f" and {len(texts) - most:,} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def plural(count: int, noun: str, verb: str = "") -> str:
    """Return a number, its noun and a verb: "1 partition waits", "2 partitions wait"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}" + (f" {agreeing(verb, count)}" if verb else "")


def agreeing(verb: str, count: int) -> str:
    """Return a verb, given in the plural, whose subject are so many."""
    return _SINGULAR.get(verb, f"{verb}s") if count == 1 else verb


def named(noun: str, names: Collection[object], most: int = 5) -> str:
    """Return a noun and the first of its names: "rack a", "racks a, b"."""
    return f"{noun}{'' if len(names) == 1 else 's'} {join_first(names, most)}"


def name_brokers(broker_ids: Collection[int]) -> str:
    """Return "broker 3" or "brokers 3, 4", in order of their ids, the first ones of very many."""
    return named("broker", sorted(broker_ids), _MAX_BROKERS)


def common_reason(reasons: Sequence[str]) -> str:
    """Return the most frequent reason, and the number of other reasons. Empty reasons are ignored."""
    alike = grouped((likeness(each, with_brokers=False), each) for each in reasons if each)
    if not alike:
        return ""
    rest = len(alike) - 1
    more = f", and {plural(rest, 'other reason')}" if rest else ""
    return merge(max(alike.values(), key=len)) + more


def ranges(numbers: Iterable[int]) -> str:
    """Return the numbers in ascending order as ranges: "0-499, 512"."""
    return _join_ranges(_find_ranges(numbers))


def first_ranges(numbers: Iterable[int]) -> str:
    """Return the first ranges of the numbers, and how many more numbers there are: "0, 2, 4 and 497 more"."""
    found = [*_find_ranges(numbers)]
    more = sum(last - first + 1 for first, last in found[_MAX_RANGES:])
    return _join_ranges(found[:_MAX_RANGES]) + (f" and {more:,} more" if more else "")


def _join_ranges(found: Iterable[tuple[int, int]]) -> str:
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in found)


def _find_ranges(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    # In a range, numbers grow as their positions do.
    for _distance, members in groupby(enumerate(sorted({*numbers})), lambda each: each[1] - each[0]):
        found = [number for _position, number in members]
        yield found[0], found[-1]
