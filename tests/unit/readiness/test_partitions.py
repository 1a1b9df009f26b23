# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks of topic settings, and the predicted loss of each broker."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Broker,
    BrokerState,
    PartitionState,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.check import CheckName, Status
from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.partitions import (
    TopicSettings,
    check_losses,
    check_partitions,
    predict_broker_losses,
)

ALL = (1, 2, 3)
USUAL = TopicSettings({"orders": 2}, {"orders": False})
STATE = PartitionState("orders", 0, "A" * 22, 1, 5, ALL, ALL, (), (), ())


def status(name: CheckName, state: PartitionState, settings: TopicSettings = USUAL) -> Status:
    """Return the status of one check of one partition."""
    return next(each.status for each in check_partitions([state], settings) if each.name is name)


def test_a_healthy_partition_passes() -> None:
    assert {each.status for each in check_partitions([STATE], USUAL)} == {Status.OK}


@pytest.mark.parametrize(
    ("name", "state", "settings", "wanted"),
    [
        (CheckName.PARTITIONS, STATE._replace(leader_id=-1), USUAL, Status.FAILED),
        (CheckName.PARTITIONS, STATE._replace(isr=(1, 2)), USUAL, Status.WARNING),
        (CheckName.REPLICATION_FACTOR, STATE._replace(replicas=(1,), isr=(1,)), USUAL, Status.WARNING),
        (CheckName.MIN_INSYNC_REPLICAS, STATE, TopicSettings({"orders": 4}, {}), Status.WARNING),
        (CheckName.MIN_INSYNC_REPLICAS, STATE._replace(replicas=(1,), isr=(1,)), USUAL, Status.OK),
        (CheckName.MIN_INSYNC_REPLICAS, STATE, TopicSettings({"orders": 1}, {}), Status.WARNING),
        (CheckName.MIN_INSYNC_REPLICAS, STATE, TopicSettings({"orders": 3}, {}), Status.WARNING),
        (CheckName.MIN_INSYNC_REPLICAS, STATE, TopicSettings({}, {}), Status.UNKNOWN),
        (CheckName.UNCLEAN_ELECTION, STATE, TopicSettings({}, {"orders": True}), Status.WARNING),
        (CheckName.UNCLEAN_ELECTION, STATE, TopicSettings({}, {}), Status.UNKNOWN),
    ],
)
def test_each_problem_is_found(name: CheckName, state: PartitionState, settings: TopicSettings, wanted: Status) -> None:
    assert status(name, state, settings) is wanted


@pytest.mark.parametrize(("least", "in_sync", "is_below"), [(4, 3, False), (4, 2, True), (2, 2, False), (2, 1, True)])
def test_at_most_the_replication_factor_must_be_in_sync(least: int, in_sync: int, is_below: bool) -> None:
    assert TopicSettings({"orders": least}, {}).is_below_min_isr(STATE, in_sync) is is_below


def test_a_replica_that_is_not_in_sync_does_not_lead() -> None:
    (loss,) = [
        each for each in predict_broker_losses([STATE._replace(isr=(1,))], ALL, ALL, USUAL) if each.offline_partitions
    ]
    assert (loss.broker_id, loss.offline, loss.unrecoverable_partitions) == (1, "orders 0", 0)


def test_the_loss_of_the_last_live_replica_is_unrecoverable() -> None:
    state = STATE._replace(isr=(1,), offline_replicas=(2, 3))
    (loss,) = predict_broker_losses([state], ALL, [1], USUAL)
    assert (loss.offline_partitions, loss.unrecoverable_partitions, loss.unrecoverable) == (1, 1, "orders 0")
    assert [each.status for each in check_losses([loss])] == [Status.WARNING]


def test_an_eligible_leader_replica_is_elected() -> None:
    state = STATE._replace(isr=(1,), elr=(2,))
    assert all(not each.offline_partitions for each in predict_broker_losses([state], ALL, ALL, USUAL))


def test_partitions_below_min_isr_are_counted_separately() -> None:
    state = STATE._replace(isr=(1, 2))
    below = {each.broker_id: each.below_min_isr_partitions for each in predict_broker_losses([state], ALL, ALL, USUAL)}
    assert below == {1: 1, 2: 1, 3: 0}
    unknown = predict_broker_losses([state], ALL, ALL, TopicSettings({}, {}))
    assert {each.below_min_isr_partitions for each in unknown} == {None}


def test_partitions_that_are_already_offline_are_left_out() -> None:
    losses = predict_broker_losses([STATE._replace(leader_id=-1, isr=())], ALL, ALL, USUAL)
    assert not any(each.offline_partitions for each in losses)
    assert [each.status for each in check_losses(losses)] == [Status.OK]


def test_leaders_that_do_not_answer_are_no_leaders() -> None:
    hung = Broker(1, "kafka1", 9092, None, is_fenced=False, state=BrokerState.HUNG, cause="no answer")
    checks = [each for each in check_partitions([STATE], USUAL, (), {1: hung}) if each.name is CheckName.PARTITIONS]
    assert [each.status for each in checks] == [Status.FAILED]
    assert checks[0].found == (
        "partitions are led by brokers that do not answer, as the metadata says: 1 by broker 1: orders 0"
    )
