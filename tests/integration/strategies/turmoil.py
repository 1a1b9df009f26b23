# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Stop brokers in every way, start them again, and read every partition's state from each live broker."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.partitions import describe_partitions
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import (
    Address,
    ConnectionSettings,
    settings_from,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import PartitionState, TopicPartition
from lab import Cluster, settings, wait_until

_TIMEOUT_S = 90.0
_BETWEEN_LEAVES_S = 1.0
_STEADY_S = 0.3

States = dict[TopicPartition, PartitionState]


class Way(StrEnum):
    """How a broker was stopped."""

    KILLED = "killed"
    STOPPED = "stopped"
    """By a controlled shutdown."""
    FROZEN = "frozen"


@dataclass
class Turmoil:
    """A cluster with some stopped brokers."""

    cluster: Cluster
    topics: tuple[str, ...]
    away: dict[int, Way] = field(default_factory=dict)

    def leave(self, rng: random.Random) -> States:
        """Stop all brokers except one, each in a random way, one after the other. Returns the states of the partitions.

        The controller learns of them one by one, so that the last of each partition is another one than of its
        neighbors.
        """
        leaving = rng.sample(sorted(self.cluster.brokers), len(self.cluster.brokers) - 1)
        for broker, way in zip(leaving, rng.choices(list(Way), k=len(leaving)), strict=True):
            node = self.cluster.brokers[broker]
            {Way.KILLED: node.kill, Way.STOPPED: node.stop, Way.FROZEN: node.freeze}[way]()
            self.away[broker] = way
            # Only a pause: some brokers stop before the controller notices the previous one.
            time.sleep(_BETWEEN_LEAVES_S)
        return self.states()

    def come_back(self, broker: int) -> States:
        """Return the partitions after the controller has handled the broker's return."""
        node = self.cluster.brokers[broker]
        if self.away.pop(broker) is Way.FROZEN:
            node.thaw()
        else:
            node.start()
        return self.states()

    def states(self, orders: Mapping[TopicPartition, tuple[int, ...]] | None = None) -> States:
        """Return every partition, when all live brokers agree on all, know the stopped brokers, and stay in agreement.

        And have these ``orders``: what was asked for last is seen last.
        """
        seen: States = {}
        since = time.monotonic()

        def is_ordered(states: States) -> bool:
            return all(states[each].replicas == order for each, order in (orders or {}).items())

        def steady() -> bool:
            nonlocal seen, since
            views = [self._view(each.node_id) for each in self.cluster.live_brokers]
            if any(each != seen for each in views) or not self._knows_who_is_away(seen) or not is_ordered(seen):
                seen, since = views[0], time.monotonic()
                return False
            return time.monotonic() - since >= _STEADY_S

        wait_until(steady, _TIMEOUT_S, what=f"all live brokers know that {self.away} are away", interval=0.05)
        return seen

    def connection(self, broker: int) -> ConnectionSettings:
        """Send the request to one broker only."""
        return settings_from({"bootstrap_servers": str(self.address(broker)), "request_timeout_ms": 20_000})

    def address(self, broker: int) -> Address:
        node = self.cluster.brokers[broker]
        return Address(node.host, node.ports[settings.INTERNAL])

    def _view(self, broker: int) -> States:
        with Wire(self.connection(broker)) as wire:
            return {each.topic_partition: each for each in describe_partitions(wire, self.topics).partitions}

    def _knows_who_is_away(self, states: States) -> bool:
        return bool(states) and all(
            set(each.offline_replicas) == set(each.replicas) & self.away.keys() for each in states.values()
        )
