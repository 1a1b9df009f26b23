# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Records of live losers are saved before their election, and elections without losers come first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange, Tail
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.expected_loss import describe_losses
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.forecast import Forecast, LossAgainst
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Plan, Status
from unit.fakes.wreck import BEHIND, BEST, DEAD, TOPIC_ID, Wreck, partitions

FIRST, SECOND, THIRD = partitions(3)
LOST = (EpochRange(5, 100, 200),)


def deleting(wreck: Wreck, *where: TopicPartition) -> Plan:
    """Return a plan whose elections make broker BEHIND delete records of these partitions."""
    plan = wreck.plan()
    against = (LossAgainst(BEHIND, True, LOST, 100), LossAgainst(DEAD, False, LOST))
    losses = describe_losses([Forecast(BEST, against, LOST, 0), Forecast(BEHIND, (), (), 0)])
    return replace(
        plan,
        elections=tuple(
            replace(each, losses=losses if each.topic_partition in where else ()) for each in plan.elections
        ),
    )


def test_tails_of_live_losers_are_saved_and_other_elections_do_not_wait(wreck: Wreck) -> None:
    seen: list[tuple[Sequence[Tail], set[TopicPartition]]] = []

    def save(tails: Sequence[Tail]) -> Mapping[TopicPartition, str]:
        led = {each for each, state in wreck.cluster.states.items() if not state.is_offline}
        seen.append((tails, led))
        return {}

    report = wreck.run(deleting(wreck, FIRST), save_tails=save)
    assert {each.status for each in report.outcomes} == {Status.RECOVERED}
    assert seen == [([Tail(FIRST, TOPIC_ID, BEHIND, LOST)], {SECOND, THIRD})]


def test_a_partition_whose_records_could_not_be_saved_is_refused(wreck: Wreck) -> None:
    report = wreck.run(deleting(wreck, FIRST, SECOND), save_tails=lambda _tails: {SECOND: "the disk is full"})
    found = {each.topic_partition: (each.status, each.reason) for each in report.outcomes}
    assert found[SECOND] == (Status.REFUSED, "the disk is full")
    assert {found[FIRST][0], found[THIRD][0]} == {Status.RECOVERED}


def test_nothing_is_saved_in_check_mode_or_without_losers(wreck: Wreck) -> None:
    def save(_tails: Sequence[Tail]) -> Mapping[TopicPartition, str]:
        raise AssertionError("nothing is to be saved")

    wreck.run(deleting(wreck, FIRST), check_mode=True, save_tails=save)
    report = wreck.run(save_tails=save)
    assert {each.status for each in report.outcomes} == {Status.RECOVERED}
