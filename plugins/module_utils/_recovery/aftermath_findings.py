# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Make findings on what elections leave behind, and sort and limit them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .._model.partition import TopicPartition
from .._model.reasons import join_first, plural
from .outcome import AftermathFinding, AftermathKind

_MOST_NAMED = 3
_MOST_URGENT = (
    AftermathKind.NOT_WRITABLE,
    AftermathKind.COMMITTED_BEYOND_END,
    AftermathKind.COMMITTED_BEFORE_START,
    AftermathKind.OPEN_TRANSACTION,
    AftermathKind.STATE_LOST,
    AftermathKind.NOT_KNOWN,
    AftermathKind.WILL_TRUNCATE,
    AftermathKind.DROPPED,
)


def partition_finding(kind: AftermathKind, explanation: str, about: TopicPartition) -> AftermathFinding:
    return AftermathFinding(kind=kind, topic=about.topic, partition=about.partition, explanation=explanation)


def unknown_finding(what: str, why: object) -> AftermathFinding:
    return AftermathFinding(kind=AftermathKind.NOT_KNOWN, explanation=f"{what}: not known: {why}")


def count_and_name(names: Sequence[object], what: str) -> str:
    """Return the number of names and the first of them as text. ``what`` is the noun in the singular."""
    return f"{plural(len(names), what)} ({join_first(names, _MOST_NAMED)})"


def sort_by_urgency(findings: Iterable[AftermathFinding]) -> tuple[AftermathFinding, ...]:
    """Sort the findings: first those that affect applications now, last replicas that will truncate."""
    return tuple(sorted(findings, key=lambda each: _MOST_URGENT.index(each.kind)))


def limit_findings(findings: Sequence[AftermathFinding], most: int) -> tuple[AftermathFinding, ...]:
    """Return the first findings; if there are more than ``most``, add a finding with the number of the others."""
    rest = findings[most:]
    if not rest:
        return tuple(findings)
    return (
        *findings[:most],
        AftermathFinding(kind=rest[0].kind, explanation=f"and {len(rest)} more: the report file has all of them"),
    )
