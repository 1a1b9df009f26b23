# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One batch of designated elections: reorder, elect UNCLEAN, verify, restore the order, verify.

Released brokers have no designated election (KAFKA-20098), but an UNCLEAN one takes the first unfenced replica in
order. So the same replica set is put with the designated leader first, the election is requested, and the order is
restored. Where the order elects the designated leader as it is, it is not touched. Brokers that offer designated
elections are asked for them, and no order is touched. An ordinary election, of a member of the ISR or ELR, is PREFERRED
and leaves the order as it is.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from .._changes.journal import Journal
from .._changes.order_rollback import end_in_journal, restore_orders_with_retries
from .._changes.orders import Writer, forwarded_for_s, read_with_retries, set_orders, wait_for_states
from .._changes.record import LEFT_AS_IS, JournalError, OrderChange, OrderLeftover, Undoing
from .._kafka.elections import PREFERRED, UNCLEAN, ElectionAnswer
from .._kafka.errors import BrokerCallError, RequestRefusedError
from .._kafka.reassignments import unregistered_in
from .._model.partition import TopicPartition
from .._model.run import Clock, Progress
from .election_outcomes import ElectionOutcomes
from .left_orders import KeptOrders
from .plan import ElectionType, Status
from .preconditions import find_registration_obstacles
from .strategy import name_brokers

_PAUSE_S = 0.5
_CODES = {ElectionType.PREFERRED: PREFERRED, ElectionType.UNCLEAN: UNCLEAN}
STOPPED = "the run was asked to stop before this election; run it again"


@dataclass(frozen=True, slots=True)
class Limits:
    """What ends the elections before all are done."""

    stop: threading.Event
    timeout_s: float
    deadline: float
    """By the clock."""
    clock: Clock

    @property
    def left_s(self) -> float:
        """Seconds until the deadline; 0 when the run was asked to stop."""
        return 0.0 if self.stop.is_set() else max(0.0, self.deadline - self.clock.monotonic())

    def why_over(self) -> str:
        """Return why nothing more is requested; empty when that is not so."""
        if self.stop.is_set():
            return STOPPED
        if not self.left_s:
            return (
                f"the time limit of {self.timeout_s:g} s for all elections (election_timeout_ms) was reached before "
                "this election; run it again"
            )
        return ""


@dataclass(frozen=True, slots=True)
class _RequestResult:
    """What an election request brought."""

    errors: Mapping[TopicPartition, str] = field(default_factory=dict)
    """Partitions that were certainly not elected by it, and why."""
    may_retry: bool = True
    was_sent: bool = True
    doubt: str = ""
    """Why nothing is known of the outcome, where that is so: then only the metadata shows it."""


@dataclass
class ElectionBatch(ElectionOutcomes):
    """Carries the elections out. ``outcomes`` has every partition once ``carry_out`` or ``forecast`` returned."""

    kept: KeptOrders = field(default_factory=KeptOrders)
    begun: set[TopicPartition] = field(default_factory=set)
    """Partitions that may be elected, and whose orders are this run's to restore."""
    _asked: dict[TopicPartition, _RequestResult] = field(default_factory=dict)
    """What the last request brought, of every partition that an election was requested for."""
    _in_doubt: dict[TopicPartition, float] = field(default_factory=dict)
    """By the clock, until when a request whose response was lost may still be executed."""
    _held: dict[TopicPartition, str] = field(default_factory=dict)
    """Why an order is not restored by this run."""

    def forecast(self) -> None:
        """Check mode: say what would be requested. Send nothing."""
        for partition in self.judge():
            how, dropped = "", self.dropped(partition)
            if self.needs_reorder(partition):
                order = [each for each in self.order(partition) if each not in dropped]
                how = f", with the replicas in the order {order}"
            self.end(
                partition,
                Status.WOULD_RECOVER,
                f"would elect broker {self.leader(partition)}{how}: {self.why(partition)}",
            )

    def carry_out(self, writer: Writer, journal: Journal, progress: Progress, limits: Limits) -> None:
        """Request the elections. Every order that was changed is restored, whatever fails in between.

        So is one that a dead run left, and that the election is requested in.

        There is one exception: while an election whose response was lost may still be executed, the order stays, and
        the journal has it. Restored, it would elect the first replica of the original order.

        Raises JournalError, before anything was changed.
        """
        going = self.judge()
        if not going:
            return
        self.begun.update(going)
        mine = {*going}
        inherited = [each for each in journal.orders if each.topic_partition in mine]
        begun = journal.begin([self._order_change(each) for each in going if self.needs_reorder(each)])
        changes = {each.topic_partition: each for each in (*inherited, *begun)}
        try:
            progress.step("putting designated leaders first", 0, len(going))
            self._reorder(writer, journal, changes, begun)
            self._elect_carefully(writer, [each for each in going if each not in self.outcomes], progress, limits)
        finally:
            progress.step("restoring replica orders", 0, len(changes))
            self._restore(writer, journal, [change for each, change in changes.items() if each not in self._held])
            for partition, reason in self._held.items():
                self.ordered_without[partition] = changes[partition].dropped
                self.order_stays_changed(partition, reason)
        self.see_the_end(read_with_retries(writer, going))

    def _reorder(
        self,
        writer: Writer,
        journal: Journal,
        changes: dict[TopicPartition, OrderChange],
        begun: Sequence[OrderChange],
    ) -> None:
        """Set the orders, and end the partitions where that fails. ``changes`` are kept as the journal has them.

        Where the controller refuses an order because a broker in it is not registered, the present order is kept if an
        election of it takes the designated leader. Otherwise the order goes without that broker, if the plan says so.
        """
        while begun:
            errors = set_orders(
                writer,
                {each.topic_partition: each.changed for each in begun},
                self._orders_before(journal, begun),
                {each.topic_partition: each.dropped for each in begun},
            )
            again = []
            for partition, error in errors.items():
                status, reason = self._refused(partition, error)
                if status is not None:
                    self.end(partition, status, f"its replicas were not reordered: {reason}")
                elif self.needs_reorder(partition):
                    again.append(self._order_change(partition))
            try:
                begun = journal.begin(again) if again else ()
            except JournalError as error:
                self.end_all((each.topic_partition for each in again), Status.FAILED, str(error))
                return
            changes |= {each.topic_partition: each for each in begun}

    def _orders_before(
        self, journal: Journal, begun: Sequence[OrderChange]
    ) -> dict[TopicPartition, set[tuple[int, ...]]]:
        """Return the orders in which each may be seen until its own is set: also those of earlier runs."""
        states = {each.topic_partition: self.worlds[each.topic_partition].state for each in begun}
        orders = {partition: {state.replicas} if state else set() for partition, state in states.items()}
        for change in journal.orders:
            if change.topic_partition in orders:
                orders[change.topic_partition].update(change.possible_orders)
        return orders

    def _refused(self, partition: TopicPartition, error: str) -> tuple[Status | None, str]:
        """Return how a partition ends whose order was not set; None where it can be elected all the same."""
        broker_id, world = unregistered_in(error), self.worlds[partition]
        if broker_id is None or broker_id in world.unregistered:
            return Status.FAILED, error
        self.worlds[partition] = world = replace(world, unregistered=world.unregistered | {broker_id})
        reasons = [*find_registration_obstacles(self.elections[partition], world)]
        return (Status.REFUSED, "; ".join(reasons)) if reasons else (None, "")

    def _elect_carefully(
        self, writer: Writer, partitions: Sequence[TopicPartition], progress: Progress, limits: Limits
    ) -> None:
        """Elect one partition of each designated leader first, and the others once these are verified.

        A broker in controlled shutdown looks alive in the metadata, but the controller does not elect it. An ordinary
        election can be asked for at once: it loses no committed record, whoever is elected.
        """
        first = {self.leader(each): each for each in reversed(partitions)}.values()
        if self.election_type is ElectionType.UNCLEAN:
            self._elect(writer, sorted(first), progress, limits)
        if self.is_disturbed:
            # It may be shutting down: each further election of it would go to the second best.
            not_asked = [each for each in partitions if each not in self._asked]
            self.end_all(not_asked, Status.FAILED, "not requested: another broker than the designated one was elected")
        self._elect(writer, [each for each in partitions if each not in self.outcomes], progress, limits)
        self._wait_out_doubt(writer, progress, limits)
        self._end_unelected(writer)

    def _elect(self, writer: Writer, partitions: Sequence[TopicPartition], progress: Progress, limits: Limits) -> None:
        """Request the elections until all are seen or the attempts are used up. What is left is in ``_asked``."""
        waiting = [each for each in partitions if each not in self._asked]
        for attempt in range(writer.attempts):
            waiting = self.still_right(waiting, read_with_retries(writer, waiting))
            if over := limits.why_over():
                self.end_all([each for each in waiting if each not in self._in_doubt], Status.FAILED, over)
                return
            if not waiting:
                return
            progress.step(
                f"electing{f', attempt {attempt + 1}' if attempt else ''}", len(self.outcomes), len(self.elections)
            )
            asked = self._ask(writer, waiting, attempt)
            self._asked |= dict.fromkeys(waiting, asked)
            self.written.update(each for each in waiting if asked.was_sent)
            if asked.doubt:
                self._in_doubt |= dict.fromkeys(waiting, limits.clock.monotonic() + forwarded_for_s(writer.kafka))
            waiting = self._watch(writer, waiting, min(writer.verify_timeout_s, limits.left_s), asked.errors)
            if not waiting or not asked.may_retry:
                return
            limits.clock.sleep(_PAUSE_S)

    def _watch(
        self, writer: Writer, waiting: Sequence[TopicPartition], seconds: float, errors: Mapping[TopicPartition, str]
    ) -> list[TopicPartition]:
        """Settle what gets a leader within the time, and return the others.

        One with an error is not waited for, but looked at with the others: it may have a leader all the same.
        """
        patient = replace(writer, verify_timeout_s=seconds)
        self.settle(
            wait_for_states(patient, waiting, lambda state: not state.is_offline or state.topic_partition in errors)
        )
        return [each for each in waiting if each not in self.outcomes]

    def _wait_out_doubt(self, writer: Writer, progress: Progress, limits: Limits) -> None:
        """Wait until every request whose response was lost has taken effect, or can take effect no more."""
        doubtful = {each: until for each, until in self._in_doubt.items() if not self.has_leader(each)}
        if not doubtful:
            return
        until = max(doubtful.values())
        if waiting := [each for each in doubtful if each not in self.outcomes]:
            progress.step("waiting for elections whose response was lost", len(self.outcomes), len(self.elections))
            self._watch(writer, waiting, min(until - limits.clock.monotonic(), limits.left_s), {})
        remaining = until - limits.clock.monotonic()
        if remaining > 0:
            states = read_with_retries(writer, doubtful)
            self.settle(states)
            reason = (
                f"an election whose response was lost may still be executed for {remaining:.0f} s, and would elect the "
                "first live replica of the order"
            )
            self._held |= {each: reason for each in doubtful if self.is_offline_in_our_order(each, states.get(each))}

    def _end_unelected(self, writer: Writer) -> None:
        """End what was requested, and has no leader after all that time."""
        left = [each for each in self._asked if each not in self.outcomes]
        states = read_with_retries(writer, left)
        self.settle(states)
        for partition in left:
            if partition not in self.outcomes:
                asked = self._asked[partition]
                reason = asked.errors.get(partition) or self._nobody(writer, partition, asked)
                self.end(partition, Status.FAILED if partition in states else Status.UNKNOWN, reason)

    def _ask(self, writer: Writer, waiting: list[TopicPartition], attempt: int) -> _RequestResult:
        if forbidden := writer.why_forbidden():
            return _RequestResult(dict.fromkeys(waiting, forbidden), may_retry=False, was_sent=False)
        try:
            answers = self._answers(writer, waiting, attempt)
        except RequestRefusedError as error:
            if error.is_outcome_unknown:
                return _RequestResult(doubt=str(error))
            return _RequestResult(dict.fromkeys(waiting, str(error)), may_retry=error.is_transient)
        except BrokerCallError as error:
            return _RequestResult(doubt=str(error))
        return _RequestResult(
            {
                partition: str(answers[partition])
                for partition in waiting
                if partition in answers and not (answers[partition].is_elected or answers[partition].was_not_needed)
            }
        )

    def _answers(
        self, writer: Writer, waiting: list[TopicPartition], attempt: int
    ) -> Mapping[TopicPartition, ElectionAnswer]:
        if self.by_designation and self.election_type is ElectionType.UNCLEAN:
            leaders = {each: self.leader(each) for each in waiting}
            return writer.send(attempt, lambda address: writer.kafka.elect_designated(address, leaders))
        code = _CODES[self.election_type]
        return writer.send(attempt, lambda address: writer.kafka.elect(address, code, waiting))

    def _restore(self, writer: Writer, journal: Journal, changes: Sequence[OrderChange]) -> None:
        ended = restore_orders_with_retries(writer, changes)
        self._note_dropped(ended)
        not_ours = {each.change.topic_partition: each.reason for each in ended if each.undoing in LEFT_AS_IS}
        for partition in self.outcomes.keys() & not_ours.keys():
            self.add(partition, f"its replica order is not restored: {not_ours[partition]}")
        try:
            end_in_journal(journal, self.kept.keep_watching(journal, ended))
        except JournalError as error:
            # The next run finds them as they were, and strikes them out. What was done here is reported all the same.
            settled = {each.change.topic_partition for each in ended if each.undoing is not Undoing.FAILED}
            for partition in self.outcomes.keys() & settled:
                found = "that is so" if partition in not_ours else "its replica order is back"
                self.add(partition, f"{found}, but the journal does not know it: {error}")
        failed = [each for each in ended if each.undoing is Undoing.FAILED]
        is_journal_lost = bool(failed) and journal.is_lost
        for each in failed:
            self.order_stays_changed(each.change.topic_partition, each.reason, is_journal_lost=is_journal_lost)

    def _note_dropped(self, ended: Iterable[OrderLeftover]) -> None:
        """Say of each partition whose replica set is smaller now what was dropped, and that it stays so."""
        for each in ended:
            partition, dropped = each.change.topic_partition, each.change.dropped
            if partition not in self.outcomes or each.undoing in LEFT_AS_IS:
                continue
            if kept := [one for one in self.dropped(partition) if one not in dropped]:
                self.add(partition, f"{name_brokers(kept)} was not dropped, or was registered again and kept")
            if dropped:
                self.ordered_without[partition] = dropped
                self.add(
                    partition,
                    f"{name_brokers(dropped)} was dropped from its replicas and is not put back, because it is not "
                    "registered: add a replica on another broker (kafka-reassign-partitions.sh)",
                )

    def _nobody(self, writer: Writer, partition: TopicPartition, asked: _RequestResult) -> str:
        doubt = f"; the outcome of the last one is unknown: {asked.doubt}" if asked.doubt else ""
        return (
            f"no leader was seen within {writer.verify_timeout_s:g} s of each of {writer.attempts} attempts{doubt}; "
            f"look at broker {self.leader(partition)} and at the controller"
        )

    def _order_change(self, partition: TopicPartition) -> OrderChange:
        election = self.elections[partition]
        return OrderChange(
            election.topic,
            election.partition,
            election.topic_id,
            election.replicas,
            self.order(partition),
            self.dropped(partition),
        )
