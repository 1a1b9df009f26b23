# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check partitions and the settings of their topics: what would the next outage do? Pure; standard library only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._model.partition import MIN_ISR, UNCLEAN, Broker, PartitionState, TopicPartition, effective_min_isr, grouped
from .._model.reasons import join_first, name_brokers, name_partitions, plural
from .._model.silent_leaders import led_by_silent
from .._model.stop_prediction import ClusterView, StopReasonKind, predict_stop
from .check import (
    BrokerLoss,
    Check,
    CheckName,
    CheckStatus,
    Losses,
    PartitionLoss,
    RackLoss,
    failed,
    passed,
    unknown,
    warning,
)


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """The settings of topics. A topic whose setting could not be read is missing."""

    min_isr: Mapping[str, int]
    unclean: Mapping[str, bool]
    """The effective value of unclean.leader.election.enable."""
    own: frozenset[str] = frozenset()
    """This collection's own topics: their min.insync.replicas is no choice of the operator."""

    def is_below_min_isr(self, state: PartitionState, in_sync: int) -> bool:
        """Return whether so many in-sync replicas are too few for acks=all. False if the setting is not known."""
        return in_sync < effective_min_isr(self.min_isr.get(state.topic, 0), len(state.replicas))


def check_replaced(reasons: Mapping[TopicPartition, str], to_save: Collection[int]) -> Iterator[Check]:
    """Check that no leader has a new disk while all other replicas, those on ``to_save``, are down."""
    if not reasons:
        return
    first, why = min(reasons.items())
    more = f"; and {plural(len(reasons) - 1, 'more partition')}" if len(reasons) > 1 else ""
    yield failed(
        CheckName.PARTITIONS,
        f"{first}: {why}{more}",
        f"Save the disks of {name_brokers(to_save)} before you start them (playbook kafkaops.recovery.salvage_logs), "
        "and replay the records later (kafkaops.recovery.replay_salvaged_records)",
    )


def _check_silent_leaders(states: Iterable[PartitionState], silent: Mapping[int, Broker]) -> Iterator[Check]:
    """Check that no leader is on a broker that does not answer, and that the controller has not fenced."""
    led = [state for state, _why in led_by_silent(states, silent)]
    if led:
        brokers = name_brokers({each.leader_id for each in led})
        yield failed(
            CheckName.PARTITIONS,
            f"partitions are led by brokers that do not answer, as the metadata says: {len(led)} by {brokers}: "
            f"{name_partitions(led)}",
            "Check again after broker.session.timeout.ms (9 s by default): by then the controller has fenced a broker "
            "that is dead, and the partitions have another leader or none",
        )


def check_partitions(
    states: Sequence[PartitionState],
    settings: TopicSettings,
    to_save: Collection[int] = (),
    silent: Mapping[int, Broker] | None = None,
) -> Iterator[Check]:
    """Check the current state of the partitions, and the settings of their topics.

    ``to_save`` are ids of brokers whose disks must be saved before they are started. ``silent`` are the brokers that do
    not answer, and that the controller has not fenced.
    """
    doubts = [*_check_silent_leaders(states, silent or {})]
    yield from doubts
    leaders = _check_leaders_and_isr(states, settings, to_save)
    if not doubts or leaders.status is not CheckStatus.OK:
        yield leaders
    yield _check_replication_factor(states)
    yield _check_min_isr(states, settings)
    yield _check_unclean(states, settings)


def predict_losses(view: ClusterView) -> Losses:
    """Predict what the death of each live broker would do, and that of each rack of several live brokers.

    This is the prediction of the stop gate. Partitions without a leader now are left out. A rack with all live brokers
    is left out too.
    """
    brokers = tuple(BrokerLoss(broker_id=each, **_predict_loss(view, (each,))) for each in sorted(view.live))
    racks = grouped((each.rack, each.broker_id) for each in view.brokers if each.rack and each.broker_id in view.live)
    several = {rack: tuple(sorted(ids)) for rack, ids in sorted(racks.items()) if 1 < len(ids) < len(view.live)}
    return Losses(
        brokers, tuple(RackLoss(rack=rack, brokers=ids, **_predict_loss(view, ids)) for rack, ids in several.items())
    )


def check_losses(losses: Losses) -> Iterator[Check]:
    """Yield a warning for each broker, and for each rack, that partitions depend on."""
    brokers: list[tuple[str, str, PartitionLoss]] = [
        (f"broker {each.broker_id}", "it", each) for each in losses.brokers
    ]
    racks: list[tuple[str, str, PartitionLoss]] = [
        (f"rack {each.rack}", name_brokers(each.brokers), each) for each in losses.racks
    ]
    harmful = [each for each in (*brokers, *racks) if each[2].offline_partitions]
    if not harmful:
        together = f", or all brokers of one of {len(racks)} racks," if racks else ""
        found = f"no partition would be offline if one of {plural(len(brokers), 'broker')}{together} died now"
        yield passed(CheckName.BROKER_LOSS, found)
    for subject, who, loss in harmful:
        found = (
            f"if {who} died now, {plural(loss.offline_partitions, 'partition')} would have no leader: {loss.offline}"
        )
        if loss.unrecoverable_partitions:
            found += (
                f". No other live broker has a replica of {loss.unrecoverable_partitions} of them: {loss.unrecoverable}"
            )
        yield warning(
            CheckName.BROKER_LOSS,
            found,
            f"Before you stop this {subject.split()[0]}, bring the other replicas of its partitions in sync, or add "
            "replicas (kafka-reassign-partitions.sh)",
            subject,
        )


def _predict_loss(view: ClusterView, brokers: Collection[int]) -> dict[str, Any]:
    """Return the fields of a PartitionLoss."""
    found = predict_stop(view, brokers)
    offline = sorted({*found.of(StopReasonKind.NO_LEADER), *found.of(StopReasonKind.UNCLEAN_ELECTION)})
    unrecoverable = [each for each in found.of(StopReasonKind.LAST_COPY) if not each.is_offline]
    below = {*found.of(StopReasonKind.BELOW_MIN_ISR)}.difference(offline)
    return {
        "offline_partitions": len(offline),
        "offline": name_partitions(offline),
        "unrecoverable_partitions": len(unrecoverable),
        "unrecoverable": name_partitions(unrecoverable),
        "below_min_isr_partitions": None if found.of(StopReasonKind.UNKNOWN) else len(below),
    }


def _check_leaders_and_isr(
    states: Sequence[PartitionState], settings: TopicSettings, to_save: Collection[int]
) -> Check:
    offline = [each for each in states if each.is_offline]
    if offline:
        return failed(
            CheckName.PARTITIONS,
            f"{plural(len(offline), 'partition')} without a leader: {name_partitions(offline)}",
            "Run the playbook kafkaops.recovery.recover_offline_partitions with --check",
        )
    below = [each for each in states if settings.is_below_min_isr(each, len(each.isr))]
    lagging = [each for each in states if len(each.isr) < len(each.replicas)]
    if lagging:
        found = f"{plural(len(lagging), 'partition', 'have')} replicas that are not in sync: {name_partitions(lagging)}"
        if below:
            found += f". {len(below)} of them are below min.insync.replicas: {name_partitions(below)}"
        remedy = "Start the brokers that are down, or find out why the replicas lag"
        if to_save:
            remedy = (
                f"Save the disks of {name_brokers(to_save)} before you start or restart them. Start other brokers that "
                "are down"
            )
        return warning(CheckName.PARTITIONS, found, remedy)
    return passed(
        CheckName.PARTITIONS, f"{plural(len(states), 'partition', 'have')} a leader, and all replicas are in sync"
    )


def _check_replication_factor(states: Sequence[PartitionState]) -> Check:
    name = CheckName.REPLICATION_FACTOR
    single = [each for each in states if len(each.replicas) == 1]
    if single:
        return warning(
            name,
            f"{plural(len(single), 'partition', 'have')} one replica, which is lost with its broker: "
            f"{name_partitions(single)}",
            "Add replicas with kafka-reassign-partitions.sh, if the records matter",
        )
    return passed(name, f"{plural(len(states), 'partition', 'have')} two replicas or more")


def _check_min_isr(states: Sequence[PartitionState], settings: TopicSettings) -> Check:
    name = CheckName.MIN_INSYNC_REPLICAS
    replication_factors: dict[str, int] = {}
    for each in states:
        if each.topic in settings.own:
            continue
        replication_factors[each.topic] = min(
            replication_factors.get(each.topic, len(each.replicas)), len(each.replicas)
        )
    unread = [topic for topic in replication_factors if topic not in settings.min_isr]
    if unread:
        return _unreadable_settings(name, MIN_ISR, unread)

    def topics_with(is_found: Callable[[int, int], bool]) -> list[str]:
        return [
            topic
            for topic, replicas in sorted(replication_factors.items())
            if is_found(settings.min_isr[topic], replicas)
        ]

    low = topics_with(lambda least, replicas: least == 1 and replicas > 1)
    strict = topics_with(lambda least, replicas: least >= replicas > 1)
    found = []
    if low:
        found.append(f"min.insync.replicas is 1, so one broker alone may hold acknowledged records: {join_first(low)}")
    if strict:
        found.append(
            "min.insync.replicas is the replication factor or more, so producers stop if one broker is missing: "
            f"{join_first(strict)}"
        )
    if found:
        remedy = "Set min.insync.replicas to the replication factor less 1"
        return warning(name, ". ".join(found), remedy if strict else f"{remedy}, if the records matter")
    return passed(name, "records with acks=all are on two brokers or more, if the topic has that many replicas")


def _check_unclean(states: Sequence[PartitionState], settings: TopicSettings) -> Check:
    name = CheckName.UNCLEAN_ELECTION
    topics = {each.topic: len(each.replicas) for each in states}
    unread = [topic for topic in sorted(topics) if topic not in settings.unclean]
    if unread:
        return _unreadable_settings(name, UNCLEAN, unread)
    enabled = [topic for topic in sorted(topics) if settings.unclean[topic] and topics[topic] > 1]
    if enabled:
        return warning(
            name,
            f"unclean.leader.election.enable is true, so the controller elects without comparing logs: "
            f"{join_first(enabled)}",
            "Set it to false if the records matter, and elect with kafkaops.recovery.recover_offline_partitions",
        )
    return passed(name, "unclean.leader.election.enable is false for every topic with several replicas")


def _unreadable_settings(name: CheckName, config: str, topics: Sequence[str]) -> Check:
    return unknown(
        name,
        f"{config} of {plural(len(topics), 'topic')} could not be read: {join_first(topics)}",
        "Grant DESCRIBE_CONFIGS on them",
    )
