# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Draining a broker of 10,000 partitions and putting all of them back, against the requests alone.

The requests alone look at nothing, remember nothing and verify nothing. Every order and leader is compared afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.batches import in_batches
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.elections import PREFERRED, elect
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.reassignments import reorder
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.leadership.blacklist import Change
from ansible_collections.kafkaops.recovery.plugins.module_utils.leadership.moves import MoveStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.leadership_election import MoveReport
from bench.kit.row import CannotMeasureError, Options, Row, Run, Timing
from bench.kit.timing import timed
from lab import Cluster
from lab.leadership import Operator, leaders, orders
from lab.waiting import wait_until

_TOPICS = 10
_PARTITIONS = 1000
"""Of each topic."""
_ORIGINAL, _DRAINED = (1, 2), (2, 1)
_BROKER = 1
_STEPS = ("broker last in every order", "leaders moved away", "every order put back", "leaders moved back")


def run(options: Options) -> Iterator[Row]:
    """A broker drained and restored, by the requests alone and then by the collection, each step timed once."""
    with Cluster(brokers=2, heap="2g") as cluster, TemporaryDirectory() as directory:
        for topic in _topics():
            cluster.client.create_topic(topic, dict.fromkeys(range(_PARTITIONS), _ORIGINAL))
        operator = Operator(cluster, Path(directory), request_timeout_ms=10_000)
        # The first transaction of a cluster makes Kafka's own topic for them.
        operator.list(_BROKER, topics=["none"])
        operator.restore()
        requests, collection = _Requests(operator), _Collection(operator)
        baseline = _cycle(cluster, requests.drain, requests.elect, requests.restore, requests.elect)
        measured = _cycle(cluster, collection.drain, collection.move_away, collection.restore, collection.move_back)
    for step, alone, ours in zip(_STEPS, baseline, measured, strict=True):
        yield Row(
            Timing(f"requests alone, {_TOPICS * _PARTITIONS} partitions: {step}", [alone]),
            Timing(f"collection: {step}", [ours]),
        )


def _cycle(cluster: Cluster, *steps: Callable[[], None]) -> list[Run]:
    """Times each step. Raises CannotMeasureError when not every order and leader is as it has to be after it."""
    order, leader = _ORIGINAL, _ORIGINAL[0]
    runs = []
    for number, step in enumerate(steps):
        runs.append(timed(step))
        if number % 2:
            leader = order[0]
        else:
            order = _DRAINED if order == _ORIGINAL else _ORIGINAL
        _check(cluster, order, leader, _STEPS[number])
    return runs


def _check(cluster: Cluster, order: tuple[int, ...], leader: int, step: str) -> None:
    def reached() -> bool:
        return all(
            {*orders(cluster, topic).values()} == {order} and {*leaders(cluster, topic).values()} == {leader}
            for topic in _topics()
        )

    try:
        wait_until(reached, 30, what=f"{step}: every partition has the order {order} and the leader {leader}")
    except TimeoutError as error:
        raise CannotMeasureError(str(error)) from None


def _topics() -> list[str]:
    return [f"drained-{number}" for number in range(_TOPICS)]


def _partitions() -> list[TopicPartition]:
    return [TopicPartition(topic, partition) for topic in _topics() for partition in range(_PARTITIONS)]


class _Requests:
    """The fewest requests there are, each for at most 1,000 partitions."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def drain(self) -> None:
        self._reorder(_DRAINED)

    def restore(self) -> None:
        self._reorder(_ORIGINAL)

    def elect(self) -> None:
        with Wire(self._operator.settings) as wire:
            for batch in in_batches(_partitions()):
                elect(wire, self._operator.settings.bootstrap_servers[0], PREFERRED, batch)

    def _reorder(self, order: tuple[int, ...]) -> None:
        with Wire(self._operator.settings) as wire:
            for batch in in_batches(_partitions()):
                reorder(wire, self._operator.settings.bootstrap_servers[0], dict.fromkeys(batch, order))


class _Collection:
    """What the modules do, without the processes that they run in."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def drain(self) -> None:
        self._operator.list(_BROKER)

    def restore(self) -> None:
        self._operator.run(Change.EXACT)

    def move_away(self) -> None:
        _check_moved(self._operator.move_leaders(away_from=_BROKER))

    def move_back(self) -> None:
        _check_moved(self._operator.move_leaders(back_to=_BROKER))


def _check_moved(report: MoveReport) -> None:
    for each in report.moves.values():
        if each.status is not MoveStatus.MOVED:
            raise CannotMeasureError(f"{each.topic_partition}: {each.reason}")
