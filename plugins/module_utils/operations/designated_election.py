# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Carries a plan out, batch by batch (KAFKA-20098). Ordinary elections come first: they lose nothing."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from ansible_collections.kafkaops.recovery.plugins.module_utils.journal.file_journal import (
    open_journal,
    read_unfinished,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.journal.order_change import Journal
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.batches import in_batches
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.cluster import Cluster, describe_cluster
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.native_elections import offers_designated_election
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.partitions import describe_partitions
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.broker import Broker, BrokerState
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.collector import collector_paused
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.errors import KafkaOpsError
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import PartitionState, TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.progress import Progress
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.election_batch import STOPPED, ElectionBatch
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.leftovers import (
    Leftover,
    Undoing,
    look_at_leftovers,
    undo_leftovers,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.observation import observe
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.replica_orders import Writer, read_states
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.survey import internal
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.foreseen import left_alone
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.outcome import Outcome
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.plan import (
    ElectionType,
    LeftAlone,
    Plan,
    PlannedElection,
    Status,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.preconditions import Observation

_PUT_BACK = frozenset({Undoing.RESTORED, Undoing.WOULD_RESTORE})
_DISTURBED = "the run stopped before this election: on another partition a leader came up that was not designated"


class WrongClusterError(KafkaOpsError):
    """The plan is for another cluster."""


class ElectionOptionsError(KafkaOpsError):
    """A plan cannot be carried out in such a way."""


@dataclass(frozen=True, slots=True)
class ElectionReport:
    """How every partition of the plan ended, and what was put back of an earlier run."""

    outcomes: tuple[Outcome, ...]
    leftovers: tuple[Leftover, ...]

    @property
    def is_changed(self) -> bool:
        """True when a leader or an order is another one than before, or, in check mode, would be."""
        return any(each.undoing in _PUT_BACK for each in self.leftovers) or any(
            each.status in (Status.RECOVERED, Status.WOULD_RECOVER) or each.replicas_after not in (None, each.replicas)
            for each in self.outcomes
            if each.designated_leader is not None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionOptions:
    """How to carry a plan out.

    Raises ElectionOptionsError.
    """

    journal_dir: str
    attempts: int
    """For each write that fails in a way that may pass (KIP: --recovery-election-attempts)."""
    verify_timeout_ms: int
    """How long a change may take to be seen before it counts as not done."""
    check_mode: bool

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ElectionOptionsError(f"recovery_election_attempts is {self.attempts}, which is not above 0")


def run_elections(  # noqa: PLR0917
    wire: Wire,
    plan: Plan,
    options: ElectionOptions,
    progress: Progress,
    stop: threading.Event,
    brokers: Collection[Broker] = (),
) -> ElectionReport:
    """Puts back what an earlier run left, then elects. Each partition ends with one outcome, whatever befalls others.

    Setting ``stop`` ends the run after the request in flight: orders are put back, and the rest is reported as stopped.
    In check mode no write request is sent and no journal is opened for writing. ``brokers``, as they were just seen,
    keep writes away from one that is hung: it might carry them out when it thaws, after the order is back.

    Raises WrongClusterError, JournalError, NoBrokerAnswersError, RequestRefusedError or BrokerCallError, all of them
    before the first write. The same trouble between two batches ends the run, and is the reason that the rest gets.
    """
    cluster = describe_cluster(wire)
    if plan.cluster_id != cluster.cluster_id:
        raise WrongClusterError(
            f"the plan is for cluster {plan.cluster_id}, and this is cluster {cluster.cluster_id}, as the brokers at "
            f"{', '.join(map(str, wire.settings.bootstrap_servers))} say: nothing was done"
        )
    online = {each.broker_id for each in brokers if each.state is BrokerState.ONLINE}
    answered = [each for each in cluster.registrations if each.broker_id in online]
    # A fenced broker still forwards requests to the controller: better asked than nobody.
    unfenced = [each for each in cluster.registrations if not each.is_fenced]
    writer = Writer(
        wire,
        [each.address for each in answered or unfenced or cluster.registrations],
        options.attempts,
        options.verify_timeout_ms / 1000,
    )
    alone = _seen_again(wire, plan.left_alone)
    with ExitStack() as stack:
        if options.check_mode:
            journal = None
            leftovers = look_at_leftovers(wire, read_unfinished(options.journal_dir, cluster.cluster_id))
        else:
            journal = stack.enter_context(open_journal(options.journal_dir, cluster.cluster_id))
            leftovers = undo_leftovers(writer, journal)
        run = _Run(writer, cluster, journal, progress, stop)
        with collector_paused():
            outcomes = {**alone, **run.elect(_rebased(plan.elections, leftovers), leftovers)}
    return ElectionReport(tuple(outcomes[each] for each in sorted(outcomes)), leftovers)


def plan_of_designations(
    wire: Wire, designations: Mapping[TopicPartition, int], *, include_internal: bool = False
) -> Plan:
    """A plan out of bare (partition, leader) pairs, with the world as it is now and no candidate looked at.

    Offline partitions of Kafka's internal topics are left alone unless ``include_internal``.

    Raises NoBrokerAnswersError, RequestRefusedError or BrokerCallError.
    """
    cluster = describe_cluster(wire)
    description = describe_partitions(wire, {each.topic for each in designations})
    states = {each.topic_partition: each for each in description.partitions}
    elections, alone = [], []
    for partition, leader in sorted(designations.items()):
        state = states.get(partition)
        if state is None:
            reason = "no such partition, or it is hidden from our principal"
            alone.append(LeftAlone(partition.topic, partition.partition, Status.UNKNOWN, reason))
        elif state.is_offline and state.is_internal and not include_internal:
            alone.append(internal(state))
        else:
            elections.append(
                PlannedElection(
                    topic=state.topic,
                    partition=state.partition,
                    topic_id=state.topic_id,
                    leader_epoch=state.leader_epoch,
                    replicas=state.replicas,
                    isr=state.isr,
                    elr=state.elr,
                    last_known_elr=state.last_known_elr,
                    designated_leader=leader,
                    reason=f"broker {leader} was named by the caller; no replica was compared",
                    candidates=(),
                    silent=(),
                )
            )
    return Plan(cluster.cluster_id, "", tuple(elections), tuple(alone))


@dataclass(frozen=True, slots=True)
class _Run:
    writer: Writer
    cluster: Cluster
    journal: Journal | None
    """None in check mode."""
    progress: Progress
    stop: threading.Event

    def elect(
        self, elections: Sequence[PlannedElection], leftovers: Sequence[Leftover]
    ) -> dict[TopicPartition, Outcome]:
        unsettled = {each.change.topic_partition for each in leftovers if each.undoing is Undoing.FAILED}
        outcomes = {
            each.topic_partition: _untouched(each, Status.REFUSED, "an earlier run's replica order is not put back yet")
            for each in elections
            if each.topic_partition in unsettled
        }
        halt = ""
        has_begun = any(each.undoing is Undoing.RESTORED for each in leftovers)
        settled = [each for each in elections if each.topic_partition not in unsettled]
        for batch in (one for kind in ElectionType for one in in_batches(_of_type(settled, kind))):
            halt = halt or (STOPPED if self.stop.is_set() else "")
            if not halt:
                self.progress.step("looking at the partitions again", len(outcomes), len(elections))
                try:
                    current = self._batch(batch, leftovers)
                except KafkaOpsError as fault:
                    if not has_begun:
                        raise
                    halt = f"the run stopped before this election: {fault}"
                else:
                    has_begun = True
                    outcomes |= current.outcomes
                    halt = _DISTURBED if current.is_disturbed else ""
                    continue
            outcomes |= {each.topic_partition: _untouched(each, Status.FAILED, halt) for each in batch}
        return outcomes

    def _batch(self, elections: Sequence[PlannedElection], leftovers: Sequence[Leftover]) -> ElectionBatch:
        worlds = observe(self.writer.wire, self.cluster, elections)
        if self.journal is None:
            worlds = _as_put_back(worlds, leftovers)
        # Asked for each batch anew: a broker may have been replaced by an older one in between.
        asked = {self.writer.address(attempt) for attempt in range(self.writer.attempts)}
        by_designation = offers_designated_election(self.writer.wire, asked)
        batch = ElectionBatch({each.topic_partition: each for each in elections}, worlds, by_designation)
        if self.journal is None:
            batch.forecast()
        else:
            batch.carry_out(self.writer, self.journal, self.progress, self.stop)
        return batch


def _of_type(elections: Iterable[PlannedElection], election_type: ElectionType) -> list[PlannedElection]:
    """What one request can ask for."""
    return [each for each in elections if each.election_type is election_type]


def _rebased(elections: Iterable[PlannedElection], leftovers: Iterable[Leftover]) -> list[PlannedElection]:
    """Plans made while an earlier run's order still stood took it for the original; the journal knows better."""
    restored = {each.change.topic_partition: each.change for each in leftovers if each.undoing in _PUT_BACK}
    rebased = []
    for election in elections:
        change = restored.get(election.topic_partition)
        if change and change.topic_id == election.topic_id and change.changed == election.replicas:
            election = replace(election, replicas=change.original)  # noqa: PLW2901
        rebased.append(election)
    return rebased


def _as_put_back(
    worlds: Mapping[TopicPartition, Observation], leftovers: Iterable[Leftover]
) -> dict[TopicPartition, Observation]:
    """Check mode: the worlds as a run would find them, once it had put the leftovers' orders back."""
    orders = {each.change.topic_partition: each.change.original for each in leftovers if each.undoing in _PUT_BACK}
    return {
        partition: replace(world, state=replace(world.state, replicas=orders[partition]))
        if world.state and partition in orders
        else world
        for partition, world in worlds.items()
    }


def _seen_again(wire: Wire, partitions: Iterable[LeftAlone]) -> dict[TopicPartition, Outcome]:
    """How partitions end that the plan leaves alone, by the leaders that they have now: it may be hours old.

    Raises NoBrokerAnswersError or BrokerCallError.
    """
    outcomes = {each.topic_partition: left_alone(each) for each in partitions}
    states = read_states(wire, outcomes)
    return {each: _as_seen(outcome, states.get(each)) for each, outcome in outcomes.items()}


def _as_seen(outcome: Outcome, state: PartitionState | None) -> Outcome:
    was_online = outcome.status is Status.ALREADY_ONLINE
    if state is None:
        seen = replace(outcome, leader_after=None, leader_epoch_after=None)
        why = "it is not in the metadata any more, or hidden from our principal: look at the topic"
        return replace(seen, status=Status.UNKNOWN, reason=why) if was_online else seen
    seen = replace(outcome, leader_after=state.leader_id, leader_epoch_after=state.leader_epoch)
    if was_online and state.is_offline:
        why = "it has lost its leader since the plan was made: make a new plan"
        return replace(seen, status=Status.REFUSED, reason=why)
    if was_online and state.leader_id != outcome.leader_before:
        return replace(seen, reason=f"broker {state.leader_id} leads it")
    return seen


def _untouched(election: PlannedElection, status: Status, reason: str) -> Outcome:
    return Outcome(
        topic=election.topic,
        partition=election.partition,
        status=status,
        reason=reason,
        topic_id=election.topic_id,
        designated_leader=election.designated_leader,
        replicas=election.replicas,
        candidates=election.candidates,
        silent=election.silent,
        losses=election.losses,
    )
