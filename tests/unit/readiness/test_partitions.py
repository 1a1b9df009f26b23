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
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.stop_prediction import ClusterView
from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.check import (
    BrokerLoss,
    CheckName,
    CheckStatus,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.partitions import (
    TopicSettings,
    check_losses,
    check_partitions,
    predict_losses,
)

ALL = (1, 2, 3)
USUAL = TopicSettings({"orders": 2}, {"orders": False})
STATE = PartitionState("orders", 0, "A" * 22, 1, 5, ALL, ALL, (), (), ())


def view(state: PartitionState, live: tuple[int, ...] = ALL, settings: TopicSettings = USUAL) -> ClusterView:
    """Return a cluster of three brokers, those with odd ids in rack a, with this partition."""
    states = {each: BrokerState.ONLINE if each in live else BrokerState.HUNG for each in ALL}
    brokers = tuple(
        Broker(each, "kafka", 9092, "a" if each % 2 else "b", is_fenced=False, state=states[each], cause="")
        for each in ALL
    )
    return ClusterView(states=(state,), brokers=brokers, min_isr=settings.min_isr, unclean=settings.unclean)


def broker_losses(
    state: PartitionState, live: tuple[int, ...] = ALL, settings: TopicSettings = USUAL
) -> dict[int, BrokerLoss]:
    return {each.broker_id: each for each in predict_losses(view(state, live, settings)).brokers}


def status(name: CheckName, state: PartitionState, settings: TopicSettings = USUAL) -> CheckStatus:
    """Return the status of one check of one partition."""
    return next(each.status for each in check_partitions([state], settings) if each.name is name)


def test_a_healthy_partition_passes() -> None:
    assert {each.status for each in check_partitions([STATE], USUAL)} == {CheckStatus.OK}


@pytest.mark.parametrize(
    ("name", "state", "settings", "wanted"),
    [
        (CheckName.PARTITIONS, STATE._replace(leader_id=-1), USUAL, CheckStatus.FAILED),
        (CheckName.PARTITIONS, STATE._replace(isr=(1, 2)), USUAL, CheckStatus.WARNING),
        (CheckName.REPLICATION_FACTOR, STATE._replace(replicas=(1,), isr=(1,)), USUAL, CheckStatus.WARNING),
        (CheckName.MIN_INSYNC_REPLICAS, STATE, TopicSettings({"orders": 4}, {}), CheckStatus.WARNING),
        (CheckName.MIN_INSYNC_REPLICAS, STATE._replace(replicas=(1,), isr=(1,)), USUAL, CheckStatus.OK),
        (CheckName.MIN_INSYNC_REPLICAS, STATE, TopicSettings({"orders": 1}, {}), CheckStatus.WARNING),
        (CheckName.MIN_INSYNC_REPLICAS, STATE, TopicSettings({"orders": 3}, {}), CheckStatus.WARNING),
        (CheckName.MIN_INSYNC_REPLICAS, STATE, TopicSettings({}, {}), CheckStatus.UNKNOWN),
        (CheckName.UNCLEAN_ELECTION, STATE, TopicSettings({}, {"orders": True}), CheckStatus.WARNING),
        (CheckName.UNCLEAN_ELECTION, STATE, TopicSettings({}, {}), CheckStatus.UNKNOWN),
    ],
)
def test_each_problem_is_found(
    name: CheckName, state: PartitionState, settings: TopicSettings, wanted: CheckStatus
) -> None:
    assert status(name, state, settings) is wanted


@pytest.mark.parametrize(("least", "in_sync", "is_below"), [(4, 3, False), (4, 2, True), (2, 2, False), (2, 1, True)])
def test_at_most_the_replication_factor_must_be_in_sync(least: int, in_sync: int, is_below: bool) -> None:
    assert TopicSettings({"orders": least}, {}).is_below_min_isr(STATE, in_sync) is is_below


def test_a_replica_that_is_not_in_sync_does_not_lead() -> None:
    found = broker_losses(STATE._replace(isr=(1,)))
    assert [broker_id for broker_id, each in found.items() if each.offline_partitions] == [1]
    assert (found[1].offline, found[1].unrecoverable_partitions) == ("orders 0", 0)


def test_an_automatic_unclean_election_counts_as_no_leader() -> None:
    found = broker_losses(STATE._replace(isr=(1,)), settings=TopicSettings({"orders": 2}, {"orders": True}))
    assert (found[1].offline, found[1].below_min_isr_partitions) == ("orders 0", 0)


def test_the_loss_of_the_last_live_replica_is_unrecoverable() -> None:
    losses = predict_losses(view(STATE._replace(isr=(1,), offline_replicas=(2, 3)), (1,)))
    ((loss,), racks) = losses.brokers, losses.racks
    assert (loss.offline_partitions, loss.unrecoverable_partitions) == (1, 1)
    assert (loss.unrecoverable, racks) == ("orders 0", ())
    assert [each.status for each in check_losses(losses)] == [CheckStatus.WARNING]


def test_an_eligible_leader_replica_is_elected() -> None:
    assert not any(each.offline_partitions for each in broker_losses(STATE._replace(isr=(1,), elr=(2,))).values())


def test_partitions_below_min_isr_are_counted_separately() -> None:
    state = STATE._replace(isr=(1, 2))
    below = {broker_id: each.below_min_isr_partitions for broker_id, each in broker_losses(state).items()}
    assert below == {1: 1, 2: 1, 3: 0}
    unknown = broker_losses(state, settings=TopicSettings({}, {}))
    assert {each.below_min_isr_partitions for each in unknown.values()} == {None}


def test_topics_with_too_small_and_too_large_min_isr_are_both_named() -> None:
    loose, strict = STATE._replace(topic="__consumer_offsets"), STATE
    settings = TopicSettings({"__consumer_offsets": 1, "orders": 5}, {"__consumer_offsets": False, "orders": False})
    checks = check_partitions([loose, strict], settings)
    (check,) = (each for each in checks if each.name is CheckName.MIN_INSYNC_REPLICAS)
    assert check.status is CheckStatus.WARNING
    assert (
        "acknowledged records: __consumer_offsets. min.insync.replicas is the replication factor or more" in check.found
    )
    assert check.found.endswith(": orders")


def test_partitions_that_are_already_offline_are_left_out() -> None:
    losses = predict_losses(view(STATE._replace(leader_id=-1, isr=())))
    assert not any(each.offline_partitions for each in losses.brokers)
    assert [each.status for each in check_losses(losses)] == [CheckStatus.OK]


def test_the_loss_of_a_rack_is_predicted() -> None:
    losses = predict_losses(view(STATE._replace(isr=(1, 3))))
    assert [each.offline_partitions for each in losses.brokers] == [0, 0, 0]
    (rack,) = losses.racks
    assert (rack.rack, rack.brokers, rack.offline) == ("a", (1, 3), "orders 0")
    (check,) = check_losses(losses)
    assert (check.status, check.subject) == (CheckStatus.WARNING, "rack a")
    assert check.found == "if brokers 1, 3 died now, 1 partition would have no leader: orders 0"


def test_leaders_that_do_not_answer_are_no_leaders() -> None:
    hung = Broker(1, "kafka1", 9092, None, is_fenced=False, state=BrokerState.HUNG, cause="no answer")
    checks = [each for each in check_partitions([STATE], USUAL, (), {1: hung}) if each.name is CheckName.PARTITIONS]
    assert [each.status for each in checks] == [CheckStatus.FAILED]
    assert checks[0].found == (
        "partitions are led by brokers that do not answer, as the metadata says: 1 by broker 1: orders 0"
    )
