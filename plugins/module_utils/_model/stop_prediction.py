# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Predict what happens to each partition when brokers stop. Pure; standard library only.

The stop gate and the readiness share this.

The controller's rules are those of ``_model.controller_model``. The prediction is about the cluster as it was seen:
brokers that stop do not return, and no replica gets in sync meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from .controller_model import Rule, predict
from .partition import (
    NO_LEADER,
    Broker,
    BrokerState,
    PartitionState,
    Reassignment,
    TopicPartition,
    effective_min_isr,
    grouped,
)
from .replaced_disk import brokers_to_save


class StopReasonKind(StrEnum):
    """Why brokers must not stop, worst first."""

    LAST_COPY = "last_copy"
    """No broker that stays up has a replica."""
    NO_LEADER = "no_leader"
    """No replica that may lead would be left."""
    UNCLEAN_ELECTION = "unclean_election"
    """Kafka would elect a replica that is not in sync, because unclean.leader.election.enable is true."""
    BELOW_MIN_ISR = "below_min_isr"
    """It would have a leader, and refuse records with acks=all."""
    LOST_RECORDS = "lost_records"
    """The next leader lacks records of the present one, which producers with acks=1 take for stored."""
    LATE_LEADER = "late_leader"
    """The next leader applies metadata late: for that time it does not lead, and nobody else does."""
    SILENT_LEADER = "silent_leader"
    """The next leader would be a broker that does not answer. It may lack records, or hang."""
    ALREADY_LEADERLESS = "already_leaderless"
    """It has no leader now, and a replica that a recovery may need would stop."""
    REASSIGNMENT = "reassignment"
    """It is being reassigned, so its replicas change."""
    NO_BROKER_LEFT = "no_broker_left"
    """No broker would stay up, so no client could reach the cluster."""
    QUORUM = "quorum"
    """The controllers could not elect, or could not commit a change."""
    TICKET = "ticket"
    """Somebody else is stopping brokers."""
    ANOTHER_RUN = "another_run"
    """Another run of this collection writes to the cluster."""
    NOT_BACK = "not_back"
    """The brokers of a ticket are not up, or not in sync in all their partitions."""
    NO_SUCH_BROKER = "no_such_broker"
    """No broker has this id, or none is in this rack."""
    UNKNOWN = "unknown"
    """What the answer rests on could not be read."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What would happen to one partition."""

    kind: StopReasonKind
    state: PartitionState


@dataclass(frozen=True, kw_only=True)
class ClusterView:
    """The cluster at one moment. A setting that could not be read is missing, which is never a yes."""

    states: tuple[PartitionState, ...]
    brokers: tuple[Broker, ...]
    min_isr: Mapping[str, int]
    """min.insync.replicas by topic."""
    unclean: Mapping[str, bool]
    """unclean.leader.election.enable by topic."""
    reassignments: Mapping[TopicPartition, Reassignment] = field(default_factory=dict)
    replaced: Mapping[TopicPartition, str] = field(default_factory=dict)
    """Partitions whose leader seems to have a new disk, while all other replicas are down, each with the reason."""

    @property
    def to_save(self) -> frozenset[int]:
        """The brokers whose disks must be saved before they are started."""
        return brokers_to_save(self.states, self.replaced, self.brokers)

    @cached_property
    def live(self) -> frozenset[int]:
        """The brokers that are unfenced and answered."""
        return frozenset(each.broker_id for each in self.brokers if each.state is BrokerState.ONLINE)

    @cached_property
    def unanswered(self) -> frozenset[int]:
        """The brokers that did not answer, and that the controller may elect: it has not fenced them."""
        return frozenset(each.broker_id for each in self.brokers if not each.is_fenced) - self.live

    @cached_property
    def by_broker(self) -> Mapping[int, tuple[PartitionState, ...]]:
        """The partitions of which a broker has a replica that the controller does not know as offline."""
        held = grouped(
            (broker_id, state) for state in self.states for broker_id in {*state.replicas} - {*state.offline_replicas}
        )
        return {broker_id: tuple(states) for broker_id, states in held.items()}

    def touched_by(self, stopped: Collection[int]) -> tuple[PartitionState, ...]:
        """Return the partitions of which one of these brokers has a replica that is not offline already."""
        found = {state[:2]: state for broker_id in stopped for state in self.by_broker.get(broker_id, ())}
        return tuple(found[key] for key in sorted(found))

    def keeps_a_broker(self, stopped: Collection[int]) -> bool:
        """Return whether a live broker stays up. Without one, no topic can be read, and not even be created."""
        return not self.live <= {*stopped}

    def repaired(self, *, with_down_brokers: bool) -> ClusterView:
        """Return the view after all replicas got in sync: those of live brokers, or those of all known brokers."""
        brokers = self.brokers
        if with_down_brokers:
            brokers = tuple(replace(each, state=BrokerState.ONLINE, is_fenced=False) for each in brokers)
        up = {each.broker_id for each in brokers if each.state is BrokerState.ONLINE}
        states = tuple(_in_sync(each, up) for each in self.states)
        return replace(self, states=states, brokers=brokers, reassignments={})


def _in_sync(state: PartitionState, up: Collection[int]) -> PartitionState:
    back = tuple(each for each in state.replicas if each in up)
    leader = state.leader_id if state.leader_id in back or not back else back[0]
    away = tuple(each for each in state.replicas if each not in up)
    return state._replace(leader_id=leader, isr=back or state.isr, offline_replicas=away)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What would happen to the partitions of brokers that stop."""

    effects: tuple[Effect, ...]
    """In order of topic and partition; a partition may have several."""
    new_leaders: Mapping[TopicPartition, int]
    """The next leader of each partition whose leader would stop and that would have one."""
    margin: int | None
    """How many more in-sync replicas each partition could lose and still take records with acks=all: the least of the
    partitions that are touched. Negative if one is below min ISR. None if nothing is touched or if it is not known."""

    def of(self, kind: StopReasonKind) -> tuple[PartitionState, ...]:
        """Return the partitions with this effect."""
        return tuple(each.state for each in self.effects if each.kind is kind)


def predict_stop(
    view: ClusterView, stopped: Collection[int], states: Iterable[PartitionState] | None = None
) -> Prediction:
    """Predict what happens to the partitions that these brokers hold when all of them stop now.

    ``states`` limits the prediction to some partitions of the view.
    """
    gone = frozenset(stopped)
    effects: list[Effect] = []
    leaders: dict[TopicPartition, int] = {}
    margins: list[int] = []
    is_margin_known = True
    for state in view.touched_by(gone) if states is None else states:
        left = (view.live - gone).intersection(state.replicas).difference(state.offline_replicas)
        if state.topic_partition in view.reassignments:
            effects.append(Effect(StopReasonKind.REASSIGNMENT, state))
        if not left:
            effects.append(Effect(StopReasonKind.LAST_COPY, state))
        if state.is_offline:
            effects.append(Effect(StopReasonKind.ALREADY_LEADERLESS, state))
            continue
        unclean = view.unclean.get(state.topic)
        found = predict(state, state.replicas, left, unclean=bool(unclean))
        if found.leader_id == NO_LEADER:
            effects.append(Effect(StopReasonKind.NO_LEADER, state))
            continue
        if found.rule is Rule.UNCLEAN:
            effects.append(Effect(StopReasonKind.UNCLEAN_ELECTION, state))
        if state.leader_id in gone:
            leaders[state.topic_partition] = found.leader_id
            # For the number of replicas, a broker that does not answer counts as down. The controller may elect it.
            may_lead = left | (view.unanswered - gone).intersection(state.replicas).difference(state.offline_replicas)
            if predict(state, state.replicas, may_lead, unclean=bool(unclean)).leader_id != found.leader_id:
                effects.append(Effect(StopReasonKind.SILENT_LEADER, state))
        min_isr = view.min_isr.get(state.topic)
        if min_isr is None or unclean is None:
            effects.append(Effect(StopReasonKind.UNKNOWN, state))
            is_margin_known = False
            continue
        # A leader from the ELR is in the ISR as soon as it leads.
        in_sync = left.intersection(state.isr) | {found.leader_id}
        margins.append(len(in_sync) - effective_min_isr(min_isr, len(state.replicas)))
        if margins[-1] < 0:
            effects.append(Effect(StopReasonKind.BELOW_MIN_ISR, state))
    return Prediction(
        effects=tuple(effects),
        new_leaders=leaders,
        margin=min(margins) if margins and is_margin_known else None,
    )
