# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compare the controller's elections with the model, in states that stops and starts of brokers generate."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.elections import PREFERRED, UNCLEAN, elect
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.reassignments import reorder
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.controller_model import (
    PredictedLeader,
    Rule,
    acceptable_replicas,
    predict,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    NO_LEADER,
    PartitionState,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.start_order import find_start_order
from integration.strategies.turmoil import Turmoil, Way
from lab import Cluster

_BROKERS = 4
_PARTITIONS = {1: 24, 2: 72, 3: 96}
"""Partitions of each topic, by its number of replicas."""
_ELR = "eligible.leader.replicas.version"
_ROUNDS = {None: 2, 1: 2}
"""The minimum number of distinct states, by the level of the ELR feature; None before 4.0, which has none."""
_WIDE_ROUNDS = {None: 4, 0: 2, 1: 4}
"""In `make test-all`."""
_MOST_ROUNDS = 8
"""The limit of further rounds. Rounds are random, and continue until each rule has decided some elections."""
_EVENTS = ("unclean", "unclean", "preferred", "reorder", "nothing")
_EVENTS_OF_LITTLE_EFFECT = (*_EVENTS, *("nothing",) * 10)
_SEED = 20261121

States = Mapping[TopicPartition, PartitionState]


@dataclass
class _Score:
    """Predictions, with the state that was known at that time, and the number of correct ones."""

    agreed: Counter[str] = field(default_factory=Counter)
    """Counts by the rule of the prediction."""
    disagreed: list[str] = field(default_factory=list)
    distinct: set[object] = field(default_factory=set)
    """Distinct states. Two states are the same if only broker ids differ."""
    has_seen_elr: bool = False

    def compare(
        self, event: str, before: PartitionState, order: Iterable[int], expected: PredictedLeader, after: PartitionState
    ) -> None:
        if after.leader_id == expected.leader_id:
            self.agreed[expected.rule] += 1
        else:
            self.disagreed.append(f"{event}, new order {order}: {before}: expected {expected}, {after.leader_id} leads")
        place = {broker: index for index, broker in enumerate(before.replicas)}
        named = (before.isr, before.elr or (), before.last_known_elr or (), before.offline_replicas)
        sets = tuple(frozenset(place.get(each, each) for each in brokers) for brokers in named)
        leader = place.get(before.leader_id, NO_LEADER)
        self.has_seen_elr |= bool(before.elr)
        self.distinct.add((event, len(place), leader, sets, tuple(place[each] for each in order)))


@pytest.mark.wide
@pytest.mark.timeout(900)
def test_the_controller_elects_whom_the_model_predicts(
    kafka_version: str, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    rounds = _WIDE_ROUNDS if request.config.getoption("--wide") else _ROUNDS
    has_no_elr = kafka_version.startswith("3.")
    for level in (each for each in rounds if (each is None) == has_no_elr):
        rng = random.Random(_SEED)
        score = _Score()
        rules_of_the_version = set(Rule) - (set() if level == 1 else {Rule.LAST_KNOWN_LEADER})
        with Cluster(kafka_version, brokers=_BROKERS, features={} if level is None else {_ELR: level}) as cluster:
            turmoil = _create_topics(cluster, rng)
            for done in range(_MOST_ROUNDS):
                if done >= rounds[level] and rules_of_the_version == {*score.agreed}:
                    break
                _one_round(turmoil, rng, score)
        elr = {None: "no ELR", 0: "ELR off", 1: "ELR on"}[level]
        agreed = score.agreed.total()
        rules = ", ".join(f"{count} {rule}" for rule, count in sorted(score.agreed.items()))
        with capsys.disabled():
            print(  # noqa: T201
                f"\nKafka {kafka_version}, {elr}: the controller did what was predicted in {agreed} of "
                f"{agreed + len(score.disagreed)} states, {len(score.distinct)} of them distinct ({rules})"
            )
        assert score.disagreed == []
        assert len(score.distinct) > 100, "the states are of many kinds"
        assert score.has_seen_elr == (level == 1)
        assert set(score.agreed) == rules_of_the_version, "each rule decided some"


def _create_topics(cluster: Cluster, rng: random.Random) -> Turmoil:
    """Return random subsets of the brokers, in random orders."""
    brokers = sorted(cluster.brokers)
    topics = []
    for min_isr in (1, 2):
        for replicas, partitions in _PARTITIONS.items():
            topics.append(f"min-isr-{min_isr}-of-{replicas}")
            orders = {number: rng.sample(brokers, replicas) for number in range(partitions)}
            cluster.client.create_topic(topics[-1], orders, {"min.insync.replicas": min_isr})
    return Turmoil(cluster, tuple(topics))


def _one_round(turmoil: Turmoil, rng: random.Random, score: _Score) -> None:
    """Stop and start all brokers except one; after each change, request elections of some partitions."""
    states = _ask_for_elections(turmoil, turmoil.leave(rng), rng, score)
    for broker in rng.sample(sorted(turmoil.away), len(turmoil.away)):
        states = _ask_for_elections(turmoil, _come_back(turmoil, broker, states, score), rng, score)


def _come_back(turmoil: Turmoil, broker: int, before: States, score: _Score) -> States:
    """Check that the advice about this broker is correct for every partition."""
    way = turmoil.away[broker]
    leaderless = [each for each in before.values() if each.is_offline]
    nobody = PredictedLeader(NO_LEADER, Rule.NOBODY)
    expected = dict.fromkeys((each.topic_partition for each in leaderless), nobody)
    for advice in find_start_order(leaderless, (), most_partitions=len(leaderless)):
        if advice.broker_id == broker:
            for each in advice.partitions:
                was_killed = way is Way.KILLED
                expected[each.topic_partition] = each.after_unclean_stop if was_killed else each.after_clean_stop
    after = turmoil.come_back(broker)
    for partition, prediction in expected.items():
        state = before[partition]
        returned = state.replicas.index(broker) if broker in state.replicas else None
        score.compare(f"{way} {returned} is back", state, state.replicas, prediction, after[partition])
    return after


def _ask_for_elections(turmoil: Turmoil, before: States, rng: random.Random, score: _Score) -> States:
    """Choose for each partition: an election of either type, a reorder, which can cause an election too, or nothing.

    One with a leader keeps it, except that a PREFERRED election may move it: that is not asked for.
    """
    unclean: list[TopicPartition] = []
    preferred: list[TopicPartition] = []
    orders: dict[TopicPartition, tuple[int, ...]] = {}
    for partition, state in before.items():
        event = rng.choice(_EVENTS if state.is_offline and acceptable_replicas(state) else _EVENTS_OF_LITTLE_EFFECT)
        if event == "unclean":
            unclean.append(partition)
        elif event == "preferred" and state.is_offline:
            preferred.append(partition)
        elif event == "reorder":
            orders[partition] = tuple(rng.sample(state.replicas, len(state.replicas)))
    asked = turmoil.cluster.live_brokers[0].node_id
    with Wire(turmoil.connection(asked)) as wire:
        elect(wire, turmoil.address(asked), UNCLEAN, unclean)
        if preferred:
            elect(wire, turmoil.address(asked), PREFERRED, preferred)
        reorder(wire, turmoil.address(asked), orders)
    after = turmoil.states(orders)
    for partition, state in before.items():
        event = "unclean" if partition in unclean else "preferred" if partition in preferred else "other"
        order = orders.get(partition, state.replicas)
        if not state.is_offline and event == "other" and partition not in orders:
            continue
        expected = predict(state, order, acceptable_replicas(state), unclean=event == "unclean")
        assert after[partition].replicas == order
        score.compare(event, state, order, expected, after[partition])
    return after
