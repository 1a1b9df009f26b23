# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The replicas that are asked again before an election, and the questions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.cluster import Cluster
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Broker,
    Cause,
    EpochEnd,
    ReplicaLog,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.designations import plan_from_designations
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.observation import (
    observe_partitions,
    read_until,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Plan
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.silences import Silences
from unit.fakes.clock import FakeClock
from unit.fakes.cluster import FakeCluster
from unit.fakes.wreck import BEHIND, BEST, DEAD, Wreck, partitions

FIRST, SECOND, THIRD = partitions(3)
ABSENT = TopicPartition("orders", 99)

Question = tuple[int, tuple[TopicPartition, ...], frozenset[TopicPartition]]
"""The broker, what it is asked, and of what only the newest epoch."""


def _needed_by(plan: Plan) -> set[int]:
    return {each for one in plan.elections for each in (one.designated_leader, *(c.broker_id for c in one.candidates))}


def asked(wreck: Wreck, plan: Plan) -> list[Question]:
    """Return the questions to brokers before these elections."""
    questions: list[Question] = []

    def probe_replicas(
        broker: Broker,
        replicas: Sequence[TopicPartition],
        _deadline: float,
        *,
        only_newest: Mapping[TopicPartition, EpochEnd | None],
        checked: Collection[TopicPartition],
        is_retried: bool,
    ) -> list[ReplicaLog]:
        assert set(checked) == (set(replicas) - set(only_newest) if plan.elections[0].candidates else set())
        assert is_retried == (broker.broker_id in _needed_by(plan)), "the elections can do without others"
        questions.append((broker.broker_id, tuple(replicas), frozenset(only_newest)))
        return []

    wreck.cluster.answer(probe_replicas=probe_replicas)
    observe_partitions(wreck.cluster, wreck.cluster.describe_cluster(), plan.elections)
    return sorted(questions)


def test_a_replica_that_was_silent_is_asked_for_its_lineage_and_others_for_their_newest_epoch(wreck: Wreck) -> None:
    everything = (FIRST, SECOND, THIRD)
    assert asked(wreck, wreck.plan()) == [
        (DEAD, everything, frozenset()),
        (BEHIND, everything, frozenset(everything)),
        (BEST, everything, frozenset(everything)),
    ]


def test_all_replicas_of_a_bare_designation_are_asked_for_their_lineages(wreck: Wreck) -> None:
    plan = plan_from_designations(wreck.cluster, {FIRST: BEST, SECOND: BEHIND, THIRD: BEST})
    everything = (FIRST, SECOND, THIRD)
    assert asked(wreck, plan) == [(each, everything, frozenset()) for each in (DEAD, BEHIND, BEST)]


@pytest.mark.parametrize(("partitions", "limits"), [(3, 1), (250, 2), (1000, 5)])
def test_brokers_get_more_time_for_more_partitions(wreck: Wreck, partitions: int, limits: int) -> None:
    """The limit is one request_timeout_ms, and one more for every 250 replicas of a large batch."""
    cluster, elections = wreck.cluster, (wreck.plan().elections * partitions)[:partitions]
    deadlines: set[float] = set()

    def probe_replicas(_broker: Broker, _replicas: object, deadline: float, **_options: object) -> list[ReplicaLog]:
        deadlines.add(deadline)
        return []

    cluster.answer(probe_replicas=probe_replicas)
    began, limit_s = cluster.clock.monotonic(), cluster.settings.request_timeout_ms / 1000
    observe_partitions(cluster, cluster.describe_cluster(), elections)
    (deadline,) = deadlines
    assert began + limits * limit_s <= deadline < began + (limits + 1) * limit_s


@pytest.mark.parametrize(
    ("later_s", "cause", "questions"),
    [
        (49.0, Cause.HUNG, 1),
        (50.0, Cause.HUNG, 2),
        (0.0, Cause.DISCONNECTED, 2),
    ],
    ids=["just asked", "asked long ago", "it answers"],
)
def test_a_silent_broker_is_not_asked_in_every_batch(
    wreck: Wreck, later_s: float, cause: Cause, questions: int
) -> None:
    dead, silences = _Dead(wreck.cluster, cause), Silences()
    first = _observe(wreck, silences)
    wreck.cluster.clock.sleep(later_s)
    assert _observe(wreck, silences) == first, "it is silent, and not absent"
    assert dead.questions == questions


def test_every_broker_is_asked_again_after_records_were_saved(wreck: Wreck) -> None:
    dead, silences = _Dead(wreck.cluster, Cause.HUNG), Silences()
    _observe(wreck, silences)
    silences.forget_all()
    _observe(wreck, silences)
    assert dead.questions == 2


@pytest.mark.parametrize("changed", ["address", "fenced", "gone"])
def test_a_silent_broker_is_asked_at_once_if_its_registration_changes(wreck: Wreck, changed: str) -> None:
    dead, silences = _Dead(wreck.cluster, Cause.HUNG), Silences()
    _observe(wreck, silences)
    now = wreck.cluster.describe_cluster()
    others = [each for each in now.registrations if each.broker_id != DEAD]
    (itself,) = [each for each in now.registrations if each.broker_id == DEAD]
    later = {
        "address": [replace(itself, address=Address("moved", 1))],
        "fenced": [replace(itself, is_fenced=not itself.is_fenced)],
        "gone": [],
    }[changed]
    _observe(wreck, silences, replace(now, registrations=(*later, *others)))
    _observe(wreck, silences)
    assert dead.questions == (2 if changed == "gone" else 3)


class _Dead:
    """Broker 1 of the fake cluster takes 5 s to answer with an error. Counts the questions to it."""

    def __init__(self, cluster: FakeCluster, cause: Cause) -> None:
        self.questions, self._cluster, self._cause = 0, cluster, cause
        cluster.answer(probe_replicas=self._probe_replicas)

    def _probe_replicas(
        self, broker: Broker, replicas: Sequence[TopicPartition], *_: object, **_options: object
    ) -> list[ReplicaLog]:
        if broker.broker_id != DEAD:
            return []
        self.questions += 1
        self._cluster.clock.sleep(5.0)
        return [ReplicaLog.failed(each, DEAD, self._cause, "no answer") for each in replicas]


def _observe(wreck: Wreck, silences: Silences, cluster: Cluster | None = None) -> object:
    now = cluster or wreck.cluster.describe_cluster()
    return observe_partitions(wreck.cluster, now, wreck.plan().elections, silences=silences)


def test_only_existing_partitions_have_states(wreck: Wreck) -> None:
    assert wreck.cluster.read_partition_states([SECOND, ABSENT]).states.keys() == {SECOND}
    assert wreck.cluster.read_partition_states([]).states == {}


def test_waiting_ends_when_all_are_done_or_at_the_timeout(wreck: Wreck, clock: FakeClock) -> None:
    assert read_until(wreck.cluster, [FIRST], 10, lambda _state: True).keys() == {FIRST}
    assert clock.now == 0
    assert read_until(wreck.cluster, [FIRST, ABSENT], 3, lambda _state: True).keys() == {FIRST}
    assert clock.now == pytest.approx(3, abs=0.2)
    assert read_until(wreck.cluster, [FIRST], 3, lambda _state: False).keys() == {FIRST}
    assert clock.now == pytest.approx(6, abs=0.4)


def test_waiting_for_a_silent_cluster_returns_nothing(wreck: Wreck) -> None:
    wreck.cluster.reads_until_silent = 0
    assert read_until(wreck.cluster, [FIRST], 10, lambda _state: True) == {}
