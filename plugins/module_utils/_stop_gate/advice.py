# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the smallest change that makes a no a yes, and an order of waves in which all brokers can stop. Pure.

Standard library only. Both rest on leaders, in-sync replicas and the quorum. Log ends differ from moment to moment, so
only the gate right before a wave compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

from .._model.fields import BrokerId
from .._model.partition import Broker, grouped
from .._model.stop_prediction import ClusterView, predict_stop

_MOST_TRIALS = 500
"""Sets to try before brokers are left out one by one."""

Bears = Callable[[Collection[int]], bool]
"""Whether the quorum bears the stop of these nodes, and a broker stays up."""


@dataclass(frozen=True, slots=True)
class Wave:
    """Brokers that can stop together."""

    rack: str | None
    """None if they have no rack."""
    brokers: tuple[BrokerId, ...]


def largest_allowed(view: ClusterView, wanted: Collection[int], bears: Bears) -> tuple[int, ...]:
    """Return the largest part of a set of live brokers that may stop together, or all. Empty if none of them may.

    Every part is tried as long as that is at most _MOST_TRIALS parts; then brokers are added one by one.
    """
    conflicts = _find_conflicts(view, wanted)
    able = [each for each in wanted if frozenset({each}) not in conflicts]
    trials = 0
    for size in range(len(able), 0, -1):
        for some in combinations(able, size):
            if trials == _MOST_TRIALS:
                return _add_one_by_one(view, able, bears)
            trials += 1
            if bears(some) and not any(each.issubset(some) for each in conflicts):
                return some
    return ()


def _find_conflicts(view: ClusterView, wanted: Collection[int]) -> set[frozenset[int]]:
    """Return sets of live brokers that must not stop together, by leaders and in-sync replicas, and no larger ones.

    A set that has none of them may stop. One partition decides by its own replicas, and each further broker that stops
    makes it worse or changes nothing. So many parts are judged at the cost of a few predictions of all partitions.
    """
    found: set[frozenset[int]] = set()
    for state in view.touched_by({*wanted}):
        here = [each for each in wanted if each in state.replicas and each not in state.offline_replicas]
        for size in range(1, len(here) + 1):
            for some in map(frozenset, combinations(here, size)):
                is_known = any(each <= some for each in found)
                if not is_known and predict_stop(view, some, [state]).effects:
                    found.add(some)
    return found


def plan_waves(view: ClusterView, bears: Bears, last: Collection[int] = ()) -> tuple[tuple[Wave, ...], tuple[int, ...]]:
    """Return waves in which all live brokers can stop, one wave after the other, and brokers that are in no wave.

    The brokers of a wave are of one rack, because an outage of the rack must be borne anyway. Before each wave, those
    of the last one must be back and in sync. Racks with brokers in ``last`` come last, for example the quorum's leader.
    """
    waves: list[Wave] = []
    left_out: list[int] = []
    for rack, brokers in _by_rack(view.brokers, view.live, last):
        left = [*brokers]
        while left:
            wave = _add_one_by_one(view, left, bears)
            if not wave:
                left_out += left
                break
            waves.append(Wave(rack, wave))
            left = [each for each in left if each not in wave]
    return tuple(waves), tuple(sorted(left_out))


def _add_one_by_one(view: ClusterView, wanted: Iterable[int], bears: Bears) -> tuple[int, ...]:
    chosen: list[int] = []
    for broker_id in wanted:
        # Only the partitions of this broker can be worse than without it.
        some = [*chosen, broker_id]
        if bears(some) and not predict_stop(view, some, view.by_broker.get(broker_id, ())).effects:
            chosen = some
    return tuple(chosen)


def _by_rack(
    brokers: Iterable[Broker], live: Collection[int], last: Collection[int]
) -> Iterator[tuple[str | None, list[int]]]:
    racks = grouped((each.rack, each.broker_id) for each in brokers if each.broker_id in live)
    for rack in sorted(racks, key=lambda name: (not {*last}.isdisjoint(racks[name]), name is None, name or "")):
        yield rack, sorted(racks[rack], key=lambda each: (each in last, each))
