# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an election leaves behind, for a person to look at. Standard library only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.forecast_words import offsets
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.outcome import Outcome


class Kind(StrEnum):
    """What to look at."""

    COMMITTED_BEYOND_END = "committed_beyond_end"
    """A group committed an offset that lies beyond the new log end: it read records that are lost."""
    OPEN_TRANSACTION = "open_transaction"
    """The new leader's log holds records of a transaction, and no marker that ends it."""
    WILL_TRUNCATE = "will_truncate"
    """A replica deletes records when it follows the new leader."""
    NOT_KNOWN = "not_known"
    """A question that nobody answered."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is left behind on a recovered partition, or that could not be found out."""

    kind: Kind
    explanation: str
    topic: str | None = None
    """None where it is not about one partition."""
    partition: int | None = None


_MOST_URGENT = (Kind.COMMITTED_BEYOND_END, Kind.OPEN_TRANSACTION, Kind.NOT_KNOWN, Kind.WILL_TRUNCATE)
_MOST_NAMED = 3


def most_urgent_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """What applications suffer from already comes first: a replica that truncates is told for every partition."""
    return tuple(sorted(findings, key=lambda each: _MOST_URGENT.index(each.kind)))


def first_of(findings: Sequence[Finding], most: int) -> tuple[Finding, ...]:
    """At most so many, and where there are more, one that tells how many."""
    rest = findings[most:]
    if not rest:
        return tuple(findings)
    return (*findings[:most], Finding(rest[0].kind, f"and {len(rest)} more: the report file has all of them"))


def not_known(what: str, why: object) -> Finding:
    return Finding(Kind.NOT_KNOWN, f"{what}: not known: {why}")


def some_of(names: Sequence[object], what: str) -> str:
    """How many there are of ``what``, in the singular, and the first of them."""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    plural = "" if len(names) == 1 else "s"
    return f"{len(names)} {what}{plural} ({', '.join(map(str, names[:_MOST_NAMED]))}{more})"


def will_truncate(outcome: Outcome) -> Iterator[Finding]:
    """The replicas that hold, or may hold, what the new leader does not."""
    for loss in outcome.losses:
        if loss.broker_id != outcome.leader_after:
            continue
        for other in loss.against:
            if other.lost:
                least = "" if other.answered else "at least "
                text = f"replica {other.broker_id} deletes {least}offsets {offsets(other.lost)} when it follows"
            elif not other.answered:
                text = f"replica {other.broker_id} was silent: what it deletes when it returns is unknown"
            else:
                continue
            yield Finding(Kind.WILL_TRUNCATE, text, outcome.topic, outcome.partition)
