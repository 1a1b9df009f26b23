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
from types import MappingProxyType
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


def set_orders(
    writer: Writer,
    orders: Mapping[TopicPartition, tuple[int, ...]],
    before: Mapping[TopicPartition, Collection[tuple[int, ...]]],
    dropped: Mapping[TopicPartition, tuple[int, ...]] = MappingProxyType({}),
) -> dict[TopicPartition, str]:
    """Set replica orders, wait until they are seen, and return why the others are not set, by partition.

    ``before`` has the orders that each partition may show until its request is executed. Another party has set any
    other order. Such a partition is not requested again, and neither is one that another party reassigns.

    ``dropped`` has unregistered brokers at the end of an order. The request leaves them out. An order is set as soon as
    it is seen with or without them.

    After a request with an unknown outcome, the partitions are read before the next attempt. The journal keeps their
    changes until the request cannot be executed any more (``late_requests``).
    """
    failures: dict[TopicPartition, str] = {}
    whole = {each: order for each, order in orders.items() if not dropped.get(each)}
    for batch in in_batches(sorted(whole)):
        failures |= _OrderBatch(writer, {each: whole[each] for each in batch}, before, {}).set()
    for batch in in_batches(sorted(orders.keys() - whole.keys())):
        failures |= _OrderBatch(writer, {each: orders[each] for each in batch}, before, dropped).set()
    return failures


class _OrderBatch:
    """The orders of one request."""

    def __init__(
        self,
        writer: Writer,
        orders: Mapping[TopicPartition, tuple[int, ...]],
        before: Mapping[TopicPartition, Collection[tuple[int, ...]]],
        dropped: Mapping[TopicPartition, tuple[int, ...]],
    ) -> None:
        self._writer = writer
        self._orders = orders
        self._before = before
        self._dropped = dropped
        self._requested = {each: order[: len(order) - len(dropped.get(each, ()))] for each, order in orders.items()}
        self._waiting = [*orders]
        """Partitions whose order is not seen yet."""
        self._failures: dict[TopicPartition, str] = {}
        self._changed_by_others: dict[TopicPartition, str] = {}

    def set(self) -> dict[TopicPartition, str]:
        """Send the request, again for the orders that are not seen, and return why these are not set."""
        for attempt in range(self._writer.attempts):
            if attempt:
                self._writer.kafka.clock.sleep(_PAUSE_S)
                if not self._leave_out_reassigned():
                    continue
            if not self._waiting:
                break
            if forbidden := self._writer.why_forbidden():
                self._failures |= dict.fromkeys(self._waiting, forbidden)
                break
            if not self._request(attempt):
                break
        return self._failures | self._changed_by_others

    def _leave_out_reassigned(self) -> bool:
        """Stop waiting for partitions that another party reassigns; return False if they cannot be read.

        The controller does not refuse an order of the earlier replicas, so a new request would undo that reassignment.
        """
        try:
            running = self._writer.kafka.running_reassignments(self._waiting)
        except (NoBrokerAnswersError, RequestRefusedError, BrokerCallError) as error:
            doubt = f"not requested again, because another party may reassign it: {error}"
            self._failures = dict.fromkeys(self._waiting, doubt)
            return False
        self._changed_by_others |= {
            each: "another party is reassigning it"
            for each, how in running.items()
            if not how.dropping or how.dropping != self._dropped.get(each)
        }
        self._waiting = [each for each in self._waiting if each not in self._changed_by_others]
        return True

    def _request(self, attempt: int) -> bool:
        """Send the request and wait until the orders are seen. Return whether another attempt may help."""
        kafka = self._writer.kafka
        reorder = kafka.reorder_without if self._dropped else kafka.reorder
        wanted = {each: self._requested[each] for each in self._waiting}
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
        seen = wait_for_states(self._writer, accepted, self._is_changed)
        not_set = [each for each in self._waiting if each not in seen or not self._is_set(seen[each])]
        self._changed_by_others |= {
            each: f"another party has set its replicas to {list(seen[each].replicas)}"
            for each in not_set
            if each in seen and self._is_changed(seen[each])
        }
        self._waiting = [each for each in not_set if each not in self._changed_by_others]
        self._failures = {
            each: errors[each] or _not_seen(seen.get(each), self._requested[each]) for each in self._waiting
        }

    def _is_set(self, state: PartitionState) -> bool:
        return state.replicas in (self._orders[state.topic_partition], self._requested[state.topic_partition])

    def _is_changed(self, state: PartitionState) -> bool:
        return self._is_set(state) or state.replicas not in self._before[state.topic_partition]


def _not_seen(state: PartitionState | None, order: Sequence[int]) -> str:
    found = f"its replicas are {list(state.replicas)}" if state else "it cannot be read"
    return f"the controller accepted the order {list(order)}, but {found}"
