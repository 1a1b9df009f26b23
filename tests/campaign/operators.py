# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Faults of programs that change the same cluster every second: the requests of Cruise Control and of a topic operator.

The programs themselves are not started: what counts is which requests reach the controller, and when.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from confluent_kafka import ElectionType, KafkaException
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ResourceType,
)

from campaign.broker_faults import Named
from campaign.scene import Scene
from lab import settings
from lab.leadership import request_reassignments

_EVERY_S = 1.0
_TIMEOUT_S = 10
_MOVED = "moved"
"""A topic that Cruise Control moves from broker to broker."""
_RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
_REPLICAS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
_SET, _DELETE = AlterConfigOpType.SET, AlterConfigOpType.DELETE
Configs = Mapping[str, str]


def operators() -> Iterator[Named]:
    """Yield the programs that an operator runs beside us."""
    yield "Cruise Control elects preferred leaders, and moves and throttles replicas, every second", _balance
    yield "a topic operator sets the configs of all topics back every second", _set_back


def _every_second(scene: Scene, act: Callable[[], object], then: Callable[[], object] = lambda: None) -> None:
    """Act now, which must succeed, and until the faults end, whatever brokers answer: such programs try again."""
    ended = threading.Event()

    def go_on() -> None:
        while not ended.wait(_EVERY_S):
            with suppress(KafkaException, RuntimeError, OSError):
                act()

    thread = threading.Thread(target=go_on, daemon=True)

    def end() -> None:
        ended.set()
        thread.join()
        then()

    scene.now(act)
    thread.start()
    scene.afterwards.append(end)


def _balance(scene: Scene) -> None:
    """As Cruise Control does it: throttles first, then a reassignment, then a preferred election of all partitions."""
    admin = _admin(scene)
    brokers = [str(each.node_id) for each in scene.cluster.live_brokers]
    homes = itertools.cycle(sorted({scene.incident.best, scene.incident.other, scene.incident.witness}))
    scene.cluster.client.create_topic(_MOVED, {0: [next(homes)]})

    def throttle(kind: AlterConfigOpType) -> None:
        rates, replicas = dict.fromkeys(_RATES, "10000000"), dict.fromkeys(_REPLICAS, "*")
        for each in brokers:
            _alter(admin, [_change(ResourceType.BROKER, each, rates, kind)])
        _alter(admin, [_change(ResourceType.TOPIC, _MOVED, replicas, kind)])

    def act() -> None:
        throttle(_SET)
        request_reassignments(scene.cluster, _MOVED, {0: [next(homes)]})
        admin.elect_leaders(ElectionType.PREFERRED).result(_TIMEOUT_S)

    def end() -> None:
        throttle(_DELETE)
        scene.cluster.client.delete_topic(_MOVED)

    _every_second(scene, act, end)


def _set_back(scene: Scene) -> None:
    """As a topic operator does it: a topic keeps the configs that it had first, and a new topic has none of its own."""
    admin = _admin(scene)
    wanted = _topic_configs(admin)

    def act() -> None:
        changes = []
        for topic, found in _topic_configs(admin).items():
            spec = wanted.get(topic, {})
            changed = {name: value for name, value in spec.items() if found.get(name) != value}
            added = {name: value for name, value in found.items() if name not in spec}
            if changed or added:
                entries = [_entry(name, value, _SET) for name, value in changed.items()]
                entries += [_entry(name, value, _DELETE) for name, value in added.items()]
                changes.append(ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries))
        _alter(admin, changes)

    _every_second(scene, act)


def _topic_configs(admin: AdminClient) -> dict[str, Configs]:
    """Return the configs that each topic has of its own. Raises KafkaException."""
    topics = [ConfigResource(ResourceType.TOPIC, each) for each in admin.list_topics(timeout=_TIMEOUT_S).topics]
    own = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    return {
        resource.name: {each.name: each.value for each in answer.result(_TIMEOUT_S).values() if each.source == own}
        for resource, answer in admin.describe_configs(topics, request_timeout=_TIMEOUT_S).items()
    }


def _change(kind: ResourceType, name: str, configs: Configs, operation: AlterConfigOpType) -> ConfigResource:
    return ConfigResource(kind, name, incremental_configs=[_entry(*each, operation) for each in configs.items()])


def _entry(name: str, value: str, operation: AlterConfigOpType) -> ConfigEntry:
    return ConfigEntry(name, value, incremental_operation=operation)


def _alter(admin: AdminClient, changes: list[ConfigResource]) -> None:
    if changes:
        for answer in admin.incremental_alter_configs(changes, request_timeout=_TIMEOUT_S).values():
            answer.result(_TIMEOUT_S)


def _admin(scene: Scene) -> AdminClient:
    return AdminClient({"bootstrap.servers": scene.cluster.bootstrap(settings.INTERNAL), "log_level": 0})
