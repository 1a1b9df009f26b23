# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What preferred_leader_blacklist and preferred_election share: options, the report, and what is told of results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.arguments import Arguments
from ansible_collections.kafkaops.recovery.plugins.module_utils.leadership.blacklist import Blacklist
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition

NAMED = 10
"""Partitions that a message names. The results and the report hold all of them."""

WRITING = Arguments(
    argument_spec={
        "attempts": {"type": "int", "default": 3},
        "verify_timeout_ms": {"type": "int", "default": 30000},
    }
)


class Told(Protocol):
    """What became of one partition: of its order, or of its leader."""

    @property
    def topic_partition(self) -> TopicPartition: ...
    @property
    def status(self) -> StrEnum: ...
    @property
    def reason(self) -> str: ...


MEMORY = Arguments(
    argument_spec={
        "memory": {"type": "str", "choices": ["topic", "file"], "default": "topic"},
        "memory_topic": {"type": "str", "default": "_kafkaops_leadership"},
    }
)

Row = TypeVar("Row", bound=Told)


def most_telling(rows: Sequence[Row], max_rows: int, *duller: Collection[StrEnum]) -> list[Row]:
    """At most ``max_rows`` rows, in their order. Statuses in ``duller`` go in last, each set later than the one before.

    What a person has to look at is in none of them.
    """
    if len(rows) <= max_rows:
        return list(rows)

    def dullness(index: int) -> int:
        return next((number for number, statuses in enumerate(duller, 1) if rows[index].status in statuses), 0)

    return [rows[index] for index in sorted(sorted(range(len(rows)), key=dullness)[:max_rows])]


def summary(rows: Sequence[Told], statuses: type[StrEnum]) -> dict[str, int]:
    """How many partitions ended in each status; every status is there."""
    counts: Mapping[StrEnum, int] = Counter(row.status for row in rows)
    return {status.value: counts.get(status, 0) for status in statuses}


def named(head: str, rows: Sequence[Told]) -> str:
    """A message that names the first of the rows, each with its reason."""
    lines = [f"{row.topic_partition}: {row.status.value}: {row.reason}" for row in rows[:NAMED]]
    hidden = len(rows) - len(lines)
    return "\n  ".join([f"{head}:", *lines, *([f"and {hidden} more"] if hidden else [])])


def list_result(blacklist: Blacklist) -> dict[str, Any]:
    """The list as modules return it."""
    return {
        "brokers": list(blacklist.brokers),
        "by_topic": [{"pattern": pattern, "brokers": list(brokers)} for pattern, brokers in blacklist.by_topic.items()],
    }
