# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Carry out one batch of designated elections: reorder, elect UNCLEAN, verify, restore the order, verify.

Released brokers have no designated election (KAFKA-20098), but an UNCLEAN election takes the first unfenced replica in
the replica order. So the designated leader is put first in the order, the election is requested, and the order is
restored. The order is not changed if it elects the designated leader anyway, if the brokers offer designated elections,
or for an ordinary election (PREFERRED), which takes a member of the ISR or ELR.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from .._changes.journal import Journal
from .._changes.order_rollback import restore_orders
from .._changes.orders import OrderRequest, set_orders
from .._changes.record import LEFT_AS_IS, JournalError, OrderChange, OrderLeftover, Undoing
from .._changes.sender import Writer, forwarded_for_s
from .._kafka.elections import PREFERRED, UNCLEAN, ElectionAnswer
from .._kafka.errors import CallError
from .._kafka.reassignments import parse_unregistered_broker
from .._model.partition import TopicPartition
from .._model.reason import because, say
from .._model.run import Clock, Progress
from .batch_outcomes import BatchOutcomes, explain_passed_over
from .left_orders import KeptOrders
from .observation import read_until
from .plan import ElectionType, Status
from .preconditions import find_registration_obstacles

_PAUSE_S = 0.5
_CODES = {ElectionType.PREFERRED: PREFERRED, ElectionType.UNCLEAN: UNCLEAN}
STOPPED = "the run was asked to stop before this election; run it again"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that end a run before all its elections are requested."""

    stop: threading.Event
    timeout_s: float
    deadline: float
    """In seconds of ``clock.monotonic()``."""
    clock: Clock

    @classmethod
    def from_now(cls, stop: threading.Event, timeout_ms: int, clock: Clock) -> Limits:
        """Return the limits of elections that begin now."""
        return cls(stop, timeout_ms / 1000, clock.monotonic() + timeout_ms / 1000, clock)

    @property
    def left_s(self) -> float:
        """Seconds until the deadline; 0 if the run was asked to stop."""
        return 0.0 if self.stop.is_set() else max(0.0, self.deadline - self.clock.monotonic())

    def why_ended(self) -> str:
        """Return why no more elections are requested; empty if they may be."""
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
    """The result of one election request."""

    errors: Mapping[TopicPartition, str] = field(default_factory=dict)
    """Partitions for which the request certainly elected no leader, with the error."""
    may_retry: bool = True
    was_sent: bool = True
    lost_response: str = ""
    """The error if the response was lost: then only the metadata shows the outcome. Empty if it was received."""


@dataclass
class ElectionBatch(BatchOutcomes):
    """Carries out the elections of one batch, or previews them.

    ``outcomes`` has every partition once ``carry_out`` or ``preview`` has returned.
    """

    kept: KeptOrders = field(default_factory=KeptOrders)
    begun: set[TopicPartition] = field(default_factory=set)
    """Partitions whose elections this run has begun: it restores their orders."""
    _changes: dict[TopicPartition, OrderChange] = field(default_factory=dict)
    """The orders that were changed, by this run or before it, as the journal has them."""
    _requested: dict[TopicPartition, _RequestResult] = field(default_factory=dict)
    """The result of the last election request for each partition."""
    _executable_until: dict[TopicPartition, float] = field(default_factory=dict)
    """When an election whose response was lost can no longer be executed, in seconds of the clock."""
    _unrestored: dict[TopicPartition, str] = field(default_factory=dict)
    """Partitions whose order this run leaves changed, and why."""

    def preview(self) -> None:
        """Report in ``outcomes`` what would be requested, for check mode. Sends no request."""
        for partition in self.select_allowed():
            how, dropped = None, self.left_out(partition)
            if self.needs_reorder(partition):
                order = [each for each in self.order(partition) if each not in dropped]
                how = say("the replicas are first put in the order {order}, and back afterwards", order=order)
            self.end(partition, Status.WOULD_RECOVER, because(self.elections[partition].explained, how))

    def carry_out(self, writer: Writer, journal: Journal, progress: Progress, limits: Limits) -> None:
        """Request the elections, then restore every changed order, even after an error.

        Orders that a dead run left on these partitions are restored too.

        An order is not restored while an election whose response was lost may still be executed: after the restore, it
        would elect the first live replica of the original order. Such an order stays in the journal. So does the order
        that a dead run left, if its partition gets no leader: that run may have requested an election, too. The
        partition is then not in ``begun`` any more, and ``KeptOrders.settle`` restores its order.

        Raises JournalError before the first change.
        """
        allowed = self.select_allowed()
        if not allowed:
            return
        self.begun.update(allowed)
        partitions = {*allowed}
        earlier = [each for each in journal.orders if each.topic_partition in partitions]
        begun = journal.begin([self._make_change(each) for each in allowed if self.needs_reorder(each)])
        changes = self._changes
        changes |= {each.topic_partition: each for each in (*earlier, *begun)}
        try:
            progress.step("putting designated leaders first", 0, len(allowed))
            self._reorder(writer, journal, begun)
            to_elect = [each for each in allowed if each not in self.outcomes]
            self._elect_one_of_each_leader_first(writer, to_elect, progress, limits)
        finally:
            left = {each for each in changes if each in self.kept.changes and not self.has_leader(each)}
            left -= self._unrestored.keys()
            self.begun -= left
            progress.step("restoring replica orders", 0, len(changes) - len(left))
            staying = left | self._unrestored.keys()
            self._restore(writer, journal, [change for each, change in changes.items() if each not in staying])
            for partition, reason in self._unrestored.items():
                self.dropped_replicas[partition] = changes[partition].dropped_for_good
                self.fail_unrestored_order(partition, reason)
        self.record_final_states(read_until(writer.kafka, allowed, writer.verify_timeout_s))

    def _reorder(self, writer: Writer, journal: Journal, begun: Sequence[OrderChange]) -> None:
        """Set the orders of ``begun``, and end the partitions for which that fails.

        If the controller refuses an order because a broker in it is not registered, the present order is kept if its
        election takes the designated leader. Otherwise the order is set without that broker if the plan allows it.
        """
        while begun:
            before = self._list_possible_orders(journal, begun)
            errors = set_orders(
                writer,
                {
                    each.topic_partition: OrderRequest(
                        each.topic_id, each.changed, before[each.topic_partition], each.dropped, each.reassignment
                    )
                    for each in begun
                },
            )
            again = []
            for partition, error in errors.items():
                status, reason = self._judge_refused_order(partition, error)
                if status is not None:
                    self.end(partition, status, say("its replicas were not reordered: {reason}", reason=reason))
                elif self.needs_reorder(partition):
                    again.append(self._make_change(partition))
            try:
                begun = journal.begin(again) if again else ()
            except JournalError as error:
                self.end_all((each.topic_partition for each in again), Status.FAILED, str(error))
                return
            self._changes |= {each.topic_partition: each for each in begun}

    def _list_possible_orders(
        self, journal: Journal, begun: Sequence[OrderChange]
    ) -> dict[TopicPartition, set[tuple[int, ...]]]:
        """Return the orders that each partition may show until its new order is set, those of earlier runs included."""
        states = {each.topic_partition: self.observations[each.topic_partition].state for each in begun}
        orders = {partition: {state.replicas} if state else set() for partition, state in states.items()}
        for change in journal.orders:
            if change.topic_partition in orders:
                orders[change.topic_partition].update(change.possible_orders)
        return orders

    def _judge_refused_order(self, partition: TopicPartition, error: str) -> tuple[Status | None, str]:
        """Return the status and reason for a refused order. The status is None if the election is possible anyway."""
        broker_id, observation = parse_unregistered_broker(error), self.observations[partition]
        if broker_id is None or broker_id in observation.unregistered:
            return Status.FAILED, error
        observation = replace(observation, unregistered=observation.unregistered | {broker_id})
        self.observations[partition] = observation
        reasons = [*find_registration_obstacles(self.elections[partition], observation)]
        return (Status.REFUSED, because(*reasons)) if reasons else (None, "")

    def _elect_one_of_each_leader_first(
        self, writer: Writer, partitions: Sequence[TopicPartition], progress: Progress, limits: Limits
    ) -> None:
        """Elect one partition of each designated leader, verify it, then elect the other partitions.

        A broker in controlled shutdown looks alive in the metadata, but the controller does not elect it. Ordinary
        elections are all requested at once: they lose no committed record, whichever replica is elected.
        """
        first = {self.designated_leader(each): each for each in reversed(partitions)}.values()
        if self.election_type is ElectionType.UNCLEAN:
            self._elect(writer, sorted(first), progress, limits)
        # Each further election of such a leader would take the second best replica.
        for partition in [each for each in partitions if each not in self._requested]:
            if (broker := self.designated_leader(partition)) in self.passed_over:
                self.end_all([partition], Status.FAILED, explain_passed_over(broker))
        self._elect(writer, [each for each in partitions if each not in self.outcomes], progress, limits)
        self._wait_for_lost_responses(writer, progress, limits)
        self._end_unelected(writer)

    def _elect(self, writer: Writer, partitions: Sequence[TopicPartition], progress: Progress, limits: Limits) -> None:
        """Request the elections until all leaders are seen or all attempts are used. ``_requested`` has the results."""
        waiting = [each for each in partitions if each not in self._requested]
        for attempt in range(writer.attempts):
            waiting = self.end_changed(waiting, read_until(writer.kafka, waiting, writer.verify_timeout_s))
            if over := limits.why_ended():
                self.end_all([each for each in waiting if each not in self._executable_until], Status.FAILED, over)
                return
            if not waiting:
                return
            progress.step(
                f"electing{f', attempt {attempt + 1}' if attempt else ''}", len(self.outcomes), len(self.elections)
            )
            result = self._request(writer, waiting, attempt)
            self._requested |= dict.fromkeys(waiting, result)
            self.written.update(each for each in waiting if result.was_sent)
            if result.lost_response:
                until = limits.clock.monotonic() + forwarded_for_s(writer.kafka)
                self._executable_until |= dict.fromkeys(waiting, until)
            waiting = self._wait_for_leaders(
                writer, waiting, min(writer.verify_timeout_s, limits.left_s), result.errors
            )
            if not waiting or not result.may_retry:
                return
            limits.clock.sleep(_PAUSE_S)

    def _wait_for_leaders(
        self, writer: Writer, waiting: Sequence[TopicPartition], seconds: float, errors: Mapping[TopicPartition, str]
    ) -> list[TopicPartition]:
        """Wait for leaders, end the partitions that get one, and return the other partitions.

        A partition with an error is read too, because it may have a leader anyway, but is not waited for.
        """
        self.end_led(
            read_until(
                writer.kafka,
                waiting,
                seconds,
                lambda state: not state.is_offline or state.topic_partition in errors,
            )
        )
        return [each for each in waiting if each not in self.outcomes]

    def _wait_for_lost_responses(self, writer: Writer, progress: Progress, limits: Limits) -> None:
        """Wait until every election whose response was lost has been executed, or can no longer be executed.

        If the time limit ends first, the orders of these partitions stay changed.
        """
        unknown = {each: until for each, until in self._executable_until.items() if not self.has_leader(each)}
        if not unknown:
            return
        until = max(unknown.values())
        if waiting := [each for each in unknown if each not in self.outcomes]:
            progress.step("waiting for elections whose response was lost", len(self.outcomes), len(self.elections))
            self._wait_for_leaders(writer, waiting, min(until - limits.clock.monotonic(), limits.left_s), {})
        remaining = until - limits.clock.monotonic()
        if remaining > 0:
            states = read_until(writer.kafka, unknown, writer.verify_timeout_s)
            self.end_led(states)
            reason = say(
                "an election whose response was lost may still be executed for {seconds} s, and would elect the first "
                "live replica of the order",
                seconds=round(remaining),
            )
            self._unrestored |= {
                each: reason
                for each in unknown
                if each in self._changes and self.may_be_offline_in_our_order(each, states.get(each))
            }

    def _end_unelected(self, writer: Writer) -> None:
        """End the partitions for which an election was requested, and that still have no leader."""
        left = [each for each in self._requested if each not in self.outcomes]
        states = read_until(writer.kafka, left, writer.verify_timeout_s)
        self.end_led(states)
        for partition in left:
            if partition not in self.outcomes:
                result = self._requested[partition]
                reason = result.errors.get(partition) or self._explain_no_leader(writer, partition, result)
                self.end(partition, Status.FAILED if partition in states else Status.UNKNOWN, reason)

    def _request(self, writer: Writer, waiting: list[TopicPartition], attempt: int) -> _RequestResult:
        if forbidden := writer.why_forbidden():
            return _RequestResult(dict.fromkeys(waiting, forbidden), may_retry=False, was_sent=False)
        try:
            answers = self._send(writer, waiting, attempt)
        except CallError as error:
            if error.may_be_executed:
                return _RequestResult(lost_response=str(error))
            refused = dict.fromkeys(waiting, str(error))
            return _RequestResult(refused, may_retry=error.is_transient, was_sent=error.was_sent)
        return _RequestResult({each: why for each in waiting if each in answers and (why := answers[each].error)})

    def _send(
        self, writer: Writer, waiting: list[TopicPartition], attempt: int
    ) -> Mapping[TopicPartition, ElectionAnswer]:
        if self.by_designation and self.election_type is ElectionType.UNCLEAN:
            leaders = {each: self.designated_leader(each) for each in waiting}
            return writer.send(attempt, lambda address: writer.kafka.elect_designated(address, leaders))
        code = _CODES[self.election_type]
        return writer.send(attempt, lambda address: writer.kafka.elect(address, code, waiting))

    def _restore(self, writer: Writer, journal: Journal, changes: Sequence[OrderChange]) -> None:
        ended = restore_orders(writer, changes)
        self._report_dropped(ended)
        not_ours = {each.change.topic_partition: each.reason for each in ended if each.undoing in LEFT_AS_IS}
        for partition in self.outcomes.keys() & not_ours.keys():
            reason = say("its replica order is not restored: {reason}", reason=not_ours[partition])
            self.add_to_reason(partition, reason)
        try:
            journal.end_undone(self.kept.keep_unseen(journal, ended))
        except JournalError as error:
            # The next run finds the orders restored and ends them in the journal. This run reports what it did.
            settled = {each.change.topic_partition for each in ended if each.undoing is not Undoing.FAILED}
            for partition in self.outcomes.keys() & settled:
                found = "that is so" if partition in not_ours else "its replica order is back"
                reason = say(f"{found}, but the journal does not know it: {{error}}", error=str(error))
                self.add_to_reason(partition, reason)
        failed = [each for each in ended if each.undoing is Undoing.FAILED]
        is_journal_lost = bool(failed) and journal.is_lost
        for each in failed:
            self.fail_unrestored_order(each.change.topic_partition, each.reason, is_journal_lost=is_journal_lost)

    def _report_dropped(self, ended: Iterable[OrderLeftover]) -> None:
        """Add to the reason of each partition which unregistered brokers were dropped for good."""
        for each in ended:
            partition, dropped = each.change.topic_partition, each.change.dropped_for_good
            if partition not in self.outcomes or each.undoing in LEFT_AS_IS:
                continue
            if kept := [one for one in self.dropped(partition) if one not in dropped]:
                form = "{brokers} was not dropped, or was registered again and kept"
                self.add_to_reason(partition, say(form, brokers=kept))
            if dropped:
                self.dropped_replicas[partition] = dropped
                form = (
                    "{brokers} was dropped from its replicas and is not put back, because it is not registered: add a "
                    "replica on another broker (kafka-reassign-partitions.sh)"
                )
                self.add_to_reason(partition, say(form, brokers=dropped))

    def _explain_no_leader(self, writer: Writer, partition: TopicPartition, result: _RequestResult) -> str:
        seen = say(
            "no leader was seen within {seconds} s of each of {attempts} attempts",
            seconds=f"{writer.verify_timeout_s:g}",
            attempts=writer.attempts,
        )
        lost = result.lost_response
        return because(
            seen,
            say("the outcome of the last one is unknown: {error}", error=lost) if lost else None,
            say("look at broker {broker} and at the controller", broker=self.designated_leader(partition)),
        )

    def _make_change(self, partition: TopicPartition) -> OrderChange:
        election = self.elections[partition]
        return OrderChange(
            election.topic,
            election.partition,
            election.topic_id,
            election.replicas,
            self.order(partition),
            self.left_out(partition),
            election.adding,
            election.removing,
        )
