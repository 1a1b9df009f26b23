# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What modules tell of many things that each ended in some way: the rows worth reading, and messages."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Protocol, TypeVar

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition

_NAMED = 10
"""Lines that a message has. The results and the report hold all of them."""


class Told(Protocol):
    """What became of one partition, of its order, or of its leader."""

    @property
    def topic_partition(self) -> TopicPartition: ...
    @property
    def status(self) -> StrEnum: ...
    @property
    def reason(self) -> str: ...


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


def named(head: str, rows: Sequence[Told]) -> str:
    """A message that names the first of the rows, each with its reason."""
    return listed(head, [line(row) for row in rows])


def line(row: Told) -> str:
    """How one ended, and why."""
    return f"{row.topic_partition}: {row.status.value}: {row.reason}"


def listed(head: str, lines: Sequence[str]) -> str:
    """A message with the first of the lines below its head."""
    more = [f"and {len(lines) - _NAMED} more"] if len(lines) > _NAMED else []
    return "\n  ".join([f"{head}:", *lines[:_NAMED], *more])
