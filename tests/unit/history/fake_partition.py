# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A partition in memory, to which random things happen, and of which every record is known.

Its controller does what Kafka's does: it fences a broker some time after the broker died, elects members of the ISR,
and never empties the ISR, or, with ELR (KIP-966), moves its members to the ELR. A host that loses power loses what was
not synced to its disk, and so does a log directory that fails. Partitions differ in what may happen to them:
reassignments, changed configs, quick restarts, failing directories. Of some, the boot times of all hosts are known.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.metadata_history import (
    BrokerChange,
    BrokerMoment,
    MetadataHistory,
    PartitionHistory,
    PartitionMoment,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import NO_LEADER, TopicPartition
from unit.history.fake_min_isr import FakeMinIsr

ORDERS = TopicPartition("orders", 0)
BROKERS = (1, 2, 3, 4)
_BEGUN_MS = 10_000_000
_SILENCE_MS = 300_000
_MOST = 80
"""So many things happen at most."""


class FakePartition:
    """The partition, its logs, and what the metadata log says of it."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.now_ms = _BEGUN_MS
        self.has_elr = rng.random() < 0.4
        self.restarts_quickly = not self.has_elr and rng.random() < 0.3
        self.is_reassigned = rng.random() < 0.5
        self.has_bad_disks = rng.random() < 0.3
        self.knows_boots = rng.random() < 0.5
        self._boots = dict.fromkeys(BROKERS, _BEGUN_MS - 100_000)
        self.logs: dict[int, list[int]] = {each: [] for each in BROKERS}
        self.acknowledged: set[int] = set()
        """Records that were acknowledged with acks=all."""
        self._replicas = [1, 2, 3]
        self._target: list[int] | None = None
        self._before: list[int] = []
        self._written = self._epoch = 0
        self._synced = dict.fromkeys(BROKERS, 0)
        self._dead: set[int] = set()
        self._cut_off: set[int] = set()
        self._fenced: set[int] = set()
        self._unclean: set[int] = set()
        """The brokers whose last stop was no shutdown, or whose disk is new."""
        self._disks = {each: f"disk of {each}" for each in BROKERS}
        self._moments: list[PartitionMoment] = []
        self._brokers: dict[int, list[BrokerMoment]] = {each: [] for each in BROKERS}
        self._leader, self._isr, self._elr = NO_LEADER, list[int](), list[int]()
        for each in BROKERS:
            self._register(each)
        self._min_isr = FakeMinIsr(rng, self.now_ms, self.now_ms + 10, BROKERS, of_brokers=not self.has_elr)
        self.now_ms += 10
        self._leader, self._isr = 1, [*self._replicas]
        self._note()

    def break_down(self) -> bool:
        """Let things happen until the partition has no leader and a broker runs. Return whether it came to that."""
        happenings: Sequence[Callable[[], None]] = (
            *[self._produce] * 6,
            *[self._sync] * 2,
            *[self._die] * 2,
            self._cut_one_off,
            *[self._return] * 3,
            *[self._catch_up] * 4,
            self._elect_preferred,
            self._elect_unclean,
            *([self._change_config] * 3 if self._rng.random() < 0.3 else []),
            *([self._reassign, self._end_reassignment] * 2 if self.is_reassigned else []),
            *([self._restart_quickly] * 2 if self.restarts_quickly else []),
            *([self._fail_directory] if self.has_bad_disks else []),
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
        return [each for each in self._replicas if self._runs(each)]

    def missing(self, broker_id: int) -> set[int]:
        """Return the acknowledged records that this replica lacks and another one has."""
        held = {record for each in self._replicas for record in self.logs[each]}
        return (self.acknowledged & held) - {*self.logs[broker_id]}

    def history(self, *, is_cut: bool = False) -> MetadataHistory:
        """Return what the metadata log says: all of it, or what is left after a snapshot at a random time."""
        cut_ms = self._rng.randint(_BEGUN_MS, self.now_ms) if is_cut else None
        moments = self._moments
        if cut_ms is not None:
            base = [each for each in moments if each.at_ms <= cut_ms][-1:]
            kept = [each._replace(at_ms=cut_ms, is_unclean=False, begins_epoch=False) for each in base]
            moments = [*kept, *(each for each in moments if each.at_ms > cut_ms)]
        begins_with_creation = moments[0] is self._moments[0]
        return MetadataHistory(
            cut_ms or _BEGUN_MS,
            self.now_ms + 10,
            {ORDERS: PartitionHistory(tuple(moments), begins_with_creation)},
            {each: tuple(_since(found, cut_ms)) for each, found in self._brokers.items()},
            self._min_isr.moments(cut_ms),
            has_base=True,
            begins_at_start=cut_ms is None,
            reads_all=True,
            host_boots=self._boots if self.knows_boots else {},
            silence_ms=_SILENCE_MS,
        )

    def _runs(self, broker_id: int) -> bool:
        return broker_id in BROKERS and broker_id not in self._dead | self._fenced | self._cut_off

    def _note(self, *, unclean: bool = False, begins_epoch: bool = True, at_ms: int | None = None) -> None:
        self.now_ms += at_ms is None
        self._moments.append(
            PartitionMoment(
                self.now_ms if at_ms is None else at_ms,
                self._leader,
                tuple(self._isr),
                tuple(self._elr),
                tuple(self._replicas),
                unclean,
                begins_epoch,
            )
        )

    def _say(self, broker_id: int, change: BrokerChange, directories: tuple[str, ...] = ()) -> None:
        self.now_ms += 1
        self._brokers[broker_id].append(BrokerMoment(self.now_ms, change, self._epoch, directories))

    def _register(self, broker_id: int) -> None:
        """Register a broker. After an unclean stop, it is no eligible leader replica any more."""
        self._epoch += 1
        self._say(broker_id, BrokerChange.REGISTERED, (self._disks[broker_id],))
        if self.has_elr and broker_id in self._unclean and broker_id in (*self._isr, *self._elr):
            at_ms = self.now_ms
            self._isr = [each for each in self._isr if each != broker_id]
            self._elr = [each for each in self._elr if each != broker_id]
            self._leader = NO_LEADER if self._leader == broker_id else self._leader
            self._note(at_ms=at_ms)
        self._say(broker_id, BrokerChange.UNFENCED)

    def _follow(self, followers: Sequence[int] = BROKERS) -> None:
        """Let these brokers delete what the leader does not have, and copy its log: wholly if they are in sync."""
        if not self._runs(self._leader):
            return
        log = self.logs[self._leader]
        for each in followers:
            if each != self._leader and each in self._replicas and self._runs(each):
                own = self.logs[each]
                least = min(len(log), len(own))
                shared = next((at for at, (a, b) in enumerate(zip(log, own, strict=False)) if a != b), least)
                self._synced[each] = min(self._synced[each], shared)
                copied = len(log) if each in self._isr else self._rng.randint(shared, len(log))
                self.logs[each] = log[:copied]

    def _produce(self) -> None:
        if self._leader == NO_LEADER or self._leader in self._dead:
            return
        self._written += 1
        self.logs[self._leader].append(self._written)
        self._follow(self._isr)
        known_ms = self._moments[-1].at_ms
        least = min(self._min_isr.least_of_leader(self._leader, known_ms, self.now_ms), len(self._replicas))
        if all(self._runs(each) for each in self._isr) and len(self._isr) >= least:
            self.acknowledged.add(self._written)

    def _sync(self) -> None:
        broker_id = self._rng.choice(BROKERS)
        if broker_id not in self._dead:
            self._synced[broker_id] = len(self.logs[broker_id])

    def _stop(self, broker_id: int, how: str) -> None:
        log = self.logs[broker_id]
        if how == "power":
            self._lose_unsynced(broker_id)
            self._boots[broker_id] = self.now_ms
        elif how == "stop":
            self._synced[broker_id] = len(log)
        self._unclean = self._unclean - {broker_id} | ({broker_id} if how != "stop" else set())

    def _lose_unsynced(self, broker_id: int) -> None:
        log = self.logs[broker_id]
        least = min(self._synced[broker_id], len(log))
        self.logs[broker_id] = log[: self._rng.randint(least, len(log))]

    def _fail_directory(self) -> None:
        """Let the only log directory of a broker fail, so that it stops. The directory is back when the broker is."""
        running = [each for each in BROKERS if self._runs(each)]
        if not running:
            return
        broker_id, asks = self._rng.choice(running), self._rng.random() < 0.5
        self._lose_unsynced(broker_id)
        self._say(broker_id, BrokerChange.LOG_DIR_FAILED)
        if asks:
            self._say(broker_id, BrokerChange.SHUTTING_DOWN)
        self._dead.add(broker_id)
        self._unclean = self._unclean - {broker_id} | (set() if asks else {broker_id})
        self._fence(broker_id)

    def _die(self) -> None:
        """Stop one broker or two at once, of which the controller takes notice one by one."""
        alive = sorted({*BROKERS} - self._dead)
        dying = self._rng.sample(alive, min(len(alive), self._rng.choice((1, 1, 1, 2))))
        how = self._rng.choice(("kill", "power", "stop", "stop"))
        for each in dying:
            self._dead.add(each)
            self._cut_off.discard(each)
            self._stop(each, how)
        for each in dying:
            self.now_ms += self._rng.randint(10, self._rng.choice((5_000, 60_000)))
            if how == "stop":
                self._say(each, BrokerChange.SHUTTING_DOWN)
            self._fence(each)
            self._produce()

    def _restart_quickly(self) -> None:
        """Restart a broker before it is fenced. It stays in the ISR, and leads on (KAFKA-18106)."""
        running = [each for each in BROKERS if self._runs(each)]
        if not running:
            return
        broker_id, how = self._rng.choice(running), self._rng.choice(("kill", "power", "stop"))
        if how == "stop":
            self._say(broker_id, BrokerChange.SHUTTING_DOWN)
        self._stop(broker_id, how)
        self.now_ms += self._rng.randint(1_000, 5_000)
        self._register(broker_id)
        if self._rng.random() < 0.6:
            self._follow()

    def _cut_one_off(self) -> None:
        running = [each for each in BROKERS if self._runs(each)]
        if running:
            broker_id = self._rng.choice(running)
            self._cut_off.add(broker_id)
            self._produce()
            self.now_ms += self._rng.randint(1_000, 40_000)
            self._fence(broker_id)

    def _fence(self, broker_id: int) -> None:
        if broker_id in self._fenced:
            return
        self._fenced.add(broker_id)
        self._say(broker_id, BrokerChange.FENCED)
        if broker_id in (*self._isr, self._leader) and self._shrink_to([x for x in self._isr if x != broker_id]):
            self._note()
            self._follow(self._isr)

    def _shrink_to(self, isr: list[int]) -> bool:
        """Shrink the ISR, and elect another leader if needed. Return whether anything changed."""
        before = self._leader, self._isr, self._elr
        if self.has_elr:
            left = [each for each in dict.fromkeys((*self._elr, *self._isr)) if each not in isr]
            self._elr = [] if len(isr) >= self._needed() else [each for each in left if each in self._replicas]
        self._isr = isr if isr or self.has_elr else self._isr
        if self._leader in self._fenced or self._leader not in self._isr:
            able = [each for each in self._replicas if each in self._isr and each not in self._fenced]
            self._leader = able[0] if able else NO_LEADER
            self._elect_eligible()
        return before != (self._leader, self._isr, self._elr)

    def _needed(self) -> int:
        return min(self._min_isr.of_controller(self.now_ms), len(self._replicas))

    def _elect_eligible(self) -> bool:
        able = [each for each in self._replicas if each in self._elr and each not in self._fenced]
        if self._leader != NO_LEADER or self._isr or not able:
            return False
        self._leader, self._isr = able[0], able[:1]
        self._elr = [each for each in self._elr if each != able[0]]
        return True

    def _return(self) -> None:
        away = [each for each in BROKERS if not self._runs(each)]
        if not away:
            return
        broker_id = self._rng.choice(away)
        if broker_id in self._dead:
            has_new_disk = self._rng.random() < 0.15
            if has_new_disk:
                self._disks[broker_id] += ", anew"
                self._unclean.add(broker_id)
            if has_new_disk or broker_id not in self._replicas:
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
        elif self._elect_eligible():
            self._note()
        self._follow()

    def _catch_up(self) -> None:
        behind = [each for each in self.survivors if each not in self._isr]
        if behind and self._runs(self._leader):
            broker_id = self._rng.choice(behind)
            self._isr = [*self._isr, broker_id]
            left = [each for each in self._elr if each != broker_id]
            self._elr = [] if len(self._isr) >= self._needed() else left
            self._follow(self._isr)
            self._note(begins_epoch=False)

    def _elect_preferred(self) -> None:
        first = self._replicas[0]
        if first in self._isr and first not in self._fenced and self._leader not in (NO_LEADER, first):
            self._leader = first
            self._note()
            self._follow()

    def _elect_unclean(self) -> None:
        behind = [each for each in self.survivors if each not in (*self._isr, *self._elr)]
        if behind and self._leader == NO_LEADER:
            self._leader = self._rng.choice(behind)
            self._isr, self._elr = [self._leader], []
            self._note(unclean=True)
            self._follow()

    def _change_config(self) -> None:
        self.now_ms += 1
        self._min_isr.change(self.now_ms)
        self._elr = []  # by a ClearElrRecord

    def _reassign(self) -> None:
        """Begin a reassignment, or cancel the one that was begun."""
        if self._target is not None:
            if self._rng.random() < 0.3:
                self._keep_only(self._before)
            return
        target = self._rng.sample(BROKERS, self._rng.choice((1, 2, 3, 3)))
        if {*target} != {*self._replicas}:
            self._before, self._target = self._replicas, target
        self._replicas = [*target, *(each for each in self._replicas if each not in target)]
        self._note(begins_epoch=False)

    def _end_reassignment(self) -> None:
        if self._target is not None and {*self._target} <= {*self._isr}:
            self._keep_only(self._target)

    def _keep_only(self, replicas: list[int]) -> None:
        isr = [each for each in self._isr if each in replicas]
        if not isr:
            return
        removed = [each for each in self._replicas if each not in replicas and each not in self._dead]
        self._replicas, self._target = [*replicas], None
        self._elr = [each for each in self._elr if each in replicas]
        self._shrink_to(isr)
        self._note()
        for each in removed:
            self.logs[each], self._synced[each] = [], 0
        self._follow(self._isr)


def _since(moments: Sequence[BrokerMoment], cut_ms: int | None) -> list[BrokerMoment]:
    """Return the moments after a snapshot, and before them what it says of the broker."""
    if cut_ms is None:
        return [*moments]
    before = [each for each in moments if each.at_ms <= cut_ms]
    relevant = (BrokerChange.REGISTERED, BrokerChange.LOG_DIR_FAILED)
    found = [each._replace(change=relevant[0]) for each in before if each.change in relevant][-1:]
    fences = [each for each in before if each.change in (BrokerChange.FENCED, BrokerChange.UNFENCED)][-1:]
    found += [each._replace(directories=()) for each in fences if each.change is BrokerChange.UNFENCED]
    base = [each._replace(at_ms=cut_ms, is_change=False) for each in found]
    return [*base, *(each for each in moments if each.at_ms > cut_ms)]
