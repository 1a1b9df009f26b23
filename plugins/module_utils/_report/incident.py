# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Merge the outcomes of all runs of one incident, so that each partition has one. Pure; standard library only.

An incident is rarely one run: a run is stopped, and the next one finds most partitions online.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, TypeAlias

from .._model.partition import TopicPartition, grouped
from .._model.reason import because, say
from .._recovery.outcome import Outcome
from .._recovery.plan import Status

_DOUBTFUL = frozenset({Status.FAILED, Status.UNKNOWN})
_Election: TypeAlias = "tuple[TopicPartition, str | None, int | None]"


@dataclass(frozen=True, slots=True)
class Incident:
    """What became of each partition that any plan or run names."""

    outcomes: tuple[Outcome, ...]
    """One for each partition, in order of topic, then partition."""
    earlier: tuple[Outcome, ...]
    """Elections of earlier runs whose partitions a later run found without a leader, or had to elect once more.

    Their losses are as real as those of ``outcomes``, and do not count there.
    """


def merge_outcomes(looks: Iterable[Sequence[Outcome]]) -> Incident:
    """Return the outcomes of all plans and runs, which are given in order of time.

    The last outcome of a partition wins. A partition that a run elected, and that a later run finds online, stays
    recovered. An election that a run could not verify counts as done if a later run sees its leader.
    """
    latest: dict[TopicPartition, Outcome] = {}
    elections: dict[_Election, Outcome] = {}
    for outcomes in looks:
        for each in outcomes:
            merged = _join(latest.get(each.topic_partition), each)
            latest[each.topic_partition] = merged
            if merged.status is Status.RECOVERED:
                elections[_identify(merged)] = merged
    counted = {_identify(each) for each in latest.values() if each.status is Status.RECOVERED}
    return Incident(
        tuple(latest[each] for each in sorted(latest)),
        tuple(each for identity, each in elections.items() if identity not in counted),
    )


def merge_aftermath(reports: Iterable[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return what all runs left behind, in order of time. A later finding of the same kind and partition wins."""
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for findings in reports:
        found |= grouped(((each["kind"], each["topic"], each["partition"]), each) for each in findings)
    return [*chain.from_iterable(found.values())]


def _identify(outcome: Outcome) -> _Election:
    """Return what tells one election from another. Two copies of one report have the same elections."""
    return outcome.topic_partition, outcome.topic_id, outcome.leader_epoch_before


def _join(before: Outcome | None, after: Outcome) -> Outcome:
    if before is None or after.status is not Status.ALREADY_ONLINE or _is_other_topic(before, after):
        return after
    if before.status is Status.RECOVERED:
        return _with_leader_of(after, before)
    planned = before.designated_leader
    if before.status in _DOUBTFUL and planned is not None and planned == after.leader_after:
        form = "broker {broker} leads it, as planned: a later run saw it"
        reason = because(say(form, broker=after.leader_after), before.reason)
        return _with_leader_of(
            after, replace(before, status=Status.RECOVERED, reason=reason, refused_by=None, cause=None)
        )
    seen_first = replace(
        after,
        leader_before=before.leader_before,
        leader_epoch_before=before.leader_epoch_before,
        isr=before.isr,
        elr=before.elr,
        last_known_elr=before.last_known_elr,
    )
    if after.candidates:
        return seen_first
    return replace(
        seen_first,
        designated_leader=before.designated_leader if after.designated_leader is None else after.designated_leader,
        candidates=before.candidates,
        silent=before.silent,
        losses=before.losses,
    )


def _is_other_topic(before: Outcome, after: Outcome) -> bool:
    return None not in (before.topic_id, after.topic_id) and before.topic_id != after.topic_id


def _with_leader_of(after: Outcome, before: Outcome) -> Outcome:
    return replace(
        before,
        leader_after=after.leader_after,
        leader_epoch_after=after.leader_epoch_after,
        replicas_after=before.replicas_after if after.replicas_after is None else after.replicas_after,
    )
