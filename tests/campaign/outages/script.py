# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One random outage: brokers leave one after the other while producers write, and the last leader stays away."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import permutations

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from campaign.outages.writers import Partition, Pattern, Writers
from lab import Cluster, settings, versions, wait_until
from lab.health import heal
from lab.pool import Specification

_TIMEOUT_S = 90.0
_SNAPSHOT_MS = 6_000
_MIN_ISR = "min.insync.replicas"
_PAIR = "pair"
TOPICS: Mapping[str, int | None] = {"one": 1, "two": 2, _PAIR: 2, "all": 3, "changing": 2, "unset": None}
"""The topics, with their own min.insync.replicas. Without one, it comes from the cluster or the leader's properties."""
OF_MIN_2 = ("two", _PAIR)
_PARTITIONS = 5
WARM_UP_S = (8.0, 14.0)
_BETWEEN_S = (1.0, 5.0)
_ALONE_S = (3.0, 14.0)


def specification(*, has_elr: bool, has_snapshots: bool) -> Specification[Cluster]:
    """Return a cluster of three brokers whose quorum survives the loss of a controller."""

    def create(version: str) -> Cluster:
        features = {"eligible.leader.replicas.version": int(has_elr)} if versions.has_elr(version) else {}
        return Cluster(
            version,
            controllers=3,
            features=features,
            properties={"offsets.topic.num.partitions": 1},
            controller_properties={"metadata.log.max.snapshot.interval.ms": _SNAPSHOT_MS} if has_snapshots else {},
        )

    name = f"outages, {'with' if has_elr else 'without'} ELR, {'with' if has_snapshots else 'without'} snapshots"
    return Specification(name, create, heal)


@dataclass
class Outage:
    """What happens before an election. ``take_place`` leaves partitions without a leader, and the last one away."""

    cluster: Cluster
    rng: random.Random
    leaving: tuple[int, int, int] = (0, 0, 0)
    """The brokers in the order in which they leave. The last one does not come back."""
    events: list[str] = field(default_factory=list)
    died_ms: tuple[float, float] = (0.0, 0.0)
    """Between which times the last one died. By a clean stop: began and ended."""
    was_stopped: bool = False
    """The last one was stopped cleanly."""
    restarted: set[int] = field(default_factory=set)
    """Brokers that were killed and came back. Their logs are complete: the page cache outlives a process."""
    acknowledged: Mapping[Partition, set[str]] = field(default_factory=dict)
    patterns: Mapping[Partition, Pattern] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)
    """Topics whose min.insync.replicas was changed."""

    def take_place(self) -> None:
        first, second, last = self.leaving = tuple(self.rng.sample(sorted(self.cluster.brokers), 3))  # type: ignore[assignment]
        self._create_topics()
        partitions = [(topic, number) for topic in TOPICS for number in self.cluster.client.describe(topic)]
        with Writers(self.cluster, partitions, self.rng) as writers:
            self.acknowledged, self.patterns = writers.acknowledged, writers.patterns
            self._pause(WARM_UP_S)
            if self.rng.random() < 0.25:
                self._elect_unclean_first()
            self._maybe_disturb()
            self._leave(first)
            self._pause(_BETWEEN_S)
            if self.rng.random() < 0.25:
                self._return(first)
                self._pause(_BETWEEN_S)
                self._leave_if_there(first)
            self._maybe_disturb()
            self._leave(second)
            self._maybe_disturb()
            self._pause(_ALONE_S)
            if self.rng.random() < 0.2:
                self._return(first)
                self._pause(_BETWEEN_S)
                self._leave_if_there(first)
            self._die(last)
            for broker in self.rng.sample((first, second), 2):
                self._return(broker)
        self._wait_settled()

    def _create_topics(self) -> None:
        threes = [*permutations(self.cluster.brokers)]
        twos = [each for each in permutations(self.cluster.brokers, 2) if self.leaving[-1] in each]
        for topic, min_isr in TOPICS.items():
            replicas = self.rng.choices(twos if topic == _PAIR else threes, k=_PARTITIONS)
            config = {} if min_isr is None else {_MIN_ISR: min_isr}
            self.cluster.client.create_topic(
                topic, dict(enumerate(replicas)), {"message.timestamp.type": "LogAppendTime", **config}
            )

    def _pause(self, seconds: tuple[float, float]) -> None:
        time.sleep(self.rng.uniform(*seconds))

    def _note(self, event: str) -> None:
        self.events.append(f"{time.strftime('%H:%M:%S')} {event}")

    def _leave(self, broker: int, how: str = "") -> None:
        node = self.cluster.brokers[broker]
        how = how or self.rng.choice(["freeze", "freeze", "freeze", "kill", "stop", "stop"])
        self._note(f"{broker}: {how}")
        if how == "freeze":
            node.freeze()
        elif how == "stop":
            node.stop()
        else:
            node.kill()
            self.restarted.add(broker)
        if self.rng.random() < 0.7 and self.cluster.live_brokers:
            self._wait(lambda: not self._is_in_any_isr(broker), f"broker {broker} is in no ISR")

    def _leave_if_there(self, broker: int) -> None:
        if self.rng.random() < 0.7:
            self._leave(broker)

    def _return(self, broker: int) -> None:
        """Let a broker come back. With a chance it is away again before it is in sync."""
        node = self.cluster.brokers[broker]
        if node.running and not node.frozen:
            return
        self._note(f"{broker}: return")
        if node.frozen and node.running:
            node.thaw()
        else:
            node.start()

    def _die(self, broker: int) -> None:
        node = self.cluster.brokers[broker]
        how = self.rng.choice(["kill", "kill", "freeze", "stop"])
        self._note(f"{broker}: {how}, the last leader")
        begun = time.time() * 1000
        if how == "freeze":
            node.freeze()
        elif how == "stop":
            node.stop()
            self.was_stopped = True
        else:
            node.kill()
        self.died_ms = begun, time.time() * 1000

    def _maybe_disturb(self) -> None:
        what = self.rng.choice([*[None] * 4, self._fail_over, self._fail_over, self._freeze_controller, self._alter])
        if what is not None:
            what()

    def _fail_over(self) -> None:
        active = self.cluster.active_controller()
        self._note(f"controller {active.node_id}: kill and restart")
        active.kill()
        self._pause((0.0, 4.0))
        active.start()

    def _freeze_controller(self) -> None:
        active = self.cluster.active_controller()
        self._note(f"controller {active.node_id}: freeze for a while")
        active.freeze()
        self._pause((1.0, 6.0))
        active.thaw()

    def _alter(self) -> None:
        value = self.rng.choice(["1", "2", "3"])
        self._note(f"changing: {_MIN_ISR}={value}")
        entry = ConfigEntry(_MIN_ISR, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, "changing", incremental_configs=[entry])
        admin = AdminClient({"bootstrap.servers": self.cluster.bootstrap(settings.INTERNAL), "log_level": 0})
        admin.incremental_alter_configs([resource], request_timeout=30)[resource].result(30)
        self.changed.add("changing")

    def _elect_unclean_first(self) -> None:
        """Let a broker with an older log lead by an unclean election, and the others follow it, or one of them."""
        behind, *others = self.rng.sample(sorted(self.cluster.brokers), 3)
        self._leave(behind, "freeze")
        self._pause((1.0, 3.0))
        for broker in others:
            self._leave(broker, "freeze")
        self._return(behind)
        self._wait(lambda: self._is_fenced(others) and not self._is_fenced([behind]), f"only {behind} is there")
        self._note(f"{behind}: elected, although it is behind")
        for topic in TOPICS:
            offline = [number for number, leader in self._leaders(topic).items() if leader is None]
            held = [each for each in offline if behind in self.cluster.client.describe(topic)[each].replicas]
            if held:
                try:
                    self.cluster.client.elect_unclean(topic, held)
                except KafkaException as error:
                    self._note(f"{topic}: {error}")
        self._pause((1.0, 3.0))
        for broker in others:
            self._return(broker)
        self._pause(_BETWEEN_S)

    def _leaders(self, topic: str) -> dict[int, int | None]:
        return {number: each.leader for number, each in self.cluster.client.describe(topic).items()}

    def _is_in_any_isr(self, broker: int) -> bool:
        """Whether it is in an ISR with others. Alone, it stays there."""
        return any(
            broker in each.isr and set(each.isr) != {broker}
            for topic in TOPICS
            for each in self.cluster.client.describe(topic).values()
        )

    def _is_fenced(self, brokers: list[int]) -> bool:
        states = [each for topic in TOPICS for each in self.cluster.client.describe(topic).values()]
        return all(broker in each.offline_replicas for each in states for broker in brokers if broker in each.replicas)

    def _wait(self, is_so: object, what: str) -> None:
        wait_until(lambda: self.cluster.live_brokers and is_so(), _TIMEOUT_S, what=what, interval=0.3)  # type: ignore[operator]

    def offline(self) -> list[Partition]:
        """Return the partitions without a leader, as a survivor sees them."""
        found: list[Partition] = []
        for topic in TOPICS:
            found += [(topic, number) for number, leader in self._leaders(topic).items() if leader is None]
        return found

    def _wait_settled(self) -> None:
        """Return when the survivors are back, the last leader is fenced, and no partition changes any more."""
        first, second, last = self.leaving
        self._wait(
            lambda: self._is_fenced([last]) and not any(self._is_fenced([each]) for each in (first, second)),
            f"only {last} is away",
        )
        before: list[Partition] | None = None

        def is_steady() -> bool:
            nonlocal before
            now, earlier = self.offline(), before
            before = now
            return now == earlier

        wait_until(is_steady, _TIMEOUT_S, what="the offline partitions stay the same", interval=2.0)
