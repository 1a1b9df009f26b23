# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How long a run waits for brokers, and its decision then. See tests/integration/strategies for real brokers."""

from __future__ import annotations

import threading

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.cluster import Registration
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    NO_LEADER,
    Broker,
    BrokerState,
    PartitionState,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Policy, Strategy
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.survey import survey
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.waiting import (
    Waited,
    WaitLimits,
    wait_for_brokers,
)
from unit.fakes.clock import FakeClock
from unit.fakes.cluster import FakeCluster

_LONGEST_LOOK_S = 0.1
STATE = PartitionState("orders", 0, "A" * 22, NO_LEADER, 7, (1, 2, 3), (), (1,), (1,), (1, 2))


class Events(FakeClock):
    """A clock with scheduled events, and what a run said meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.looked = threading.Event()

    def sleep(self, seconds: float) -> None:
        # The threads that check brokers must run, which may take long on a busy machine.
        self.looked.wait(_LONGEST_LOOK_S)
        self.looked.clear()
        super().sleep(seconds)

    def step(self, text: str, done: int | None = None, total: int | None = None) -> None:
        self.texts.append(text)


@pytest.fixture
def events() -> Events:
    return Events()


@pytest.fixture
def cluster(events: Events) -> FakeCluster:
    found = FakeCluster({STATE.topic_partition: STATE}, {3}, {1, 2, 3}, {})
    found.clock = events

    def look(registration: Registration) -> Broker:
        (broker,) = [
            each for each in found.probe_brokers(found.describe_cluster()) if each.broker_id == registration.broker_id
        ]
        events.looked.set()
        return broker

    found.answer(probe_broker=look)
    return found


def wait(cluster: FakeCluster, events: Events, strategy: Strategy, limits: WaitLimits) -> Waited:
    found = survey(cluster, lost=limits.lost)
    return wait_for_brokers(cluster, found, {"orders": Policy(strategy)}, limits, events)


def test_the_wait_ends_when_all_brokers_have_returned(cluster: FakeCluster, events: Events) -> None:
    events.in_s(8.0, lambda: cluster.revive(2))
    limits = WaitLimits(30_000, 0, waits=True, lost=frozenset({1}))
    waited = wait(cluster, events, Strategy.AGGRESSIVE, limits)
    assert 8 <= events.now < 12
    assert [(each.broker_id, each.has_returned) for each in waited.awaited] == [(2, True)]
    (offline,) = waited.survey.offline
    assert offline.offline_replicas == (1,), "the metadata is read again"
    states = {each.broker_id: each.state for each in waited.survey.brokers}
    assert states == {1: BrokerState.GIVEN_UP, 2: BrokerState.ONLINE, 3: BrokerState.ONLINE}


def test_the_wait_ends_when_the_time_is_up(cluster: FakeCluster, events: Events) -> None:
    waited = wait(cluster, events, Strategy.AGGRESSIVE, WaitLimits(10_000, 60_000, waits=True))
    assert 10 <= events.now < 12, "aggressive needs nobody, so the longer limit is not for it"
    assert [(each.broker_id, each.waited_ms, each.has_returned) for each in waited.awaited] == [
        (1, 10_000, False),
        (2, 10_000, False),
    ]
    assert events.texts[0] == "waiting for broker 1 (fenced), broker 2 (fenced): 0 s so far, 10 s at most"


def test_balanced_waits_longer_for_a_needed_broker_and_kafka_elects_it(cluster: FakeCluster, events: Events) -> None:
    events.in_s(25.0, lambda: cluster.revive(1))
    waited = wait(cluster, events, Strategy.BALANCED, WaitLimits(10_000, 60_000, waits=True))
    assert 25 <= events.now < 30
    assert waited.survey.offline == ()
    (online,) = waited.survey.left_alone
    assert online.leader_id == 1
    assert "which 1 partition needs" in events.texts[0]


def test_a_run_waits_for_an_election_by_the_controller(cluster: FakeCluster, events: Events) -> None:
    """Without ELR, the member of the ISR is unfenced, and the metadata does not show it as leader yet."""
    cluster.change(STATE.topic_partition, isr=(1,), elr=())
    events.in_s(8.0, lambda: cluster.unfenced.add(1))
    events.in_s(10.0, lambda: cluster.revive(1))
    waited = wait(cluster, events, Strategy.BALANCED, WaitLimits(30_000, 0, waits=True))
    assert 10 <= events.now < 13
    assert waited.survey.offline == ()
    assert "waiting for the controller to elect the replicas that have returned" in events.texts


def test_a_run_that_elects_nothing_does_not_wait(cluster: FakeCluster, events: Events) -> None:
    waited = wait(cluster, events, Strategy.BALANCED, WaitLimits(10_000, 60_000, waits=False))
    assert events.now == 0
    (broker,) = waited.awaited
    assert (broker.broker_id, broker.limit_ms, broker.waited_ms) == (1, 60_000, None)
