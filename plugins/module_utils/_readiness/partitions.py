# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the partitions and their topics' settings mean for the next outage. Pure; standard library only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .._model.alike import named_topics
from .._model.controller_model import predict
from .._model.partition import NO_LEADER, PartitionState
from .check import BrokerLoss, Check, CheckName, Status, passed, some_of


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """The settings of each topic that could be read. What could not be read is not here."""

    min_isr: Mapping[str, int]
    unclean: Mapping[str, bool]
    """unclean.leader.election.enable, as it holds for the topic."""


def judge_partitions(states: Sequence[PartitionState], settings: TopicSettings) -> Iterator[Check]:
    """Yield what is wrong with partitions now, and with the settings of their topics."""
    yield _now(states, settings)
    yield _replication_factor(states)
    yield _min_isr(states, settings)
    yield _unclean(states, settings)


def broker_losses(
    states: Iterable[PartitionState], brokers: Collection[int], living: Collection[int], settings: TopicSettings
) -> tuple[BrokerLoss, ...]:
    """Predict for each living broker what its death would do, by the controller's own rules.

    ``living`` are the brokers that answer and are unfenced. A partition without a leader now is left out.
    """
    by_broker: dict[int, list[PartitionState]] = {broker_id: [] for broker_id in sorted({*brokers} & {*living})}
    for state in states:
        if not state.is_offline:
            for broker_id in state.replicas:
                if broker_id in by_broker:
                    by_broker[broker_id].append(state)
    return tuple(_loss(broker_id, held, living, settings) for broker_id, held in by_broker.items())


def judge_losses(losses: Sequence[BrokerLoss]) -> Iterator[Check]:
    """Yield a warning for each broker that partitions depend on."""
    harmful = [each for each in losses if each.offline_partitions]
    if not harmful:
        yield passed(CheckName.BROKER_LOSS, f"no partition would be offline if one of {len(losses)} brokers died now")
    for each in harmful:
        found = f"if it died now, {each.offline_partitions} partitions would have no leader: {each.offline}"
        if each.unrecoverable_partitions:
            found += (
                f". No other living broker has a replica of {each.unrecoverable_partitions} of them: "
                f"{each.unrecoverable}"
            )
        yield Check(
            CheckName.BROKER_LOSS,
            Status.WARNING,
            f"broker {each.broker_id}",
            found,
            "Before this broker is stopped, bring its partitions' other replicas in sync, or add replicas "
            "(kafka-reassign-partitions.sh)",
        )


def _loss(
    broker_id: int, held: Sequence[PartitionState], living: Collection[int], settings: TopicSettings
) -> BrokerLoss:
    offline, unrecoverable, below = [], [], 0
    for state in held:
        left = {*state.replicas} & {*living} - {broker_id} - {*state.offline_replicas}
        if predict(state, state.replicas, left, unclean=False).leader_id == NO_LEADER:
            offline.append(state)
            if not left:
                unrecoverable.append(state)
        elif len({*state.isr} & left) < settings.min_isr.get(state.topic, 0):
            below += 1
    is_known = all(state.topic in settings.min_isr for state in held)
    return BrokerLoss(
        broker_id,
        len(offline),
        places(offline),
        len(unrecoverable),
        places(unrecoverable),
        below if is_known else None,
    )


def places(states: Iterable[PartitionState]) -> str:
    """Name partitions by topic and ranges, those of the topics with the most partitions first."""
    found = named_topics(states)
    texts = [f"{each.topic} {each.partitions}" for each in found.named]
    return "; ".join(texts) + (f"; and {found.more} more topics" if found.more else "")


def _now(states: Sequence[PartitionState], settings: TopicSettings) -> Check:
    offline = [each for each in states if each.is_offline]
    if offline:
        return Check(
            CheckName.PARTITIONS,
            Status.FAILED,
            "",
            f"{len(offline)} partitions have no leader: {places(offline)}",
            "Run the playbook kafkaops.recovery.recover_offline_partitions with --check",
        )
    below = [each for each in states if len(each.isr) < settings.min_isr.get(each.topic, 0)]
    lagging = [each for each in states if len(each.isr) < len(each.replicas)]
    if lagging:
        found = f"{len(lagging)} partitions have replicas that are not in sync: {places(lagging)}"
        if below:
            found += f". {len(below)} of them are below min.insync.replicas: {places(below)}"
        remedy = "Start the brokers that are down, or look at what keeps their replicas behind"
        return Check(CheckName.PARTITIONS, Status.WARNING, "", found, remedy)
    return passed(CheckName.PARTITIONS, f"{len(states)} partitions have a leader, and all replicas are in sync")


def _replication_factor(states: Sequence[PartitionState]) -> Check:
    name = CheckName.REPLICATION_FACTOR
    single = [each for each in states if len(each.replicas) == 1]
    if single:
        return Check(
            name,
            Status.WARNING,
            "",
            f"{len(single)} partitions have one replica, and are lost with its broker: {places(single)}",
            "Add replicas with kafka-reassign-partitions.sh, where records matter",
        )
    return passed(name, f"all {len(states)} partitions have two replicas or more")


def _min_isr(states: Sequence[PartitionState], settings: TopicSettings) -> Check:
    name = CheckName.MIN_INSYNC_REPLICAS
    largest: dict[str, int] = {}
    for each in states:
        largest[each.topic] = min(largest.get(each.topic, len(each.replicas)), len(each.replicas))
    unknown = [topic for topic in largest if topic not in settings.min_isr]
    if unknown:
        return _unread(name, "min.insync.replicas", unknown)

    def where(is_so: Callable[[int, int], bool]) -> list[str]:
        return [topic for topic, replicas in sorted(largest.items()) if is_so(settings.min_isr[topic], replicas)]

    if impossible := where(lambda least, replicas: least > replicas):
        return Check(
            name,
            Status.FAILED,
            "",
            f"min.insync.replicas is larger than the replication factor, so no record with acks=all is taken: "
            f"{some_of(impossible)}",
            "Lower min.insync.replicas of these topics, or add replicas",
        )
    if low := where(lambda least, replicas: least == 1 and replicas > 1):
        return Check(
            name,
            Status.WARNING,
            "",
            f"min.insync.replicas is 1, so one broker alone may hold acknowledged records: {some_of(low)}",
            "Set min.insync.replicas to the replication factor less 1, where records matter",
        )
    if strict := where(lambda least, replicas: least == replicas > 1):
        return Check(
            name,
            Status.WARNING,
            "",
            f"min.insync.replicas equals the replication factor, so one broker less stops producers: {some_of(strict)}",
            "Set min.insync.replicas to the replication factor less 1",
        )
    return passed(name, "records with acks=all are on two brokers or more, where there are that many replicas")


def _unclean(states: Sequence[PartitionState], settings: TopicSettings) -> Check:
    name = CheckName.UNCLEAN_ELECTION
    topics = {each.topic: len(each.replicas) for each in states}
    unknown = [topic for topic in sorted(topics) if topic not in settings.unclean]
    if unknown:
        return _unread(name, "unclean.leader.election.enable", unknown)
    enabled = [topic for topic in sorted(topics) if settings.unclean[topic] and topics[topic] > 1]
    if enabled:
        return Check(
            name,
            Status.WARNING,
            "",
            f"unclean.leader.election.enable is true, so the controller elects without comparing logs: "
            f"{some_of(enabled)}",
            "Set it to false where records matter, and elect with recover_offline_partitions",
        )
    return passed(name, "unclean.leader.election.enable is false for every topic with several replicas")


def _unread(name: CheckName, config: str, topics: Sequence[str]) -> Check:
    return Check(
        name,
        Status.UNKNOWN,
        "",
        f"{config} of {len(topics)} topics could not be read: {some_of(topics)}",
        "Grant DESCRIBE_CONFIGS on them",
    )
