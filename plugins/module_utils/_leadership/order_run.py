# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Set and restore the replica orders of a drain, batch by batch.

An original order is remembered before the order is changed, and forgotten after it is restored.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from .._changes.doubt import wait_for_late_requests
from .._changes.journal import Journal
from .._changes.keyed_topic import OpenKeyedTopic
from .._changes.orders import OrderRequest, set_orders
from .._changes.record import LastingOrders, partition_subject
from .._changes.sender import Writer
from .._kafka.reassignments import parse_unregistered_broker
from .._model.partition import TopicPartition, in_batches
from .._model.run import Progress
from .decide import DONE_STATUS, Decision, OrderOutcome, OrderStatus, explain_unregistered
from .memory import Changes, order_changes
from .orders import RememberedOrder
from .view import LeadershipView, decide_again

_REMEMBERED_AT_ONCE = 10_000
_MAY_BE_EXECUTED = (
    "the response to a request for a replica order was lost, and the request may still be executed: a broker keeps it "
    "for 60 s. The journal and the memory have the original order, and the next run waits for the request"
)
STOPPED = "the run was asked to stop before this change; run it again"


@dataclass(slots=True)
class OrderRun:
    """Carry out the decisions, at most PARTITIONS_PER_REQUEST in one request."""

    writer: Writer
    journal: Journal
    store: OpenKeyedTopic
    progress: Progress
    stop: threading.Event
    unwritten: Changes = field(default_factory=dict)
    """Changes of the memory that are written with the first orders, or at the end."""
    _requested: dict[TopicPartition, Decision] = field(default_factory=dict)
    """The partitions whose order was requested."""
    _remembered: dict[TopicPartition, RememberedOrder] = field(default_factory=dict)
    """The present contents of the memory."""
    _to_remember_at_end: dict[TopicPartition, RememberedOrder | None] = field(default_factory=dict)
    """The contents that the memory should have at the end; None to forget the partition."""

    def carry_out(self, view: LeadershipView) -> dict[TopicPartition, OrderOutcome]:
        """Carry out the decisions, and return the outcomes. Setting ``stop`` ends the run after the current batch.

        Raises JournalError if the memory or the journal cannot be written: then no further order is changed.
        Raises CallError if no broker could be read.
        """
        self._remembered = dict(view.memory.orders)
        outcomes = {partition: each.outcome for partition, each in view.decisions.items()}
        work = [partition for partition, each in view.decisions.items() if each.has_work]
        done = 0
        for several in in_batches(work, _REMEMBERED_AT_ONCE):
            if not self.stop.is_set():
                # In few large writes, because brokers replicate slowly while they process changed orders.
                self._remember(view.decisions[each] for each in several)
            for batch in in_batches(several):
                self.progress.step("setting replica orders", done, len(work))
                outcomes |= self._leave_alone(view, batch) if self.stop.is_set() else self._set_batch(view, batch)
                done += len(batch)
            self._forget_restored(but={each for each in self._requested if self._in_doubt_until([each])})
        if self._wait_for_late_orders():
            self._forget_restored()
            self.journal.end([LastingOrders()], "set")
        else:
            self._write({})
            self.journal.notes.append(_MAY_BE_EXECUTED)
        return outcomes

    def _write(self, changes: Changes) -> None:
        self.store.write({**self.unwritten, **changes})
        self.unwritten = {}

    def _remember(self, decisions: Iterable[Decision]) -> None:
        """Remember the original orders of partitions whose orders will change."""
        wanted = ((each.topic_partition, each.remember) for each in decisions)
        new = {each: order for each, order in wanted if order is not None and order != self._remembered.get(each)}
        self._remembered |= new
        if new:
            self._write(order_changes(self._remembered, new))

    def _forget_restored(self, but: Collection[TopicPartition] = ()) -> None:
        """Forget the orders that are restored, and those of partitions that were not changed after all.

        The latter must go, also if others are in doubt: a later run would take another party's order for ours.
        """
        ended = {each: order for each, order in self._to_remember_at_end.items() if each not in but}
        changes = {each: order for each, order in ended.items() if order != self._remembered.get(each)}
        for each, order in changes.items():
            if order is None:
                del self._remembered[each]
            else:
                self._remembered[each] = order
        self._write(order_changes(self._remembered, changes))
        for each in ended:
            del self._to_remember_at_end[each]

    def _in_doubt_until(self, asked: Collection[TopicPartition]) -> float:
        return self.journal.in_doubt_until(partition_subject(each) for each in asked)

    def _wait_for_late_orders(self) -> bool:
        """Wait until no request with a lost response can be executed any more, then request those orders again.

        Return whether this succeeded. If not, the original orders must stay remembered: after they are forgotten, no
        run would restore an order that is set late.
        """
        unanswered = {each: how for each, how in self._requested.items() if self._in_doubt_until([each])}
        if not unanswered:
            return True
        until = self._in_doubt_until(unanswered)
        if not wait_for_late_requests(self.writer, unanswered, self.progress, self.stop):
            return False
        return not self._request_again(unanswered) and self._in_doubt_until(unanswered) <= until

    def _request_again(self, asked: Mapping[TopicPartition, Decision]) -> dict[TopicPartition, str]:
        """Request orders again, also if they seem to be set, and return why the others are not set.

        Orders that another party has set are left out.
        """
        orders = {}
        for partition, state in self.writer.kafka.read_partition_states(asked).states.items():
            decision = asked[partition]
            order, known = decision.outcome.replicas_after, decision.remember or decision.remembered
            is_same = known is not None and known.topic_id == state.topic_id and not state.is_offline
            if order and known and is_same and state.replicas in (order, *known.known_orders):
                orders[partition] = OrderRequest(known.topic_id, order, decision.possible_orders)
        return set_orders(self.writer, orders, were_read=True)

    def _leave_alone(self, view: LeadershipView, batch: Sequence[TopicPartition]) -> dict[TopicPartition, OrderOutcome]:
        self._to_remember_at_end |= {each: view.decisions[each].remembered for each in batch}
        return {each: view.decisions[each].leave_alone(STOPPED).outcome for each in batch}

    def _set_batch(self, view: LeadershipView, batch: Sequence[TopicPartition]) -> dict[TopicPartition, OrderOutcome]:
        stateless = [each for each in batch if view.decisions[each].outcome.replicas is None]
        states = self.writer.kafka.read_partition_states([each for each in batch if each not in stateless]).states
        decisions = {each: view.decisions[each] for each in stateless} | decide_again(
            self.writer.kafka, view, states, batch
        )
        missing = {each: _missing_outcome(view.decisions[each]) for each in batch if each not in decisions}
        self._remember(decisions.values())
        wanted = {
            partition: OrderRequest(each.outcome.topic_id, each.outcome.replicas_after, each.possible_orders)
            for partition, each in decisions.items()
            if each.requests_order and each.outcome.topic_id and each.outcome.replicas_after
        }
        failures = set_orders(self.writer, wanted)
        self._requested |= {partition: decisions[partition] for partition in wanted}
        self._to_remember_at_end |= {each: view.decisions[each].remembered for each in missing}
        self._to_remember_at_end |= {
            partition: each.remembered if each.forgets and partition in failures else each.remember
            for partition, each in decisions.items()
        }
        return {partition: _result(each, failures.get(partition)) for partition, each in decisions.items()} | missing


def _result(decision: Decision, failure: str | None) -> OrderOutcome:
    outcome = decision.outcome
    if failure:
        unregistered = parse_unregistered_broker(failure)
        if unregistered is not None:
            failure = explain_unregistered([unregistered])
        reason = f"{failure}; the original order stays remembered, and a later run tries again"
        return replace(outcome, status=OrderStatus.FAILED, reason=reason, replicas_after=None)
    return replace(outcome, status=DONE_STATUS.get(outcome.status, outcome.status))


def _missing_outcome(decision: Decision) -> OrderOutcome:
    why = "it has just disappeared from the metadata: run again"
    return replace(decision.leave_alone(why).outcome, replicas_after=None)
