# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What each replica of a partition holds, as stretches of offsets to draw. Pure; standard library only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .._model.replica_log import EpochEnd
from .._recovery.candidate import Candidate
from .._recovery.plan import Outcome

_MARGIN = 0.25
"""Of the offsets that differ, this share is drawn before the first of them."""
_MIN_MARGIN = 5


@dataclass(frozen=True, slots=True)
class Stretch:
    """Offsets of one replica from ``start`` to before ``end``."""

    replica: str
    start: int
    end: int
    epoch: int | None = None


@dataclass(frozen=True, slots=True)
class Extents:
    """The logs of one partition. All offsets lie between ``first`` and ``end``."""

    replicas: tuple[str, ...]
    """From the best to the silent ones; the elected one is marked."""
    first: int
    end: int
    is_cut: bool
    """True when all replicas hold the same before ``first``, which is not drawn."""
    held: tuple[Stretch, ...]
    lost: tuple[Stretch, ...]
    """What a replica holds and the elected one does not."""
    unknown: tuple[Stretch, ...]
    """All offsets of the replicas that were silent."""
    starts: tuple[Stretch, ...]
    """Log start offsets within the picture."""
    divergences: tuple[int, ...]
    """Offsets at which another log and that of the elected leader part."""


def extents(outcome: Outcome) -> Extents | None:
    """Return the logs of an outcome's replicas. None where no replica answered."""
    candidates = outcome.candidates
    if not candidates:
        return None
    leader = outcome.designated_leader if outcome.designated_leader is not None else candidates[0].broker_id
    names = {each.broker_id: _name(each.broker_id, leader, outcome) for each in candidates}
    silent = tuple(f"{each.broker_id} silent" for each in outcome.silent)
    against = next((each.against for each in outcome.losses if each.broker_id == leader), ())
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
    return Extents(
        (*names.values(), *silent),
        first,
        end,
        first > min(each.log_start_offset for each in candidates),
        tuple(held),
        tuple(Stretch(each.replica, max(each.start, first), each.end) for each in lost if each.end > first),
        tuple(Stretch(name, first, max(end, first + 1)) for name in silent),
        tuple(
            Stretch(names[each.broker_id], each.log_start_offset, each.log_start_offset)
            for each in candidates
            if first <= each.log_start_offset <= end
        ),
        tuple(each for each in divergences if first <= each <= end),
    )


def _name(broker_id: int, leader: int, outcome: Outcome) -> str:
    if broker_id != leader or outcome.designated_leader is None:
        return str(broker_id)
    return f"{broker_id} leader"


def _first(candidates: Sequence[Candidate], divergences: Iterable[int], lost: Iterable[int], end: int) -> int:
    """Where the picture begins: a little before the first offset at which the logs differ."""
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
