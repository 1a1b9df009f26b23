# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Choose the broker for one more replica, by rack, load and space. Pure; standard library only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from .cluster_now import ClusterNow, WantedReplicas


class Places:
    """The brokers that can get replicas, with what is planned on them."""

    def __init__(self, found: ClusterNow, wish: WantedReplicas) -> None:
        self.racks = {each.broker_id: each.rack for each in found.brokers}
        self._found = found
        self._wish = wish
        self._candidates = sorted(found.live - wish.lost_brokers)
        self._held = Counter(each for state in found.states for each in state.replicas)
        self._preferred = Counter(state.replicas[0] for state in found.states if state.replicas)

    def is_registered(self, broker_id: int) -> bool:
        """Return whether the controller accepts a target with this broker, as far as that is known."""
        return self._found.registered is None or broker_id in self._found.registered

    def hides_rack(self, broker_id: int) -> bool:
        """Return whether the rack of a broker is not known. Kafka 3.9 does not list a broker that is down."""
        is_listed = self._found.registered is not None and broker_id in self._found.registered
        return self.racks.get(broker_id) is None and not is_listed

    def take(
        self, taken: Collection[int], beside: Sequence[int], size: int, *, is_first: bool
    ) -> tuple[int | None, str]:
        """Return the broker for one more replica and reserve its space, or None and why there is none."""
        used = Counter(self.racks.get(each) for each in beside)
        free = [each for each in self._candidates if each not in taken]
        if not free:
            return None, "every living broker has a replica of it already"

        def rank(broker_id: int) -> tuple[object, ...]:
            leads = (broker_id in self._wish.deprioritized, self._preferred[broker_id]) if is_first else ()
            rack = self.racks.get(broker_id)
            # Nobody knows what a broker without a rack shares with others, so it comes after every unused rack.
            is_new_rack = rack is not None and not used[rack]
            return (not is_new_rack, used[rack], *leads, self._held[broker_id], broker_id)

        reasons: dict[int, str] = {}
        for broker_id in sorted(free, key=rank):
            reasons[broker_id] = self.reserve(broker_id, size)
            if not reasons[broker_id]:
                self._held[broker_id] += 1
                self._preferred[broker_id] += is_first
                return broker_id, ""
        why = "; ".join(f"broker {each}: {reasons[each]}" for each in free)
        return None, f"no broker without a replica has the space: {why}"

    def reserve(self, broker_id: int, size: int) -> str:
        """Reserve the space of a replica in the log directory that a live broker would choose.

        That is the one with the fewest replicas (LogManager). Return why it cannot take the replica; empty if it can.
        """
        dirs = self._found.log_dirs.get(broker_id, ())
        log_dir = min(dirs, key=lambda each: (each.replicas, each.usable_bytes), default=None)
        if log_dir is None:
            return self._found.why_no_dirs.get(broker_id, "it has no log directory that takes replicas")
        margin = log_dir.total_bytes * self._wish.space_margin_percent // 100
        if log_dir.usable_bytes - size < margin:
            return (
                f"{log_dir.path} has {log_dir.usable_bytes:,} bytes free with what is planned and still being "
                f"copied, {margin:,} must stay free, and the replica has {size:,}"
            )
        log_dir.to_come_bytes += size
        log_dir.replicas += 1
        return ""
