# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The config min.insync.replicas of a topic, of brokers and of a cluster, in memory. It changes at random."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.metadata_history import (
    ConfigKey,
    ConfigMoment,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import MIN_ISR
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import BROKER_RESOURCE, TOPIC_RESOURCE

_TOPIC, _CLUSTER = ConfigKey(TOPIC_RESOURCE, "orders", MIN_ISR), ConfigKey(BROKER_RESOURCE, "", MIN_ISR)
_OF_PROPERTIES = 1
_LONGEST_LAG_MS = 200_000


class FakeMinIsr:
    """All values over time. It begins with 2, at one level."""

    def __init__(
        self, rng: random.Random, at_ms: int, created_ms: int, brokers: Sequence[int], *, of_brokers: bool
    ) -> None:
        """``of_brokers``: brokers may have values of their own. They may not with ELR."""
        self._rng = rng
        self._created_ms = created_ms
        self._of_brokers = [_of_broker(each) for each in brokers] if of_brokers else []
        self._lag_ms = rng.randint(0, _LONGEST_LAG_MS)
        """So late are leaders with a changed value."""
        self._moments: dict[ConfigKey, list[ConfigMoment]] = {}
        first = rng.choice([[_TOPIC], [_TOPIC], [_CLUSTER], self._of_brokers or [_CLUSTER]])
        for each in first:
            self._moments[each] = [ConfigMoment(at_ms, "2")]

    def change(self, at_ms: int) -> None:
        key = self._rng.choice([_TOPIC, _CLUSTER, *self._of_brokers])
        self._moments.setdefault(key, []).append(ConfigMoment(at_ms, self._rng.choice(["1", "2", "2", "3", None])))

    def least_of_leader(self, leader_id: int, known_ms: int, now_ms: int) -> int:
        """Return the smallest value that this leader may use now.

        ``known_ms``: the time of the newest ISR that it knows. A broker applies metadata in the order of the log.
        """
        since = max(now_ms - self._lag_ms, known_ms, self._created_ms)
        changes = [each.at_ms for found in self._moments.values() for each in found if since < each.at_ms <= now_ms]
        return min(self._value([_TOPIC, _of_broker(leader_id), _CLUSTER], each) for each in (since, *changes))

    def of_controller(self, now_ms: int) -> int:
        return self._value([_TOPIC, _CLUSTER], now_ms)

    def moments(self, cut_ms: int | None) -> Mapping[ConfigKey, tuple[ConfigMoment, ...]]:
        """Return what the metadata log says, or what is left of it after a snapshot."""
        if cut_ms is None:
            return {key: tuple(found) for key, found in self._moments.items()}
        left: dict[ConfigKey, tuple[ConfigMoment, ...]] = {}
        for key, found in self._moments.items():
            base = [each for each in found if each.at_ms <= cut_ms][-1:]
            kept = [ConfigMoment(cut_ms, each.value, is_change=False) for each in base if each.value is not None]
            moments = (*kept, *(each for each in found if each.at_ms > cut_ms))
            left |= {key: moments} if moments else {}
        return left

    def _value(self, levels: Sequence[ConfigKey], at_ms: int) -> int:
        for key in levels:
            value = next((each.value for each in reversed(self._moments.get(key, [])) if each.at_ms <= at_ms), None)
            if value is not None:
                return int(value)
        return _OF_PROPERTIES


def _of_broker(broker_id: int) -> ConfigKey:
    return ConfigKey(BROKER_RESOURCE, str(broker_id), MIN_ISR)
