# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The replicas that are asked again before an election, and the questions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Broker,
    EpochEnd,
    ReplicaLog,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.designations import plan_from_designations
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.observation import observe_partitions
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Plan
from unit.fakes.wreck import BEHIND, BEST, DEAD, Wreck, partitions

FIRST, SECOND, THIRD = partitions(3)

Question = tuple[int, tuple[TopicPartition, ...], frozenset[TopicPartition]]
"""The broker, what it is asked, and of what only the newest epoch."""


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
    ) -> list[ReplicaLog]:
        assert set(checked) == (set(replicas) - set(only_newest) if plan.elections[0].candidates else set())
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
