# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A partition of three brokers in memory, to which random things happen, and of which every record is known.

Its controller does what Kafka's does without ELR: it fences a broker some time after the broker died, never empties the
ISR, and elects members of the ISR. A host that loses power loses what was not synced to its disk.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.metadata_history import (
    TOPIC_RESOURCE,
    BrokerChange,
    BrokerMoment,
    ConfigKey,
    ConfigMoment,
    MetadataHistory,
    PartitionHistory,
    PartitionMoment,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    MIN_ISR,
    NO_LEADER,
    TopicPartition,
)

ORDERS = TopicPartition("orders", 0)
REPLICAS = (1, 2, 3)
MIN_IN_SYNC = 2
_BEGUN_MS = 1_000_000
_MOST = 75
"""So many things happen at most."""


class FakePartition:
    """The partition, its logs, and what the metadata log says of it."""

    def __init__(self, rng: random.Random) -> None:
        self.now_ms = _BEGUN_MS
        self.logs: dict[int, list[int]] = {each: [] for each in REPLICAS}
        self.acknowledged: set[int] = set()
        """Records that were acknowledged with acks=all."""
        self._rng = rng
        self._written = self._epoch = 0
        self._synced = dict.fromkeys(REPLICAS, 0)
        self._dead: set[int] = set()
        self._cut_off: set[int] = set()
        self._fenced: set[int] = set()
        self._disks = {each: f"disk of {each}" for each in REPLICAS}
        self._moments: list[PartitionMoment] = []
        self._brokers: dict[int, list[BrokerMoment]] = {each: [] for each in REPLICAS}
        for each in REPLICAS:
            self._register(each)
        self._leader, self._isr = 1, [*REPLICAS]
        self._note()

    def break_down(self) -> bool:
        """Let things happen until the partition has no leader and a broker runs. Return whether it came to that."""
        happenings: Sequence[Callable[[], None]] = (
            *[self._produce] * 6,
            *[self._sync] * 2,
            *[self._die] * 2,
            self._cut_one_off,
            *[self._return] * 3,
            *[self._catch_up] * 3,
            self._elect_unclean,
        )
        least = self._rng.randint(8, 45)
        for number in range(_MOST):
            if number >= least and self._leader == NO_LEADER and self.survivors:
                return True
            self.now_ms += self._rng.randint(10, 60_000)
            self._rng.choice(happenings)()
        return False

    @property
    def survivors(self) -> list[int]:
        return [each for each in REPLICAS if self._runs(each)]

    def missing(self, broker_id: int) -> set[int]:
        """Return the acknowledged records that this replica lacks and another one has."""
        return (self.acknowledged & {record for log in self.logs.values() for record in log}) - {*self.logs[broker_id]}

    def history(self) -> MetadataHistory:
        return MetadataHistory(
            _BEGUN_MS,
            self.now_ms + 10,
            {ORDERS: PartitionHistory(tuple(self._moments), begins_with_creation=True)},
            {each: tuple(moments) for each, moments in self._brokers.items()},
            {ConfigKey(TOPIC_RESOURCE, ORDERS.topic, MIN_ISR): (ConfigMoment(_BEGUN_MS, str(MIN_IN_SYNC)),)},
            has_base=True,
            begins_at_start=True,
        )

    def _runs(self, broker_id: int) -> bool:
        return broker_id in REPLICAS and broker_id not in self._dead | self._fenced | self._cut_off

    def _note(self, *, unclean: bool = False) -> None:
        self.now_ms += 1
        self._moments.append(PartitionMoment(self.now_ms, self._leader, tuple(self._isr), (), REPLICAS, unclean, True))

    def _say(self, broker_id: int, change: BrokerChange, directories: tuple[str, ...] = ()) -> None:
        self.now_ms += 1
        self._brokers[broker_id].append(BrokerMoment(self.now_ms, change, self._epoch, directories))

    def _register(self, broker_id: int) -> None:
        self._epoch += 1
        self._say(broker_id, BrokerChange.REGISTERED, (self._disks[broker_id],))
        self._say(broker_id, BrokerChange.UNFENCED)

    def _follow(self, followers: Sequence[int] = REPLICAS) -> None:
        """Let these brokers copy the leader's log, and delete what it does not have."""
        if not self._runs(self._leader):
            return
        log = self.logs[self._leader]
        for each in followers:
            if each != self._leader and self._runs(each):
                own = self.logs[each]
                shared = next((at for at, (a, b) in enumerate(zip(log, own, strict=False)) if a != b), len(own))
                self._synced[each] = min(self._synced[each], shared)
                self.logs[each] = [*log]

    def _produce(self) -> None:
        if self._leader == NO_LEADER or self._leader in self._dead:
            return
        self._written += 1
        self.logs[self._leader].append(self._written)
        self._follow(self._isr)
        if all(self._runs(each) for each in self._isr) and len(self._isr) >= MIN_IN_SYNC:
            self.acknowledged.add(self._written)

    def _sync(self) -> None:
        broker_id = self._rng.choice(REPLICAS)
        if broker_id not in self._dead:
            self._synced[broker_id] = len(self.logs[broker_id])

    def _die(self) -> None:
        """Stop one broker or two at once, of which the controller takes notice one by one."""
        alive = sorted({*REPLICAS} - self._dead)
        dying = self._rng.sample(alive, min(len(alive), self._rng.choice((1, 1, 1, 2))))
        how = self._rng.choice(("kill", "power", "stop", "stop"))
        for each in dying:
            self._dead.add(each)
            self._cut_off.discard(each)
            log = self.logs[each]
            if how == "power":
                self.logs[each] = log[: self._rng.randint(min(self._synced[each], len(log)), len(log))]
            elif how == "stop":
                self._synced[each] = len(log)
        for each in dying:
            self.now_ms += self._rng.randint(10, 5_000)
            if how == "stop":
                self._say(each, BrokerChange.SHUTTING_DOWN)
            self._fence(each)
            self._produce()

    def _cut_one_off(self) -> None:
        if self.survivors:
            broker_id = self._rng.choice(self.survivors)
            self._cut_off.add(broker_id)
            self._produce()
            self.now_ms += self._rng.randint(1_000, 40_000)
            self._fence(broker_id)

    def _fence(self, broker_id: int) -> None:
        if broker_id in self._fenced:
            return
        self._fenced.add(broker_id)
        self._say(broker_id, BrokerChange.FENCED)
        before = self._leader, [*self._isr]
        if len(self._isr) > 1 and broker_id in self._isr:
            self._isr.remove(broker_id)
        if self._leader == broker_id:
            self._leader = next((each for each in self._isr if each not in self._fenced), NO_LEADER)
        if before != (self._leader, self._isr):
            self._note()
            self._follow(self._isr)

    def _return(self) -> None:
        away = [each for each in REPLICAS if not self._runs(each)]
        if not away:
            return
        broker_id = self._rng.choice(away)
        if broker_id in self._dead:
            if self._rng.random() < 0.15:
                self._disks[broker_id] += ", anew"
                self.logs[broker_id], self._synced[broker_id] = [], 0
            self._dead.remove(broker_id)
            self._register(broker_id)
        else:
            self._say(broker_id, BrokerChange.UNFENCED)
        self._fenced.discard(broker_id)
        self._cut_off.discard(broker_id)
        if self._leader == NO_LEADER and broker_id in self._isr:
            self._leader = broker_id
            self._note()
        self._follow()

    def _catch_up(self) -> None:
        behind = [each for each in self.survivors if each not in self._isr]
        if behind and self._runs(self._leader):
            self._isr.append(self._rng.choice(behind))
            self._follow(self._isr)
            self._note()

    def _elect_unclean(self) -> None:
        behind = [each for each in self.survivors if each not in self._isr]
        if behind and self._leader == NO_LEADER:
            self._leader = self._rng.choice(behind)
            self._isr = [self._leader]
            self._note(unclean=True)
            self._follow()
