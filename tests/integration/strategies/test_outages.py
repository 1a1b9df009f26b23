# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Random outages on real brokers: is the loss what was forecast, and does the controller do what was predicted?"""

from __future__ import annotations

import random

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import NO_LEADER, TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.controller_model import Prediction, predict
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.plan import PlannedElection, Status
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.preconditions import acceptable_replicas
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.start_order import start_order
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.strategy import Strategy
from integration.strategies.on_call import OnCall
from integration.strategies.outages import Outage, break_down, records_left
from lab import Cluster, wait_until

_ROUNDS = 2
_OUTAGES_A_ROUND = 16
_PARTITIONS = 4
_SEED = 20261121


@pytest.mark.timeout(600)
def test_losses_are_as_forecast_and_the_controller_as_predicted(
    cluster: Cluster, on_call: OnCall, capsys: pytest.CaptureFixture[str]
) -> None:
    """Twins of each partition: ours, Kafka's own unclean election, and one that waits for the dead broker."""
    rng = random.Random(_SEED)
    ours = kafkas = states = 0
    for number in range(_ROUNDS):
        topics = [f"{name}-{number}" for name in ("ours", "kafkas", "waits")]
        outage = break_down(cluster, topics, _OUTAGES_A_ROUND * _PARTITIONS, rng)
        ours += _ours(cluster, on_call, outage)
        lost, predicted = _kafkas(cluster, on_call, outage)
        kafkas += lost
        states += predicted + _waits(cluster, on_call, outage)
    outages = _ROUNDS * _OUTAGES_A_ROUND
    with capsys.disabled():
        print(  # noqa: T201
            f"\nKafka {cluster.version}: {outages} outages of {_PARTITIONS} partitions: {ours} records lost, {kafkas} "
            f"by Kafka's own unclean election; the controller did what was predicted in {states} of {states} states"
        )
    assert ours < kafkas


def _ours(cluster: Cluster, on_call: OnCall, outage: Outage) -> int:
    """Records lost by our elections; each partition's true loss was forecast, and no other candidate's is smaller."""
    topic = outage.topics[0]
    plan = on_call.plan(Strategy.AGGRESSIVE, topic)
    assert not plan.left_alone
    assert {each.status for each in on_call.carry_out(plan)} == {Status.RECOVERED}
    left = records_left(cluster, topic, outage.orders)
    return sum(_true_loss(each, outage, left[each.partition]) for each in plan.elections)


def _true_loss(election: PlannedElection, outage: Outage, left: int) -> int:
    written = outage.written[election.partition]
    held = {each.broker_id: each.log_end_offset for each in election.candidates}
    assert left == held[election.designated_leader] == max(held.values()), "no candidate would have lost less"
    for loss in election.losses:
        true = written - held[loss.broker_id]
        assert loss.at_least <= true, f"{election.topic_partition}: {loss}, and {true} were lost"
        assert loss.at_most is None, "the dead broker is never known to hold nothing"
    return written - left


def _kafkas(cluster: Cluster, on_call: OnCall, outage: Outage) -> tuple[int, int]:
    """Records lost by elections in the order as it is, and how many of them were predicted: all."""
    topic = outage.topics[1]
    expected = {}
    for partition, state in on_call.states(topic).items():
        expected[partition] = predict(state, state.replicas, acceptable_replicas(state), unclean=True)
    cluster.client.elect_unclean(topic, outage.orders)
    wait_until(
        lambda: all(each.leader is not None for each in cluster.client.describe(topic).values()),
        60,
        what=f"{topic} has leaders",
    )
    _assert_led(cluster, expected)
    left = records_left(cluster, topic, outage.orders)
    return sum(outage.written[number] - left[number] for number in outage.orders), len(expected)


def _waits(cluster: Cluster, on_call: OnCall, outage: Outage) -> int:
    """Nobody is elected before the dead broker is back, and then who was foreseen. Returns how many were predicted."""
    topic = outage.topics[2]
    found = on_call.look(topic)
    for state in found.without_leader:
        nobody = predict(state, state.replicas, acceptable_replicas(state), unclean=False)
        assert nobody.leader_id == NO_LEADER
    (advice,) = start_order(found.without_leader, found.brokers, most_partitions=len(outage.orders))
    assert (advice.broker_id, advice.last_leader_of) == (outage.dead, len(outage.orders))
    expected = {each.topic_partition: each.after_unclean_stop for each in advice.partitions}
    cluster.brokers[outage.dead].start()
    wait_until(
        lambda: all(each.leader is not None for each in cluster.client.describe(topic).values()),
        60,
        what=f"{topic} has leaders again",
    )
    _assert_led(cluster, expected)
    left = records_left(cluster, topic, outage.orders)
    assert left == dict(outage.written), "the last leader held all that was acknowledged"
    return 2 * len(expected)


def _assert_led(cluster: Cluster, expected: dict[TopicPartition, Prediction]) -> None:
    topics = {each.topic for each in expected}
    leaders = {
        TopicPartition(topic, number): state.leader
        for topic in topics
        for number, state in cluster.client.describe(topic).items()
    }
    assert leaders == {partition: each.leader_id for partition, each in expected.items()}
