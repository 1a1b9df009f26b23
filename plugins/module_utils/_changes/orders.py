# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Set replica orders, and wait until they are seen. All order changes of this collection use this module.

A KRaft broker keeps a request that it forwards to the controller for 60 s, and sends it again after an error. So a
request whose response was lost may be executed late: long after its sender gave up, or a second time after its effect
was seen. The writer notes the subject of each such request in the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from .._kafka.errors import BrokerCallError, NoBrokerAnswersError, RequestRefusedError
from .._kafka.port import Kafka
from .._kafka.reassignments import parse_unregistered_broker
from .._kafka.settings import Address
from .._model.partition import Cause, PartitionState, TopicPartition, in_batches
from .._model.run import looks
from .journal import Journal
from .record import JournalError, partition_subject

_PAUSE_S = 0.5
"""The pause before another attempt: a failover of the controller takes seconds."""
_FORWARDED_FOR_S = 60.0
"""The time for which a KRaft broker keeps a forwarded request (BrokerServer, retryTimeoutMs)."""
_NEW_TOPIC_S = 2.0
"""The time within which brokers show what a request did to a topic that was just created."""
_NOT_SENT = frozenset({Cause.UNREACHABLE, Cause.NOT_AUTHORISED})

Answer = TypeVar("Answer")
NoteLateRequests = Callable[[Iterable[str], float], None]
"""Receives the subjects of a request (``record.subject_of``), and the monotonic time until which it may be executed."""

States = Mapping[TopicPartition, PartitionState]


@dataclass(frozen=True, slots=True)
class Writer:
    """Send the write requests of this run to brokers in turn.

    A broker that lags behind the controller still shows the old state. So a write counts as failed only after
    ``verify_timeout_s``.
    """

    kafka: Kafka
    addresses: Sequence[Address]
    """Brokers that answered. Each attempt begins with the next of them."""
    attempts: int
    verify_timeout_s: float
    require_lock: Callable[[], None] | None = None
    """Called before each write request. Raises JournalError if this run must not write."""
    note_late_requests: NoteLateRequests | None = None
    """Called for each request whose response was lost."""

    def with_journal(self, journal: Journal) -> Writer:
        """Return a writer that writes only while this run holds the lock, and notes late requests in the journal."""
        return replace(self, require_lock=journal.require_lock, note_late_requests=journal.note_late_requests)

    def note_lost_response(
        self, error: BrokerCallError | RequestRefusedError, partitions: Iterable[TopicPartition]
    ) -> None:
        """Note that a request for the replicas of these partitions may still be executed, if it was sent."""
        note_lost_response(self.note_late_requests, self.kafka, error, map(partition_subject, partitions))

    def why_forbidden(self) -> str:
        """Return why this run must not send a write request now; empty if it may."""
        try:
            if self.require_lock is not None:
                self.require_lock()
        except JournalError as error:
            return str(error)
        return ""

    def address(self, attempt: int) -> Address:
        return self.addresses[attempt % len(self.addresses)]

    def addresses_of_attempt(self, attempt: int) -> list[Address]:
        """Return the broker of an attempt, and then the brokers to use if a connection fails."""
        return [self.address(turn) for turn in range(attempt, attempt + min(self.attempts, len(self.addresses)))]

    def send(self, attempt: int, request: Callable[[Address], Answer]) -> Answer:
        """Send a request to the broker of this attempt. If it could not be sent, send it to the next broker at once.

        Raises RequestRefusedError or BrokerCallError.
        """
        *others, last = self.addresses_of_attempt(attempt)
        for address in others:
            try:
                return request(address)
            except BrokerCallError as error:
                if error.cause not in _NOT_SENT or self.why_forbidden():
                    raise
        return request(last)


def forwarded_for_s(kafka: Kafka) -> float:
    """Return the seconds for which a request may be executed after its response was lost or its sender died."""
    return _FORWARDED_FOR_S + kafka.settings.request_timeout_ms / 1000


def note_lost_response(
    note: NoteLateRequests | None, kafka: Kafka, error: BrokerCallError | RequestRefusedError, subjects: Iterable[str]
) -> None:
    """Note that a request may still be executed, unless the error means that it was refused or not sent."""
    is_unknown = error.is_outcome_unknown if isinstance(error, RequestRefusedError) else error.cause not in _NOT_SENT
    if note is not None and is_unknown:
        note(subjects, kafka.clock.monotonic() + forwarded_for_s(kafka))


def read_states(kafka: Kafka, partitions: Collection[TopicPartition]) -> dict[TopicPartition, PartitionState]:
    """Return the present states of partitions. Those that do not exist are left out.

    Raises NoBrokerAnswersError or BrokerCallError.
    """
    return kafka.read_partition_states(partitions).states


def wait_for_states(
    writer: Writer, partitions: Collection[TopicPartition], is_done: Callable[[PartitionState], bool]
) -> dict[TopicPartition, PartitionState]:
    """Read partitions until all are done or the verify timeout has passed, and return their last states.

    A failed read is tried again. The result is empty if no read succeeded.
    """
    seen: dict[TopicPartition, PartitionState] = {}
    for _look in looks(writer.kafka.clock, writer.verify_timeout_s):
        with suppress(NoBrokerAnswersError, BrokerCallError):
            seen = read_states(writer.kafka, partitions)
            if all(each in seen and is_done(seen[each]) for each in partitions):
                break
    return seen


def read_with_retries(writer: Writer, partitions: Collection[TopicPartition]) -> dict[TopicPartition, PartitionState]:
    """Read partitions. A failed read is tried again until the verify timeout has passed."""
    return wait_for_states(writer, partitions, lambda _state: True) if partitions else {}


@dataclass(frozen=True, slots=True)
class OrderRequest:
    """A replica order to set on a partition of the topic of this id."""

    topic_id: str
    order: tuple[int, ...]
    before: Collection[tuple[int, ...]]
    """The orders that the partition may show until the request is executed. Another party has set any other order."""
    dropped: tuple[int, ...] = ()
    """Unregistered brokers at the end of ``order``. The request leaves them out. The order is set as soon as it is seen
    with or without them."""

    @property
    def requested(self) -> tuple[int, ...]:
        """The order that the request names."""
        return self.order[: len(self.order) - len(self.dropped)]

    def is_set(self, state: PartitionState) -> bool:
        return state.topic_id == self.topic_id and state.replicas in (self.order, self.requested)

    def is_changed(self, state: PartitionState) -> bool:
        """Return whether the order is set, or another party has set another one or has re-created the topic."""
        return self.is_set(state) or state.topic_id != self.topic_id or state.replicas not in self.before


def set_orders(
    writer: Writer, orders: Mapping[TopicPartition, OrderRequest], *, were_read: bool = False
) -> dict[TopicPartition, str]:
    """Set replica orders, wait until they are seen, and return why the others are not set, by partition.

    A partition whose order another party has set is not requested again, and neither is one that another party
    reassigns. Kafka's request names the topic and not its id. So the partitions are read right before it, unless
    ``were_read`` says that the caller has just done so, and a topic that was re-created meanwhile is left alone. If it
    is re-created after that, the request is undone as far as possible.

    After a request with an unknown outcome, the partitions are read before the next attempt. The journal keeps their
    changes until the request cannot be executed any more (``late_requests``).
    """
    failures: dict[TopicPartition, str] = {}
    dropping = {each for each, request in orders.items() if request.dropped}
    for group in (orders.keys() - dropping, dropping):
        for batch in in_batches(sorted(group)):
            failures |= _OrderBatch(writer, {each: orders[each] for each in batch}, were_read=were_read).set()
    return failures


class _OrderBatch:
    """The orders of one request."""

    def __init__(self, writer: Writer, orders: Mapping[TopicPartition, OrderRequest], *, were_read: bool) -> None:
        self._writer = writer
        self._orders = orders
        self._were_read = were_read
        self._is_dropping = any(each.dropped for each in orders.values())
        self._waiting = [*orders]
        """Partitions whose order is not seen yet."""
        self._failures: dict[TopicPartition, str] = {}
        self._changed_by_others: dict[TopicPartition, str] = {}

    def set(self) -> dict[TopicPartition, str]:
        """Send the request, again for the orders that are not seen, and return why these are not set."""
        for attempt in range(self._writer.attempts):
            if attempt:
                self._writer.kafka.clock.sleep(_PAUSE_S)
            if (attempt or not self._were_read) and not self._leave_out_changed(attempt):
                continue
            if not self._waiting:
                break
            if forbidden := self._writer.why_forbidden():
                self._failures |= dict.fromkeys(self._waiting, forbidden)
                break
            if not self._request(attempt):
                break
        return self._failures | self._changed_by_others

    def _leave_out_changed(self, attempt: int) -> bool:
        """Stop waiting for topics that were re-created and, before a new request, for partitions being reassigned.

        The controller does not refuse an order of the earlier replicas, so a new request would undo a reassignment.

        Return False if they cannot be read.
        """
        kafka = self._writer.kafka
        try:
            running = kafka.running_reassignments(self._waiting) if attempt else {}
            found = kafka.read_partition_states(self._waiting)
        except (NoBrokerAnswersError, RequestRefusedError, BrokerCallError) as error:
            doubt = f"not requested{' again' if attempt else ''}, because another party may have changed it: {error}"
            self._failures = dict.fromkeys(self._waiting, doubt)
            return False
        self._changed_by_others |= {
            each: "another party is reassigning it"
            for each, how in running.items()
            if not how.dropping or how.dropping != self._orders[each].dropped
        }
        for each in self._waiting:
            state = found.states.get(each)
            if each.topic in found.hidden:
                self._changed_by_others[each] = found.why_hidden(each.topic)
            elif state is None:
                self._changed_by_others[each] = "the partition does not exist any more"
            elif state.topic_id != self._orders[each].topic_id:
                self._changed_by_others[each] = f"the topic was re-created (id {state.topic_id}), and its order stays"
        self._waiting = [each for each in self._waiting if each not in self._changed_by_others]
        return True

    def _request(self, attempt: int) -> bool:
        """Send the request and wait until the orders are seen. Return whether another attempt may help."""
        kafka = self._writer.kafka
        reorder = kafka.reorder_without if self._is_dropping else kafka.reorder
        wanted = {each: self._orders[each].requested for each in self._waiting}
        answers: Mapping[TopicPartition, str | None] = {}
        try:
            answers = self._writer.send(attempt, lambda address: reorder(address, wanted))
        except (RequestRefusedError, BrokerCallError) as error:
            self._writer.note_lost_response(error, self._waiting)
            if isinstance(error, RequestRefusedError) and not error.is_outcome_unknown:
                self._failures = dict.fromkeys(self._waiting, str(error))
                return error.is_transient
            unanswered = f"the outcome is unknown: {error}"
        else:
            unanswered = "the controller left it out of its answer"
        self._wait({each: answers.get(each, unanswered) for each in self._waiting}, answers)
        # No broker registers within the pause.
        return any(parse_unregistered_broker(each) is None for each in self._failures.values())

    def _wait(self, errors: Mapping[TopicPartition, str | None], answers: Mapping[TopicPartition, str | None]) -> None:
        """Wait until the requested orders are seen, and note why others are not."""
        accepted = [each for each, error in errors.items() if error is None or each not in answers]
        seen = wait_for_states(
            self._writer, accepted, lambda state: self._orders[state.topic_partition].is_changed(state)
        )
        not_set = [each for each in self._waiting if each not in seen or not self._orders[each].is_set(seen[each])]
        recreated = [each for each in not_set if each in seen and seen[each].topic_id != self._orders[each].topic_id]
        if recreated:
            self._changed_by_others |= _undo_on_new_topics(
                self._writer, {each: self._orders[each] for each in recreated}
            )
        self._changed_by_others |= {
            each: f"another party has set its replicas to {list(seen[each].replicas)}"
            for each in not_set
            if each in seen and each not in recreated and self._orders[each].is_changed(seen[each])
        }
        self._waiting = [each for each in not_set if each not in self._changed_by_others]
        self._failures = {
            each: errors[each] or _not_seen(seen.get(each), self._orders[each].requested) for each in self._waiting
        }


def _undo_on_new_topics(writer: Writer, orders: Mapping[TopicPartition, OrderRequest]) -> dict[TopicPartition, str]:
    """Undo what a request did to topics that were re-created right before it, and return what was found.

    A request for other replicas than those of the new topic begins a reassignment, which is cancelled. The order of the
    same replicas is set at once, and nothing returns the earlier one: so it is named.
    """
    found = dict.fromkeys(orders, "the topic was re-created, and cannot be read: compare its replica order")
    waiting = [*orders]
    for _look in looks(writer.kafka.clock, _NEW_TOPIC_S):
        with suppress(NoBrokerAnswersError, BrokerCallError, RequestRefusedError):
            running = writer.kafka.running_reassignments(waiting)
            states = read_states(writer.kafka, waiting)
            for partition, state in states.items():
                requested, how = orders[partition].requested, running.get(partition)
                is_ours = how is not None and {*state.replicas} - {*how.removing} == {*requested}
                explain = partial(cancel_on_new_topic, writer) if is_ours else explain_new_topic
                found[partition] = explain(state, requested)
                if is_ours or state.replicas == requested:
                    waiting.remove(partition)
        if not waiting:
            break
    return found


def explain_new_topic(state: PartitionState, requested: Sequence[int]) -> str:
    """Return what a request for the replicas of a deleted topic did to its successor."""
    created = f"the topic was re-created (id {state.topic_id})"
    if state.replicas != tuple(requested):
        return f"{created}: its replicas are {list(state.replicas)}, and stay"
    return (
        f"{created} when the replicas {list(requested)} of the deleted topic were requested. It has them now, by this "
        f"request or since its creation. If its first order was another one, broker {state.leader_id}, which leads it, "
        "was probably the first in it: set an order with kafka-reassign-partitions.sh"
    )


def cancel_on_new_topic(writer: Writer, state: PartitionState, requested: Sequence[int]) -> str:
    """Cancel the reassignment that a request for a deleted topic began on its successor. Return what was done."""
    began = (
        f"the topic was re-created (id {state.topic_id}) when the replicas {list(requested)} of the deleted topic were "
        "requested, which began a reassignment"
    )
    problem = writer.why_forbidden()
    try:
        problem = problem or writer.send(0, lambda to: writer.kafka.cancel(to, state.topic_partition)) or ""
    except (BrokerCallError, RequestRefusedError) as error:
        writer.note_lost_response(error, [state.topic_partition])
        problem = str(error)
    return f"{began}, and it could not be cancelled: {problem}" if problem else f"{began}: it was cancelled"


def _not_seen(state: PartitionState | None, order: Sequence[int]) -> str:
    found = f"its replicas are {list(state.replicas)}" if state else "it cannot be read"
    return f"the controller accepted the order {list(order)}, but {found}"
