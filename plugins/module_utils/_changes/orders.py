# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sets replica orders and sees them set. Every order change of this collection goes through here.

A KRaft broker keeps a request that it forwards to the controller for 60 s, and sends it again after an error. So one
whose response was lost may be executed long after its sender gave up, and even after its effect was seen once. What
such a request is about is noted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeVar

from .._kafka.errors import BrokerCallError, NoBrokerAnswersError, RequestRefusedError
from .._kafka.messages import in_batches
from .._kafka.port import Kafka
from .._kafka.reassignments import unregistered_in
from .._kafka.settings import Address
from .._model.partition import Cause, PartitionState, TopicPartition
from .journal import Journal
from .record import JournalError, partition_subject

_LOOK_EVERY_S = 0.1
_PAUSE_S = 0.5
"""Before another attempt. A controller fails over within seconds, so that each attempt must not follow on the heels."""
_FORWARDED_FOR_S = 60.0
"""How long a KRaft broker keeps a request that it forwards to the controller (BrokerServer, retryTimeoutMs)."""
_NOT_SENT = frozenset({Cause.UNREACHABLE, Cause.NOT_AUTHORISED})

Answer = TypeVar("Answer")
NoteLateRequests = Callable[[Iterable[str], float], None]
"""Takes what the request is about (``record.subject_of``), and until when, by the clock, it may be executed."""

States = Mapping[TopicPartition, PartitionState]


@dataclass(frozen=True, slots=True)
class Writer:
    """How this run writes: to which brokers in turn, how often, and how long it waits to see it done.

    Brokers lag behind the controller, so that one look after a success may still show the old state: "not done" is only
    said once ``verify_timeout_s`` has passed.
    """

    kafka: Kafka
    addresses: Sequence[Address]
    """Brokers that answered. An attempt after a failed one goes to the next of them."""
    attempts: int
    verify_timeout_s: float
    require_lock: Callable[[], None] | None = None
    """Called before each write request; raises JournalError when this run must not write (any more)."""
    note_late_requests: NoteLateRequests | None = None
    """Called with what requests were about whose responses were lost."""

    def with_journal(self, journal: Journal) -> Writer:
        """Return the writer of the run that has this journal: it writes only as long as the run holds the lock."""
        return replace(self, require_lock=journal.require_lock, note_late_requests=journal.note_late_requests)

    def note_lost_response(
        self, error: BrokerCallError | RequestRefusedError, partitions: Iterable[TopicPartition]
    ) -> None:
        """Note that a request for the order or the replicas of these may still be executed, if it was sent."""
        note_late_requests(self.note_late_requests, self.kafka, error, map(partition_subject, partitions))

    def why_forbidden(self) -> str:
        """Return why no write request may be sent now; empty where one may."""
        try:
            if self.require_lock is not None:
                self.require_lock()
        except JournalError as error:
            return str(error)
        return ""

    def address(self, attempt: int) -> Address:
        return self.addresses[attempt % len(self.addresses)]

    def addresses_in_turn(self, attempt: int) -> list[Address]:
        """Return whom an attempt is sent to, and to whom in place of those that let nobody connect."""
        return [self.address(turn) for turn in range(attempt, attempt + min(self.attempts, len(self.addresses)))]

    def send(self, attempt: int, request: Callable[[Address], Answer]) -> Answer:
        """Send a request to the broker whose turn it is, or to the next one where that one lets nobody connect.

        A request that was not sent has no effect that is worth waiting for.

        Raises RequestRefusedError or BrokerCallError.
        """
        *others, last = self.addresses_in_turn(attempt)
        for address in others:
            try:
                return request(address)
            except BrokerCallError as error:
                if error.cause not in _NOT_SENT or self.why_forbidden():
                    raise
        return request(last)


def forwarded_for_s(kafka: Kafka) -> float:
    """Return for how many seconds a request may be executed whose response was lost, or whose sender died."""
    return _FORWARDED_FOR_S + kafka.settings.request_timeout_ms / 1000


def note_late_requests(
    note: NoteLateRequests | None, kafka: Kafka, error: BrokerCallError | RequestRefusedError, subjects: Iterable[str]
) -> None:
    """Note that a request about these may still be executed, unless the error says that it was not sent or refused."""
    is_unknown = error.is_outcome_unknown if isinstance(error, RequestRefusedError) else error.cause not in _NOT_SENT
    if note is not None and is_unknown:
        note(subjects, kafka.clock.monotonic() + forwarded_for_s(kafka))


def read_states(kafka: Kafka, partitions: Collection[TopicPartition]) -> dict[TopicPartition, PartitionState]:
    """Return the given partitions as the metadata has them now; those that do not exist are left out.

    Raises NoBrokerAnswersError or BrokerCallError.
    """
    return kafka.see(partitions).states


def wait_for_states(
    writer: Writer, partitions: Collection[TopicPartition], is_done: Callable[[PartitionState], bool]
) -> dict[TopicPartition, PartitionState]:
    """Read partitions until all are done or the verify timeout has passed; return what was seen last.

    A read that fails is tried again, since nothing is known then. Empty when no read succeeded.
    """
    clock = writer.kafka.clock
    deadline = clock.monotonic() + writer.verify_timeout_s
    seen: dict[TopicPartition, PartitionState] = {}
    while True:
        try:
            seen = read_states(writer.kafka, partitions)
        except (NoBrokerAnswersError, BrokerCallError):
            # Not knowing is not failing: the deadline decides.
            pass
        else:
            if all(each in seen and is_done(seen[each]) for each in partitions):
                return seen
        if clock.monotonic() >= deadline:
            return seen
        clock.sleep(_LOOK_EVERY_S)


def read_with_retries(writer: Writer, partitions: Collection[TopicPartition]) -> dict[TopicPartition, PartitionState]:
    """Read partitions as they are now. A read that fails is tried again until the verify timeout has passed."""
    return wait_for_states(writer, partitions, lambda _state: True) if partitions else {}


def set_orders(
    writer: Writer,
    orders: Mapping[TopicPartition, tuple[int, ...]],
    before: Mapping[TopicPartition, Collection[tuple[int, ...]]],
    dropped: Mapping[TopicPartition, tuple[int, ...]] = MappingProxyType({}),
) -> dict[TopicPartition, str]:
    """Brings partitions into the given replica orders, and returns why for each that is not seen in its order.

    ``before`` are the orders in which each may be seen while its request is not executed, or not known to the broker
    that is asked. Any other one was set by somebody else, and is not asked for again, nor is what is being reassigned.

    ``dropped`` are unregistered brokers at the end of an order, which the request leaves out. An order is set as soon
    as it is seen, with them or without.

    A request whose outcome is unknown is followed by a look before any further attempt. It may be executed later all
    the same, so the journal keeps its change until it cannot (``rollback``).
    """
    faults: dict[TopicPartition, str] = {}
    whole = {each: order for each, order in orders.items() if not dropped.get(each)}
    for batch in in_batches(sorted(whole)):
        faults |= _set_batch(writer, {each: whole[each] for each in batch}, before, {})
    for batch in in_batches(sorted(orders.keys() - whole.keys())):
        faults |= _set_batch(writer, {each: orders[each] for each in batch}, before, dropped)
    return faults


def _set_batch(
    writer: Writer,
    orders: Mapping[TopicPartition, tuple[int, ...]],
    before: Mapping[TopicPartition, Collection[tuple[int, ...]]],
    dropped: Mapping[TopicPartition, tuple[int, ...]],
) -> dict[TopicPartition, str]:
    requested = {each: order[: len(order) - len(dropped.get(each, ()))] for each, order in orders.items()}

    def is_done(state: PartitionState) -> bool:
        return state.replicas in (orders[state.topic_partition], requested[state.topic_partition])

    def is_changed(state: PartitionState) -> bool:
        return is_done(state) or state.replicas not in before[state.topic_partition]

    waiting = dict(orders)
    faults: dict[TopicPartition, str] = {}
    theirs: dict[TopicPartition, str] = {}
    for attempt in range(writer.attempts):
        if attempt:
            writer.kafka.clock.sleep(_PAUSE_S)
            try:
                theirs |= _reassigned(writer.kafka, waiting, dropped)
            except (NoBrokerAnswersError, RequestRefusedError, BrokerCallError) as fault:
                doubt = f"not asked for again, since it is unknown whether somebody else reassigns it: {fault}"
                faults = dict.fromkeys(waiting, doubt)
                continue
            waiting = {each: order for each, order in waiting.items() if each not in theirs}
            if not waiting:
                break
        if forbidden := writer.why_forbidden():
            return faults | theirs | dict.fromkeys(waiting, forbidden)
        try:
            reorder = writer.kafka.reorder_without if dropped else writer.kafka.reorder
            wanted = {each: requested[each] for each in waiting}
            answers = writer.send(attempt, lambda address: reorder(address, wanted))  # noqa: B023 - called at once
        except (RequestRefusedError, BrokerCallError) as fault:
            writer.note_lost_response(fault, waiting)
            if isinstance(fault, RequestRefusedError) and not fault.is_outcome_unknown:
                faults = dict.fromkeys(waiting, str(fault))
                if fault.is_transient:
                    continue
                break
            answers, unanswered = {}, f"the outcome is unknown: {fault}"
        else:
            unanswered = "the controller left it out of its answer"
        asked = {each: answers.get(each, unanswered) for each in waiting}
        accepted = [each for each, fault in asked.items() if fault is None or each not in answers]
        seen = wait_for_states(writer, accepted, is_changed)
        waiting = {each: order for each, order in waiting.items() if each not in seen or not is_done(seen[each])}
        theirs |= {each: _not_ours(seen[each]) for each in waiting if each in seen and is_changed(seen[each])}
        waiting = {each: order for each, order in waiting.items() if each not in theirs}
        faults = {each: asked[each] or _not_seen(seen.get(each), requested[each]) for each in waiting}
        # Nobody registers while this run waits half a second.
        if all(unregistered_in(error) is not None for error in faults.values()):
            break
    return faults | theirs


def _reassigned(
    kafka: Kafka, orders: Collection[TopicPartition], dropped: Mapping[TopicPartition, tuple[int, ...]]
) -> dict[TopicPartition, str]:
    """Those that somebody else is reassigning since they were asked for, and what was found.

    The controller does not refuse an order of the replicas from before: it would take the other's change back.

    Raises NoBrokerAnswersError or RequestRefusedError.
    """
    return {
        each: "a reassignment of it is running, which we did not ask for"
        for each, how in kafka.running_reassignments(orders).items()
        if not how.dropping or how.dropping != dropped.get(each)
    }


def _not_ours(state: PartitionState) -> str:
    return f"its replicas are {list(state.replicas)}, which somebody else set meanwhile"


def _not_seen(state: PartitionState | None, order: Sequence[int]) -> str:
    found = f"its replicas are {list(state.replicas)}" if state else "it cannot be read"
    return f"the controller accepted the order {list(order)}, but {found}"
