# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Draining a broker of 10,000 partitions and putting all of them back, against the requests alone.

The requests alone look at nothing, remember nothing and verify nothing. The same requests are then sent once more. Each
batch is seen in the metadata before the next one, and where orders change, the config is written too, and the original
orders are durable in a topic before they change, or deleted from it afterwards. That is the least that a change takes
which is verified and can be undone. Every order and leader is compared afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.elections import PREFERRED, elect
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.reassignments import reorder
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.blacklist import Change
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.election import MoveReport
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.moves import MoveStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.view import CONFIG_NAME
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    PartitionState,
    TopicPartition,
    in_batches,
)
from bench.kit.row import CannotMeasureError, Options, Row, Run, Timing
from bench.kit.timing import timed
from lab import Cluster
from lab.leadership import Operator, leaders, orders
from lab.waiting import wait_until

_TOPICS = 10
_PARTITIONS = 1000
"""Of each topic."""
_BROKER, _OTHERS = 1, (2, 3)
_GOAL = 3.0
_MOST_REPEATS = 3
_REMEMBERED = TopicPartition("remembered", 0)
_RECORDS_PER_REQUEST = 5000
_STEPS = ("broker last in every order", "leaders moved away", "every order put back", "leaders moved back")


Orders = Mapping[TopicPartition, tuple[int, ...]]


def _originals() -> Orders:
    """Put the broker first, the others in an order that follows no rule, so that no other partition's order will do."""
    shuffled = Random(0)
    partitions = [TopicPartition(topic, partition) for topic in _topics() for partition in range(_PARTITIONS)]
    return {each: (_BROKER, *shuffled.sample(_OTHERS, len(_OTHERS))) for each in partitions}


def run(options: Options) -> Iterator[Row]:
    """Drain and restore a broker, by the requests alone and then by the collection, several times in turn."""
    originals = _originals()
    drained = {each: (*order[1:], _BROKER) for each, order in originals.items()}
    with Cluster(brokers=3, heap="2g") as cluster:
        for topic in _topics():
            cluster.client.create_topic(topic, _of(topic, originals))
        operator = Operator(cluster, request_timeout_ms=10_000)
        # The first transaction of a cluster makes Kafka's own topic for them.
        operator.list(_BROKER, topics=["none"])
        operator.restore()
        cluster.client.create_topic(_REMEMBERED.topic, {0: (*_OTHERS, _BROKER)})
        requests, collection = _Requests(operator, originals, drained), _Collection(operator)
        states = (originals, drained)
        ways = (requests.steps(), replace(requests, is_safe=True).steps(), collection.steps())
        cycles = [
            [_cycle(cluster, states, *steps) for steps in ways]
            for _repeat in range(min(_MOST_REPEATS, options.repeats))
        ]
    for number, step in enumerate(_STEPS):
        alone, safe, ours = ([cycle[way][number] for cycle in cycles] for way in range(len(ways)))
        measured = Timing(f"collection: {step}", ours)
        yield Row(Timing(f"requests alone, {_TOPICS * _PARTITIONS} partitions: {step}", alone), measured, _GOAL)
        yield Row(Timing(f"requests, seen and remembered: {step}", safe), measured)


def _cycle(cluster: Cluster, states: tuple[Orders, Orders], *steps: Callable[[], None]) -> list[Run]:
    """Time each step. Raises CannotMeasureError when not every order and leader is as it has to be after it."""
    originals, drained = states
    runs = []
    for step, name, wanted, led_by in zip(
        steps,
        _STEPS,
        (drained, drained, originals, originals),
        (originals, drained, drained, originals),
        strict=True,
    ):
        runs.append(timed(step))
        _check(cluster, wanted, led_by, name)
    return runs


def _check(cluster: Cluster, wanted: Orders, led_by: Orders, step: str) -> None:
    """Every partition has the wanted order, and the leader that the other order prefers."""

    def reached() -> bool:
        return all(
            orders(cluster, topic) == _of(topic, wanted)
            and leaders(cluster, topic) == {number: order[0] for number, order in _of(topic, led_by).items()}
            for topic in _topics()
        )

    try:
        wait_until(reached, 30, what=f"{step}: every partition has its order and its leader")
    except TimeoutError as error:
        raise CannotMeasureError(str(error)) from None


def _of(topic: str, all_orders: Orders) -> dict[int, tuple[int, ...]]:
    return {each.partition: order for each, order in all_orders.items() if each.topic == topic}


def _topics() -> list[str]:
    return [f"drained-{number}" for number in range(_TOPICS)]


@dataclass(frozen=True)
class _Requests:
    """The fewest requests there are, each for at most 1,000 partitions."""

    operator: Operator
    originals: Orders
    drained: Orders
    is_safe: bool = False
    """Wait until each batch is seen before the next one is requested, and write the config and the original orders."""

    def steps(self) -> Sequence[Callable[[], None]]:
        """Return the four steps in their order."""
        return (
            self._drain,
            partial(self._elect, self.drained),
            self._restore,
            partial(self._elect, self.originals),
        )

    def _drain(self) -> None:
        with Wire(self.operator.settings) as wire:
            if self.is_safe:
                self._write_config(wire, str(_BROKER))
                self._remember(wire, {each: json.dumps(order).encode() for each, order in self.originals.items()})
            self._reorder(wire, self.drained)

    def _restore(self) -> None:
        with Wire(self.operator.settings) as wire:
            if self.is_safe:
                self._write_config(wire, None)
            self._reorder(wire, self.originals)
            if self.is_safe:
                self._remember(wire, dict.fromkeys(self.originals))

    def _write_config(self, wire: Wire, value: str | None) -> None:
        Kafka(wire).write_cluster_default(self._broker, CONFIG_NAME, value)

    def _remember(self, wire: Wire, values: Mapping[TopicPartition, bytes | None]) -> None:
        kafka = Kafka(wire)
        state = kafka.read_partition_state(_REMEMBERED)
        leader = kafka.describe_cluster().unfenced[state.leader_id] if state else self._broker
        for several in in_batches(
            [(str(each).encode(), value) for each, value in values.items()], _RECORDS_PER_REQUEST
        ):
            kafka.append_records(leader, _REMEMBERED, several)

    def _elect(self, orders: Orders) -> None:
        with Wire(self.operator.settings) as wire:
            for batch in in_batches([*orders]):
                elect(wire, self._broker, PREFERRED, batch)
                self._wait(wire, batch, lambda state: state.leader_id == orders[state.topic_partition][0])

    def _reorder(self, wire: Wire, orders: Orders) -> None:
        for batch in in_batches([*orders]):
            reorder(wire, self._broker, {each: orders[each] for each in batch})
            self._wait(wire, batch, lambda state: state.replicas == orders[state.topic_partition])

    def _wait(self, wire: Wire, batch: Sequence[TopicPartition], is_seen: Callable[[PartitionState], bool]) -> None:
        if self.is_safe:
            kafka = Kafka(wire)
            wait_until(
                lambda: all(map(is_seen, kafka.read_partition_states(batch).states.values())),
                30,
                what="a batch is seen",
                interval=0.01,
            )

    @property
    def _broker(self) -> Address:
        return self.operator.settings.bootstrap_servers[0]


class _Collection:
    """What the modules do, without the processes that they run in."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def steps(self) -> Sequence[Callable[[], None]]:
        """Return the four steps in their order."""
        return (self._drain, self._move_away, self._restore, self._move_back)

    def _drain(self) -> None:
        self._operator.list(_BROKER)

    def _restore(self) -> None:
        self._operator.run(Change.EXACT)

    def _move_away(self) -> None:
        _check_moved(self._operator.move_leaders(away_from=_BROKER))

    def _move_back(self) -> None:
        _check_moved(self._operator.move_leaders(back_to=_BROKER))


def _check_moved(report: MoveReport) -> None:
    for each in report.moves.values():
        if each.status is not MoveStatus.MOVED:
            raise CannotMeasureError(f"{each.topic_partition}: {each.reason}")
