# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Partitions that ended alike, named by their topics and ranges. Pure; standard library only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from .ranges import merged, ranges, shape

_MAX_TOPICS = 4
"""Topics that a group names."""


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


def alike(rows: Iterable[Ended]) -> tuple[Alike, ...]:
    """Group rows by status and reason, those with the most partitions first."""
    buckets: dict[tuple[StrEnum, str], list[Ended]] = defaultdict(list)
    for each in rows:
        form, _values = shape(each.reason, with_brokers=True)
        buckets[each.status, form].append(each)
    groups = [
        Alike(status, len(members), named_topics(members), common([each.reason for each in members]))
        for (status, _form), members in buckets.items()
    ]
    return tuple(sorted(groups, key=lambda group: -group.partitions))


def named_topics(rows: Iterable[Placed]) -> NamedTopics:
    """Name the topics of the rows, with ranges of partitions."""
    topics: dict[str, list[int]] = defaultdict(list)
    for each in rows:
        topics[each.topic].append(each.partition)
    named = sorted(topics, key=lambda topic: (-len(topics[topic]), topic))[:_MAX_TOPICS]
    return NamedTopics(
        tuple(TopicPartitions(topic, ranges(topics[topic]), len(topics[topic])) for topic in named),
        len(topics) - len(named),
    )


def common(reasons: Sequence[str]) -> str:
    """Return the most frequent of the reasons, and how many others there are. Empty reasons are left out."""
    shapes: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for each in filter(None, reasons):
        form, values = shape(each, with_brokers=False)
        shapes[form].append(values)
    if not shapes:
        return ""
    form, values_of = max(shapes.items(), key=lambda one: len(one[1]))
    rest = len(shapes) - 1
    return merged(form, values_of) + (f", and {rest} other reason{'' if rest == 1 else 's'}" if rest else "")
