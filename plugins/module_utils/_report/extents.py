# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compute the stretches of offsets to draw for each replica of a partition. Pure; standard library only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .._model.log_contents import EpochRange
from .._model.partition import NO_LEADER, EpochEnd
from .._recovery.candidate import Candidate
from .._recovery.expected_loss import ExpectedLoss
from .._recovery.groups import ELECTED
from .._recovery.outcome import Outcome
from .._recovery.plan import Status

_MARGIN = 0.25
"""The picture begins before the first differing offset, by this share of the differing offsets."""
_MIN_MARGIN = 5


@dataclass(frozen=True, slots=True)
class Stretch:
    """Offsets of one replica from ``start`` to before ``end``."""

    replica: str
    start: int
    end: int
    epoch: int | None = None


@dataclass(frozen=True, slots=True)
class Saved:
    """Saved offsets of one partition, and the brokers that the salvage read from."""

    broker_ids: tuple[int, ...]
    range: EpochRange


@dataclass(frozen=True, slots=True)
class Extents:
    """The logs of one partition. All offsets lie between ``first`` and ``end``."""

    replicas: tuple[str, ...]
    """Names by rank, then the silent replicas. The elected one is marked."""
    first: int
    end: int
    is_cut: bool
    """True if the picture leaves out offsets before ``first``, which are the same in all logs."""
    held: tuple[Stretch, ...]
    lost: tuple[Stretch, ...]
    """Offsets that a replica holds and the elected one lacks."""
    unknown: tuple[Stretch, ...]
    """All offsets of the silent replicas."""
    saved: tuple[Stretch, ...]
    """Saved offsets of a replica, from its broker or, if it was silent, from its disk."""
    starts: tuple[Stretch, ...]
    """Log start offsets within the picture."""
    divergences: tuple[int, ...]
    """Offsets at which another log diverges from the elected leader's log."""


def find_leading_broker(outcome: Outcome) -> int | None:
    """Return the broker whose log the other logs are compared with: the one that leads, would lead, or is best.

    It is the elected leader of a partition that this collection recovered, also if another broker leads it now.
    """
    if outcome.status in ELECTED or outcome.leader_after is None or outcome.leader_after == NO_LEADER:
        return outcome.best_broker
    return outcome.leader_after


def find_leaders_loss(outcome: Outcome) -> ExpectedLoss | None:
    """Return what electing the leading broker loses. None if that is unknown, and if there was no election."""
    return None if outcome.status is Status.ALREADY_ONLINE else outcome.loss_of(find_leading_broker(outcome))


def describe_other_leader(outcome: Outcome) -> str:
    """Return a clause if another broker leads than the planned one; else an empty string."""
    wanted, leader = outcome.designated_leader, outcome.leader_after
    if wanted is None or leader is None or leader in (wanted, NO_LEADER) or outcome.status is Status.WOULD_RECOVER:
        return ""
    if outcome.status is Status.RECOVERED:
        return f"broker {wanted} was elected, broker {leader} leads now"
    return f"plan wanted {wanted}, broker {leader} leads"


def compute_extents(outcome: Outcome, salvages: Sequence[Saved] = ()) -> Extents | None:
    """Return the logs of an outcome's replicas with their saved offsets. None if no replica answered."""
    candidates, leader = outcome.candidates, find_leading_broker(outcome)
    if not candidates or leader is None:
        return None
    names = {each.broker_id: _name(each.broker_id, leader, outcome) for each in candidates}
    silent = {each.broker_id: f"{_name(each.broker_id, leader, outcome)} silent" for each in outcome.silent}
    loss = find_leaders_loss(outcome)
    against = () if loss is None else loss.against
    lost = [
        Stretch(names[each.broker_id], one.start_offset, one.end_offset)
        for each in against
        if each.answered and each.broker_id in names
        for one in each.lost or ()
    ]
    divergences = sorted({e.divergence_offset for e in against if e.answered and e.divergence_offset and e.lost})
    end = max(each.log_end_offset for each in candidates)
    first = _first(candidates, divergences, [each.start for each in lost], end)
    held = [piece for each in candidates for piece in _pieces(names[each.broker_id], each, first)]
    others = {broker_id: name for broker_id, name in names.items() if broker_id != leader}
    saved = [
        *(piece for each in held if each.replica in others.values() for piece in _find_saved(each, others, salvages)),
        *(
            Stretch(silent[broker_id], max(each.range.start_offset, first), each.range.end_offset, each.range.epoch)
            for each in salvages
            for broker_id in each.broker_ids
            if broker_id in silent and each.range.end_offset > first
        ),
    ]
    # A disk may hold higher offsets than all replicas that answered.
    end = max(end, *(each.end for each in saved)) if saved else end
    return Extents(
        (*names.values(), *silent.values()),
        first,
        end,
        first > min(each.log_start_offset for each in candidates),
        tuple(held),
        tuple(Stretch(each.replica, max(each.start, first), each.end) for each in lost if each.end > first),
        tuple(Stretch(name, first, max(end, first + 1)) for name in silent.values()),
        tuple(saved),
        tuple(
            Stretch(names[each.broker_id], each.log_start_offset, each.log_start_offset)
            for each in candidates
            if first <= each.log_start_offset <= end
        ),
        tuple(each for each in divergences if first <= each <= end),
    )


def _find_saved(held: Stretch, names: Mapping[int, str], salvages: Sequence[Saved]) -> Iterator[Stretch]:
    """Yield the saved parts of one stretch of a replica that answered."""
    for each in salvages:
        start, end = max(held.start, each.range.start_offset), min(held.end, each.range.end_offset)
        is_from_replica = held.replica in (names.get(broker_id) for broker_id in each.broker_ids)
        if is_from_replica and held.epoch == each.range.epoch and start < end:
            yield Stretch(held.replica, start, end, held.epoch)


def _name(broker_id: int, leader: int, outcome: Outcome) -> str:
    is_led = outcome.designated_leader is not None or leader == outcome.leader_after
    if broker_id != leader or not is_led:
        return str(broker_id)
    return f"{broker_id} leader"


def _first(candidates: Sequence[Candidate], divergences: Iterable[int], lost: Iterable[int], end: int) -> int:
    """Return the first offset of the picture: a little before the first offset at which the logs differ."""
    starts = {each.log_start_offset for each in candidates}
    differing = {*divergences, *lost}
    for offsets in (starts, {each.log_end_offset for each in candidates}):
        if len(offsets) > 1:
            differing |= offsets
    if not differing:
        return min(starts)
    margin = max(_MIN_MARGIN, round((end - min(differing)) * _MARGIN))
    return max(min(starts), min(differing) - margin)


def _pieces(name: str, candidate: Candidate, first: int) -> Iterable[Stretch]:
    start = candidate.log_start_offset
    lineage: Sequence[EpochEnd] = candidate.lineage
    for each in lineage:
        if each.end_offset > max(start, first):
            yield Stretch(name, max(start, first), each.end_offset, each.epoch)
        start = max(start, each.end_offset)
    if candidate.log_end_offset > max(start, first):
        yield Stretch(name, max(start, first), candidate.log_end_offset, None)
