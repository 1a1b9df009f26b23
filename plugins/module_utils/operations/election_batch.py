# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One batch of designated elections: reorder, elect UNCLEAN, verify, restore the order, verify.

Released brokers have no designated election (KAFKA-20098), but an UNCLEAN one takes the first unfenced replica in
order. So the same replica set is put with the designated leader first, the election is asked for, and the order is put
back. Brokers that offer designated elections are asked for them, and no order is touched. An ordinary election, of a
member of the ISR or ELR, is PREFERRED and leaves the order as it is.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ansible_collections.kafkaops.recovery.plugins.module_utils.journal.order_change import (
    Journal,
    JournalError,
    OrderChange,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.elections import (
    PREFERRED,
    UNCLEAN,
    ElectionAnswer,
    elect,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.errors import (
    BrokerCallError,
    NoBrokerAnswersError,
    RequestRefusedError,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.native_elections import elect_designated
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import PartitionState, TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.progress import Progress
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.leftovers import (
    NOT_OURS,
    Leftover,
    Undoing,
    put_back,
    strike_out,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.replica_orders import (
    Writer,
    set_orders,
    watch,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.outcome import Outcome
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.plan import (
    ElectionType,
    PlannedElection,
    Status,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.preconditions import (
    Observation,
    against,
    designated_order,
    judge,
)

_PAUSE_S = 0.5
_CODES = {ElectionType.PREFERRED: PREFERRED, ElectionType.UNCLEAN: UNCLEAN}
STOPPED = "the run was asked to stop before this election; run it again"


@dataclass(frozen=True, slots=True)
class _Asked:
    """What an election request brought."""

    faults: Mapping[TopicPartition, str] = field(default_factory=dict)
    """Partitions that were certainly not elected by it, and why."""
    may_retry: bool = True
    doubt: str = ""
    """Why nothing is known of the outcome, where that is so: then only the metadata tells."""


@dataclass
class ElectionBatch:
    """At most PARTITIONS_PER_REQUEST elections, all of one type, that succeed or fail each by itself.

    ``outcomes`` has every partition once ``carry_out`` or ``forecast`` returned. ``is_disturbed`` tells that another
    leader than the designated one came up: somebody else acts on this cluster, and the run must not go on.
    """

    elections: Mapping[TopicPartition, PlannedElection]
    worlds: Mapping[TopicPartition, Observation]
    by_designation: bool = False
    """The brokers offer ElectLeaders with designated leaders."""
    outcomes: dict[TopicPartition, Outcome] = field(default_factory=dict)
    is_disturbed: bool = False

    def forecast(self) -> None:
        """Check mode: says what would be asked for. Sends nothing."""
        for partition in self._judge():
            self._end(
                partition, Status.WOULD_RECOVER, f"would elect broker {self._leader(partition)}: {self._why(partition)}"
            )

    def carry_out(self, writer: Writer, journal: Journal, progress: Progress, stop: threading.Event) -> None:
        """Asks for the elections. Every order that was changed is put back, whatever fails in between.

        Raises JournalError, before anything was changed.
        """
        going = self._judge()
        if not going:
            return
        changes = [self._order_change(each) for each in going if self._needs_reorder(each)]
        journal.begin(changes)
        try:
            progress.step("putting designated leaders first", 0, len(going))
            faults = set_orders(writer, {each.topic_partition: each.changed for each in changes})
            for partition, fault in faults.items():
                self._end(partition, Status.FAILED, f"its replicas were not reordered: {fault}")
            self._elect(writer, [each for each in going if each not in self.outcomes], progress, stop)
        finally:
            progress.step("putting replica orders back", 0, len(changes))
            self._put_back(writer, journal, changes)
        self._look_at_the_end(writer, going)

    def _judge(self) -> list[TopicPartition]:
        going = []
        for partition, election in self.elections.items():
            verdict = judge(election, self.worlds[partition])
            if verdict.status is None:
                going.append(partition)
            else:
                self._end(partition, verdict.status, verdict.reason, self.worlds[partition].state)
        return going

    def _elect(
        self, writer: Writer, partitions: Iterable[TopicPartition], progress: Progress, stop: threading.Event
    ) -> None:
        waiting = list(partitions)
        for attempt in range(writer.attempts):
            waiting = self._still_right(writer, waiting)
            if stop.is_set():
                self._end_all(waiting, Status.FAILED, STOPPED)
            if not waiting or stop.is_set():
                return
            progress.step(f"electing, attempt {attempt + 1}", len(self.elections) - len(waiting), len(self.elections))
            asked = self._ask(writer, waiting, attempt)
            states = self._watch_leaders(writer, waiting, asked)
            self._settle(states)
            waiting = [each for each in waiting if each not in self.outcomes]
            if not waiting or not asked.may_retry:
                break
            stop.wait(_PAUSE_S)
        for partition in waiting:
            reason = asked.faults.get(partition) or self._nobody(writer, partition, asked)
            self._end(partition, Status.FAILED if partition in states else Status.UNKNOWN, reason)

    def _ask(self, writer: Writer, waiting: list[TopicPartition], attempt: int) -> _Asked:
        try:
            answers = self._answers(writer, waiting, attempt)
        except RequestRefusedError as fault:
            if fault.is_outcome_unknown:
                return _Asked(doubt=str(fault))
            return _Asked(dict.fromkeys(waiting, str(fault)), may_retry=fault.is_transient)
        except BrokerCallError as fault:
            return _Asked(doubt=str(fault))
        return _Asked(
            {
                partition: str(answers[partition])
                for partition in waiting
                if partition in answers and not (answers[partition].is_elected or answers[partition].was_not_needed)
            }
        )

    def _answers(
        self, writer: Writer, waiting: list[TopicPartition], attempt: int
    ) -> Mapping[TopicPartition, ElectionAnswer]:
        if self.by_designation and self._election_type is ElectionType.UNCLEAN:
            leaders = {each: self._leader(each) for each in waiting}
            return elect_designated(writer.wire, writer.address(attempt), leaders)
        return elect(writer.wire, writer.address(attempt), _CODES[self._election_type], waiting)

    def _still_right(self, writer: Writer, waiting: list[TopicPartition]) -> list[TopicPartition]:
        """Reads again just before the election, and drops what must not be elected any more."""
        states = watch(writer, waiting, lambda _state: True) if waiting else {}
        self._settle(states)
        for partition in waiting:
            state = states.get(partition)
            if partition in self.outcomes:
                continue
            if state is None:
                self._end(partition, Status.UNKNOWN, "it cannot be read any more: look at it before any further run")
                continue
            reasons = [*against(self.elections[partition], state)]
            if state.replicas != self._order_to_elect_in(partition):
                reasons.append(f"its replicas are {list(state.replicas)} again: somebody else changes them")
            if reasons:
                self._end(partition, Status.REFUSED, "; ".join(reasons), state)
        return [each for each in waiting if each not in self.outcomes]

    def _watch_leaders(
        self, writer: Writer, waiting: list[TopicPartition], asked: _Asked
    ) -> Mapping[TopicPartition, PartitionState]:
        # One with an error is not waited for, but looked at with the others: it may have a leader all the same.
        return watch(writer, waiting, lambda state: not state.is_offline or state.topic_partition in asked.faults)

    def _settle(self, states: Mapping[TopicPartition, PartitionState]) -> None:
        """Ends every partition that has a leader, the designated one or another, or that is of another topic now."""
        for partition, state in states.items():
            if partition in self.outcomes:
                continue
            if not self._is_same_topic(partition, state):
                self._end(partition, Status.REFUSED, f"the topic was recreated: its id is {state.topic_id}", state)
            elif state.is_offline:
                continue
            elif self._is_wanted(partition, state.leader_id):
                self._end(partition, Status.RECOVERED, self._why(partition), state)
            else:
                self.is_disturbed = True
                self._end(
                    partition,
                    Status.FAILED,
                    f"broker {state.leader_id} leads it, not the designated {self._leader(partition)}: somebody else, "
                    "or the controller by itself, elected it; the run stops here",
                    state,
                )

    def _look_at_the_end(self, writer: Writer, going: list[TopicPartition]) -> None:
        """Sees the end state of all that was touched: a leader that died at once, and the order after the restore."""
        states = watch(writer, going, lambda _state: True)
        for partition, state in states.items():
            if not self._is_same_topic(partition, state):
                continue
            outcome = self.outcomes[partition]
            if outcome.status is Status.RECOVERED and state.is_offline:
                outcome = replace(
                    outcome,
                    status=Status.FAILED,
                    reason=f"broker {outcome.designated_leader} was elected and is gone again: offline as before",
                )
            self.outcomes[partition] = replace(
                outcome,
                leader_after=state.leader_id,
                leader_epoch_after=state.leader_epoch,
                replicas_after=state.replicas,
            )

    def _put_back(self, writer: Writer, journal: Journal, changes: Sequence[OrderChange]) -> None:
        ended = self._undone(writer, changes)
        not_ours = {each.change.topic_partition: each.reason for each in ended if each.undoing in NOT_OURS}
        for partition in self.outcomes.keys() & not_ours.keys():
            self._add(partition, f"its replica order is not put back: {not_ours[partition]}")
        try:
            strike_out(journal, ended)
        except JournalError as fault:
            # The next run finds them as they were, and strikes them out. What was done here must be told all the same.
            settled = {each.change.topic_partition for each in ended if each.undoing is not Undoing.FAILED}
            for partition in self.outcomes.keys() & settled:
                found = "that is so" if partition in not_ours else "its replica order is back"
                self._add(partition, f"{found}, but the journal does not know it: {fault}")
        for each in ended:
            if each.undoing is Undoing.FAILED:
                self._order_stays_changed(each.change.topic_partition, each.reason)

    def _undone(self, writer: Writer, changes: Sequence[OrderChange]) -> tuple[Leftover, ...]:
        """Puts back what is still ours. Meanwhile somebody else may have reassigned it, or recreated its topic."""
        reason = ""
        for attempt in range(writer.attempts):
            if attempt:
                time.sleep(_PAUSE_S)
            try:
                return put_back(writer, changes)
            except (NoBrokerAnswersError, RequestRefusedError, BrokerCallError) as fault:
                reason = f"it cannot be told whether it is still ours: {fault}"
        # Not written blindly: an order that stays changed harms nobody and is in the journal, while a reassignment that
        # somebody began is lost without a trace once it is overwritten.
        return tuple(Leftover(each, Undoing.FAILED, reason) for each in changes)

    def _add(self, partition: TopicPartition, what: str) -> None:
        outcome = self.outcomes[partition]
        self.outcomes[partition] = replace(outcome, reason=f"{outcome.reason}; {what}")

    def _order_stays_changed(self, partition: TopicPartition, fault: str) -> None:
        outcome = self.outcomes.get(partition)
        if outcome is None:  # an interrupt is on its way, and there will be no report
            return
        self.outcomes[partition] = replace(
            outcome,
            status=Status.FAILED,
            reason=f"{outcome.reason}; its replica order was not put back ({fault}): it stays in the journal, and "
            "the next run puts it back",
        )

    def _nobody(self, writer: Writer, partition: TopicPartition, asked: _Asked) -> str:
        doubt = f"; the last one ended in doubt: {asked.doubt}" if asked.doubt else ""
        return (
            f"no leader was seen within {writer.verify_timeout_s:g} s of each of {writer.attempts} attempts{doubt}; "
            f"look at broker {self._leader(partition)} and at the controller"
        )

    def _needs_reorder(self, partition: TopicPartition) -> bool:
        return self._order_to_elect_in(partition) != self.elections[partition].replicas

    def _order_to_elect_in(self, partition: TopicPartition) -> tuple[int, ...]:
        election = self.elections[partition]
        return election.replicas if self.by_designation else designated_order(election)

    def _order_change(self, partition: TopicPartition) -> OrderChange:
        election = self.elections[partition]
        return OrderChange(
            election.topic, election.partition, election.topic_id, election.replicas, designated_order(election)
        )

    def _leader(self, partition: TopicPartition) -> int:
        return self.elections[partition].designated_leader

    def _is_same_topic(self, partition: TopicPartition, state: PartitionState) -> bool:
        return state.topic_id == self.elections[partition].topic_id

    def _is_wanted(self, partition: TopicPartition, leader_id: int) -> bool:
        election = self.elections[partition]
        if election.election_type is ElectionType.PREFERRED:
            return leader_id in {*election.isr, *(election.elr or ())}
        return leader_id == election.designated_leader

    @property
    def _election_type(self) -> ElectionType:
        return next(iter(self.elections.values())).election_type

    def _why(self, partition: TopicPartition) -> str:
        return self.elections[partition].reason

    def _end_all(self, partitions: Iterable[TopicPartition], status: Status, reason: str) -> None:
        for partition in partitions:
            self._end(partition, status, reason)

    def _end(self, partition: TopicPartition, status: Status, reason: str, after: PartitionState | None = None) -> None:
        election, before = self.elections[partition], self.worlds[partition].state
        after = after or before
        self.outcomes[partition] = Outcome(
            topic=election.topic,
            partition=election.partition,
            status=status,
            reason=reason,
            topic_id=election.topic_id,
            designated_leader=election.designated_leader,
            leader_before=before.leader_id if before else None,
            leader_after=after.leader_id if after else None,
            leader_epoch_before=before.leader_epoch if before else None,
            leader_epoch_after=after.leader_epoch if after else None,
            replicas=election.replicas,
            replicas_after=after.replicas if after else None,
            candidates=election.candidates,
            silent=election.silent,
            losses=election.losses,
        )
