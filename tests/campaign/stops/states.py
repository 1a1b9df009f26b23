# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Random states of a cluster: brokers that are down, frozen or lag, dead disks, and reassignments that do not end."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from campaign.stops.combined import VOTERS, CombinedBrokers
from campaign.stops.held import HeldFetches
from lab import Cluster, settings, wait_until
from lab.client import PartitionState
from lab.health import heal
from lab.leadership import request_reassignments
from lab.node import Node, each
from lab.pool import Specification

RACKS = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c"}
"""The rack of each broker."""
TOPICS = 6
_PARTITIONS = 4
_UNCLEAN = "unclean.leader.election.enable"
_MIN_LIVE = 3
"""So many brokers are up before a set is chosen, if they can be started."""
_STABLE_S = 1.5
_SETTLED_S = 60.0
_FETCH_BYTES = 2000
"""What a follower gets of a partition by one request: more is needed than that, so a throttle can make it lag."""
_RECORDS, _RECORD_BYTES = 30, 1500

Partition = tuple[str, int]
States = Mapping[Partition, PartitionState]


def _five(kind: type[Cluster], version: str, controllers: int | Sequence[int] = 1) -> Cluster:
    return kind(
        version,
        brokers=5,
        controllers=controllers,
        log_dirs=2,
        proxied=True,
        properties={
            "replica.fetch.max.bytes": _FETCH_BYTES,
            # A broker notices a dead disk when it writes a checkpoint.
            "replica.high.watermark.checkpoint.interval.ms": 500,
        },
        # No other broker returns this. It is for topics without their own value.
        controller_properties={_UNCLEAN: "true"},
        broker_properties={broker: {"broker.rack": rack} for broker, rack in RACKS.items()},
    )


FIVE: Specification[Cluster] = Specification(
    "five brokers with two disks in three racks", lambda version: _five(Cluster, version), heal
)
COMBINED: Specification[Cluster] = Specification(
    "the same, and three of them are controllers", lambda version: _five(CombinedBrokers, version, VOTERS), heal
)


@dataclass(frozen=True)
class Topic:
    """A topic of a random state."""

    min_isr: int
    unclean: bool | None
    """Its own unclean.leader.election.enable. None if the controllers' own value holds, which is true."""


@dataclass
class RandomState:
    """A cluster that is disturbed again and again. ``end`` takes back what healing the cluster would not."""

    cluster: Cluster
    rng: random.Random
    prefix: str
    """Of the names of its topics. A broker that was restarted may describe the config of a deleted topic as that of a
    new one of the same name: this would be another test."""
    is_calm: bool = False
    """Few events, and topics that bear the loss of a broker. Without such states, the answer is hardly ever yes."""
    topics: dict[str, Topic] = field(default_factory=dict)
    down: set[int] = field(default_factory=set)
    """Brokers that are dead or frozen."""
    lagging: set[int] = field(default_factory=set)
    """Brokers that are throttled since they came back."""
    moved: dict[int, tuple[Path, Path]] = field(default_factory=dict)
    """The dead disk of a broker, and where it was moved."""
    reassigned: set[Partition] = field(default_factory=set)
    held: HeldFetches | None = None
    """The switches of followers, in seeds in which leaders have records that nobody else has."""
    events: list[str] = field(default_factory=list)

    @property
    def live(self) -> set[int]:
        return {*RACKS} - self.down

    @property
    def voters(self) -> set[int]:
        """The brokers that are controllers, too."""
        return {*VOTERS} if isinstance(self.cluster, CombinedBrokers) else set()

    def keeps_quorum(self, down: Collection[int]) -> bool:
        """Return whether the controllers have a majority without these brokers."""
        return not self.voters or len(self.voters - {*down}) > len(self.voters) // 2

    def bring_back_quorum(self) -> None:
        """Start the controllers, after a set that cost their majority. Raises TimeoutError if it did not."""
        cluster = self.cluster
        assert isinstance(cluster, CombinedBrokers)
        wait_until(lambda: not cluster.has_quorum(), _SETTLED_S, what="the majority of the controllers is gone")
        back = sorted(self.voters & self.down)
        self._note(f"started, for the quorum: {back}")
        # Alone, none of them gets ready.
        each(self._start_process, [cluster.brokers[broker] for broker in back])
        for broker in back:
            self._wait_ready(broker)

    def create_topics(self) -> None:
        """Create topics of one to four replicas, with and without unclean elections, and write records."""
        for number in range(TOPICS):
            min_isr = self.rng.choice([1, 1, 2] if self.is_calm else [1, 2, 2, 3])
            topic = Topic(min_isr, self.rng.choice([False, True, None]))
            copies = self.rng.choice([3, 3, 4] if self.is_calm else [1, 2, 3, 3, 3, 4])
            name = f"{self.prefix}_{number}"
            config = {"min.insync.replicas": min_isr, "follower.replication.throttled.replicas": "*"}
            if topic.unclean is not None:
                config[_UNCLEAN] = str(topic.unclean).lower()
            assignment = {partition: self.rng.sample(sorted(RACKS), copies) for partition in range(_PARTITIONS)}
            self.cluster.client.create_topic(name, assignment, config)
            self.topics[name] = topic
        self._write()

    def disturb(self) -> bool:
        """Change the state by nothing, one or two events. Return whether the last one may be too recent to be seen."""
        leaving: list[Callable[[], bool]] = [self._kill, self._kill, self._freeze, self._stop]
        kinds = [*leaving, *[self._lag] * 3, *[self._lose_disk] * 2, *[self._reassign] * 2, self._replace_disk]
        is_recent = False
        self._start_enough()
        for chosen in self.rng.sample(kinds, self.rng.choice([0, 0, 1] if self.is_calm else [0, 1, 1, 2])):
            if chosen in leaving:
                # Only this event is to be recent: a broker that was started before is in sync by then.
                self.settled()
            is_recent = chosen()
        return is_recent and self.rng.random() < 0.7

    def hide_records(self) -> None:
        """Write records that some followers, which stay in sync, do not get until ``held`` releases them."""
        if self.held is not None and len(self.live) > 1:
            held = sorted(self.rng.sample(sorted(self.live), self.rng.randrange(1, len(self.live))))
            self._note(f"do not fetch: {held}")
            self.held.hold(held)
            self._write()

    def choose_set(self) -> tuple[int, ...]:
        """Return one to three brokers, all of a rack, or the whole ISR of a partition that has another live replica.

        At least one broker stays up.
        """
        if self.rng.random() < 0.5:
            states = self.read().values()
            isrs = {frozenset(each.isr) for each in states if self.live & {*each.replicas} - {*each.isr}}
            whole = sorted(sorted(each) for each in isrs if each and each < self.live)
            if whole:
                return tuple(self.rng.choice(whole))
        racks = [{broker for broker in self.live if RACKS[broker] == rack} for rack in {*RACKS.values()}]
        sets = [each for each in racks if each and each != self.live]
        if self.rng.random() < 0.3 and sets:
            return tuple(sorted(self.rng.choice(sorted(sets, key=sorted))))
        count = min(self.rng.choice([1, 1, 1, 2] if self.is_calm else [1, 1, 2, 2, 3]), len(self.live) - 1)
        return tuple(sorted(self.rng.sample(sorted(self.live), count)))

    def stop(self, brokers: Collection[int]) -> None:
        """Stop brokers together: all by SIGKILL, or all by a controlled shutdown."""
        nodes = [self.cluster.brokers[broker] for broker in brokers]
        # A controlled shutdown would wait for the followers that do not fetch, or for the controllers.
        is_clean = self.held is None and self.rng.random() < 0.4 and self.keeps_quorum(self.down | {*brokers})
        self._note(f"{'shut down' if is_clean else 'killed'}: {sorted(brokers)}")
        each(lambda node: node.stop() if is_clean else node.kill(), nodes)
        self.down |= {*brokers}
        self.lagging -= self.down

    def read(self) -> States:
        """Return all partitions as one live broker sees them."""
        observer = min(self.live)
        return {
            (topic, number): state
            for topic in self.topics
            for number, state in self.cluster.client.describe(topic, broker=observer).items()
        }

    def ends(self, states: States) -> dict[Partition, int]:
        """Return the log end offset of each partition's leader, asked of the leader if it is up."""
        led: dict[tuple[str, int], list[int]] = {}
        for (topic, number), state in states.items():
            if state.leader in self.live:
                led.setdefault((topic, state.leader), []).append(number)
        return {
            (topic, number): end
            for (topic, leader), numbers in led.items()
            for number, end in self.cluster.client.log_end_offsets(topic, numbers, leader).items()
            if end is not None
        }

    def settled(self) -> States:
        """Return the state when no dead broker leads or is in the ISR of a led partition, and nothing changes."""
        deadline, since, last = time.monotonic() + _SETTLED_S, time.monotonic(), self.read()
        while time.monotonic() < deadline:
            time.sleep(0.2)
            now = self.read()
            is_seen = not any(each.leader is not None and self.down & {*each.isr} for each in now.values())
            if now != last or not is_seen:
                since, last = time.monotonic(), now
            elif time.monotonic() - since > _STABLE_S:
                return now
        raise TimeoutError(f"not settled: {last}")

    def end(self) -> None:
        """Put moved disks back. Their brokers stay dead: to heal the cluster starts them."""
        for broker in [*self.moved]:
            self.cluster.brokers[broker].kill()
            self._put_disk_back(broker)

    def _note(self, event: str) -> None:
        self.events.append(f"{time.strftime('%H:%M:%S')} {event}")

    def _some_live(self) -> int | None:
        able = [each for each in sorted(self.live) if self.keeps_quorum(self.down | {each})]
        return self.rng.choice(able) if len(self.live) > 2 and able else None

    def _leave(self, how: str, leave: Callable[[int], None]) -> bool:
        broker = self._some_live()
        if broker is None:
            return False
        self._note(f"{how}: {broker}")
        leave(broker)
        self.down.add(broker)
        self.lagging.discard(broker)
        return True

    def _kill(self) -> bool:
        return self._leave("killed", lambda broker: self.cluster.brokers[broker].kill())

    def _freeze(self) -> bool:
        return self._leave("frozen", lambda broker: self.cluster.brokers[broker].freeze())

    def _stop(self) -> bool:
        return self._leave("shut down", lambda broker: self.cluster.brokers[broker].stop())

    def _lag(self) -> bool:
        """Let a broker miss records, and throttle it to nearly nothing when it is back."""
        broker = self._some_live()
        if broker is None:
            return False
        self._note(f"lags: {broker}")
        self._set_rate(broker, "1")
        self.cluster.brokers[broker].kill()
        self.down.add(broker)
        self.settled()
        self._write()
        self._start(broker)
        self.lagging.add(broker)
        return False

    def _lose_disk(self) -> bool:
        """Move a log directory away: the broker fails to write a checkpoint there, and takes it offline."""
        broker = self._some_live()
        if broker is None or broker in self.moved:
            return False
        # Not the first one: it has the metadata log, without which a broker halts.
        disk = self.cluster.brokers[broker].data_dirs[-1]
        on_it = [each.name.rpartition("-") for each in disk.glob(f"{self.prefix}_[0-9]-[0-9]")]
        if not on_it:
            return False
        self._note(f"lost a disk: {broker}, with {len(on_it)} replicas")
        away = disk.with_name(f"{disk.name}-moved")
        disk.rename(away)
        self.moved[broker] = (disk, away)

        def is_offline() -> bool:
            states = self.read()
            return all(broker in states[topic, int(number)].offline_replicas for topic, _dash, number in on_it)

        wait_until(is_offline, 60, what=f"the replicas on {disk} are offline")
        return False

    def _put_disk_back(self, broker: int) -> None:
        """Put the disk of a dead broker back, which does not start without it."""
        if broker in self.moved:
            disk, away = self.moved.pop(broker)
            shutil.rmtree(disk, ignore_errors=True)
            away.rename(disk)

    def _replace_disk(self) -> bool:
        broker = self._some_live()
        # An empty disk of a controller would be another test.
        if broker is None or broker in self.moved or broker in self.voters:
            return False
        self._note(f"disks replaced: {broker}")
        self.cluster.brokers[broker].kill()
        self.down.add(broker)
        self.settled()
        self.cluster.brokers[broker].wipe()
        self._start(broker)
        return False

    def _reassign(self) -> bool:
        """Begin reassignments to brokers that are down or lag, so they do not end."""
        if not self.down | self.lagging:
            self._lag()
        slow = sorted(self.down | self.lagging)
        states = self.read()
        led = [key for key, each in states.items() if each.leader is not None and key not in self.reassigned]
        for topic, number in self.rng.sample(led, min(4, len(led))):
            replicas = states[topic, number].replicas
            free = [each for each in slow if each not in replicas]
            if free:
                place = self.rng.randrange(len(replicas))
                target = [*replicas[:place], self.rng.choice(free), *replicas[place + self.rng.randrange(2) :]]
                request_reassignments(self.cluster, topic, {number: target})
                self.reassigned.add((topic, number))
                self._note(f"reassigned: {topic}-{number} from {[*replicas]} to {target}")
        return False

    def _start_enough(self) -> None:
        while len(self.live) < _MIN_LIVE or (self.down and self.rng.random() < (0.8 if self.is_calm else 0.3)):
            broker = self.rng.choice(sorted(self.down))
            self._note(f"started: {broker}")
            self._start(broker)

    def _start(self, broker: int) -> None:
        self._start_process(self.cluster.brokers[broker])
        self._wait_ready(broker)

    def _start_process(self, node: Node) -> None:
        if node.running:
            node.thaw()
        else:
            self._put_disk_back(node.node_id)
            node.start(wait=False)

    def _wait_ready(self, broker: int) -> None:
        node = self.cluster.brokers[broker]
        wait_until(node.is_ready, 60, what=f"{node!r} is ready")
        self.down.discard(broker)

    def _write(self) -> None:
        """Write records with acks=1 to each partition that has a leader."""
        states = self.read()
        producer = Producer({"bootstrap.servers": self.cluster.bootstrap(settings.INTERNAL), "acks": 1, "log_level": 0})
        for (topic, number), state in states.items():
            if state.leader is not None:
                for _ in range(_RECORDS):
                    producer.produce(topic, self.rng.randbytes(_RECORD_BYTES), partition=number)
        producer.flush(30)

    def _set_rate(self, broker: int, rate: str) -> None:
        admin = AdminClient({"bootstrap.servers": self.cluster.bootstrap(settings.INTERNAL), "log_level": 0})
        entry = ConfigEntry("follower.replication.throttled.rate", rate, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.BROKER, str(broker), incremental_configs=[entry])
        admin.incremental_alter_configs([resource])[resource].result(30)
