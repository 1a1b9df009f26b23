# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Random outages on real brokers: compare the loss with the forecast, and with the loss of other candidates."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import Stretches
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.expected_loss import ExpectedLoss
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import PlannedElection, Status
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Strategy
from integration.on_call import OnCall
from integration.strategies.logs_on_disk import Log, Record, end_of, log_of
from integration.strategies.outages import BROKERS, PARTITIONS, Timeline, records_left, timeline
from lab import Cluster, wait_until

pytestmark = pytest.mark.on_any_version

_DIVERGING = (True,)
"""For each timeline, whether an unclean election in between makes logs diverge."""
_WIDE = (False, True, False, True)
"""The timelines of `make test-all`."""
_NOTICED_MS = 3000
"""Short, because each stopped broker must be noticed, but long enough for a slow broker on a busy machine."""
_SEED = 20261121
_OUTAGES = 18
"""Outages of each timeline: one of the last three brokers dies, and two of the other four return."""

Logs = Mapping[int, Log]
"""The log of each replica of an offline partition, by broker, dead ones included."""


@dataclass
class _Total:
    """Records and partitions."""

    outages: int = 0
    partitions: int = 0
    diverged: int = 0
    """Partitions with two surviving logs that each hold records the other lacks."""
    ours: int = 0
    kafkas: int = 0
    dead: int = 0
    """Records that only dead replicas hold, so that no election could have kept them."""
    by_count: int = 0
    """Partitions in which another candidate would have lost fewer records by number, and how many fewer."""
    fewer: int = 0

    def __str__(self) -> str:
        return (
            f"{self.outages} outages of {PARTITIONS} partitions: {self.ours} records lost, {self.kafkas} by Kafka's "
            f"own unclean election, {self.dead} of them held by dead replicas alone; the surviving logs of "
            f"{self.diverged} of {self.partitions} partitions diverge, and in {self.by_count} of these a log of an "
            f"older epoch would have kept more records, {self.fewer} in all"
        )


@pytest.mark.wide
@pytest.mark.timeout(900)
def test_losses_are_as_forecast(
    kafka_version: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    """Twins of each partition: one is recovered by the collection, the other one by Kafka's own unclean election."""
    timelines = _WIDE if request.config.getoption("--wide") else _DIVERGING
    rng, total = random.Random(_SEED), _Total()
    noticed = {"broker.session.timeout.ms": _NOTICED_MS}
    with Cluster(kafka_version, brokers=BROKERS, properties=noticed, controller_properties=noticed) as cluster:
        on_call = OnCall(cluster, tmp_path)
        for number, diverging in enumerate(timelines):
            past = timeline(cluster, [f"{name}-{number}" for name in ("ours", "kafkas")], rng)
            past.take_place(diverging=diverging)
            total.outages += len(past.outages)
            ours, kafkas = ([_logs(past, topic, each) for each in range(len(past.orders))] for topic in past.topics)
            _recover(on_call, past, ours, total)
            _let_kafka_elect(past, kafkas, total)
            for broker in past.dead:
                cluster.brokers[broker].start(wait=False)
            _assert_nothing_vanished(past, ours, kafkas)
            for broker in past.dead:
                cluster.brokers[broker].wait_ready()
    with capsys.disabled():
        print(f"\nKafka {kafka_version}: {total}")  # noqa: T201
    assert total.outages == _OUTAGES * len(timelines)
    assert total.diverged > 0
    assert total.ours < total.kafkas


def _logs(past: Timeline, topic: str, partition: int) -> Logs:
    return {each: log_of(past.cluster, each, topic, partition) for each in past.orders[partition]}


def _recover(on_call: OnCall, past: Timeline, logs: list[Logs], total: _Total) -> None:
    topic = past.topics[0]
    plan = on_call.plan(Strategy.AGGRESSIVE, topic)
    assert not plan.left_alone
    assert len(plan.elections) == len(logs)
    for election in plan.elections:
        _compare(election, logs[election.partition], past, total)
    assert [each for each in on_call.carry_out(plan) if each.status is not Status.RECOVERED] == []
    left = records_left(past.cluster, topic, range(len(logs)))
    for election in plan.elections:
        assert left[election.partition] == _values(logs[election.partition][election.designated_leader])


def _compare(election: PlannedElection, logs: Logs, past: Timeline, total: _Total) -> None:
    """Compare every candidate's forecast with the disks, and the elected candidate with the others."""
    alive = set(logs) - set(past.dead)
    assert {each.broker_id for each in election.candidates} == alive
    assert {each.broker_id for each in election.losses} == alive
    for loss in election.losses:
        _assert_inside(loss, logs)
    lost = {each: len(_lost_by(each, logs)) for each in alive}
    elected = election.designated_leader
    # The order of KAFKA-20098, also for diverged logs: newest epoch, then longest log.
    assert end_of(logs[elected]) == max(end_of(logs[each]) for each in alive)
    total.partitions += 1
    total.ours += lost[elected]
    total.dead += len(_all(logs, logs) - _all(logs, alive))
    if all(logs[each] <= logs[elected] for each in alive):
        assert lost[elected] == min(lost.values()), "no candidate that answered would have lost less"
        return
    # In diverged logs, records of older epochs are often more, but never those that the last leaders committed.
    assert election.partition in past.elected
    total.diverged += 1
    fewest = min(election.losses, key=lambda each: lost[each.broker_id])
    fewer = lost[elected] - lost[fewest.broker_id]
    if fewer:
        total.by_count += 1
        total.fewer += fewer
        assert fewest.more_than_first is not None
        assert fewest.more_than_first < 0, "the forecast says so"
        assert end_of(logs[fewest.broker_id])[0] < end_of(logs[elected])[0]


def _assert_inside(loss: ExpectedLoss, logs: Logs) -> None:
    """Check that the forecast is exact against replicas that answered, and a lower bound against dead ones."""
    mine = logs[loss.broker_id]
    true = len(_lost_by(loss.broker_id, logs))
    assert loss.at_least <= true
    assert loss.at_most is None, "the dead led last, so that nobody knows how much only they hold"
    for against in loss.against:
        lacking = {(each.epoch, each.offset) for each in logs[against.broker_id] - mine}
        if against.answered:
            assert against.lost is not None
            assert _offsets(against.lost) == lacking
        elif against.lost is not None:
            assert _offsets(against.lost) <= lacking


def _let_kafka_elect(past: Timeline, logs: list[Logs], total: _Total) -> None:
    topic = past.topics[1]
    past.cluster.client.elect_unclean(topic, range(len(logs)))
    wait_until(
        lambda: all(each.leader is not None for each in past.cluster.client.describe(topic).values()),
        90,
        what=f"{topic} has leaders",
    )
    left = records_left(past.cluster, topic, range(len(logs)))
    for number, state in past.cluster.client.describe(topic).items():
        assert state.leader is not None
        assert left[number] == _values(logs[number][state.leader])
        total.kafkas += len(_lost_by(state.leader, logs[number]))


def _assert_nothing_vanished(past: Timeline, ours: list[Logs], kafkas: list[Logs]) -> None:
    """Check that acknowledged records are on some disk, except where an unclean election happened before."""
    for topic, logs in zip(past.topics, (ours, kafkas), strict=True):
        for number, replicas in enumerate(logs):
            held = {each.value for each in _all(replicas, replicas)}
            reported = set(past.acknowledged[topic, number])
            assert held <= reported
            assert held == reported or number in past.elected


def _lost_by(leader: int, logs: Logs) -> Log:
    """Return all records of any replica, dead ones included, that the leader does not hold."""
    return _all(logs, logs) - logs[leader]


def _all(logs: Logs, brokers: Iterable[int]) -> Log:
    return frozenset[Record]().union(*(logs[each] for each in brokers))


def _offsets(stretches: Stretches) -> set[tuple[int, int]]:
    return {(each.epoch, offset) for each in stretches for offset in range(each.start_offset, each.end_offset)}


def _values(log: Log) -> list[str]:
    return [each.value for each in sorted(log, key=lambda each: each.offset)]
