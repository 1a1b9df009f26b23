# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Brings replica orders into what was decided: remembered first, then set, seen, and forgotten where they are back."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from .._changes.journal import Journal
from .._changes.orders import Writer, read_states, set_orders
from .._changes.record import LastingOrders, partition_subject
from .._kafka.messages import in_batches
from .._model.partition import TopicPartition
from .._model.run import Progress
from .decide import DONE_STATUS, Decision, OrderOutcome, OrderStatus
from .memory import MemoryStore, order_changes
from .orders import RememberedOrder
from .view import View, decide_again

_MOST_REMEMBERED_IN_VAIN = 10_000
_LOOK_EVERY_S = 0.5
_HELD = (
    "the response to a request for an order was lost, and it may still be executed: a broker keeps it for 60 s; the "
    "journal and the memory have what it was, and the next run waits for it"
)
STOPPED = "the run was asked to stop before this change; run it again"


@dataclass(frozen=True, slots=True)
class OrderRun:
    """Carries decisions out, at most PARTITIONS_PER_REQUEST at a time."""

    writer: Writer
    journal: Journal
    store: MemoryStore
    progress: Progress
    stop: threading.Event

    def carry_out(self, view: View) -> dict[TopicPartition, OrderOutcome]:
        """How every partition ended. Between two batches, ``stop`` ends the run.

        Raises JournalError: nothing is changed that is not remembered. NoBrokerAnswersError, BrokerCallError or
        RequestRefusedError: no broker could be read from.
        """
        outcomes = {partition: each.outcome for partition, each in view.decisions.items()}
        work = [partition for partition, each in view.decisions.items() if each.is_work]
        asked: dict[TopicPartition, Decision] = {}
        settled: list[Decision] = []
        for batch in in_batches(work):
            self.progress.step("putting replicas in order", work.index(batch[0]), len(work))
            if self.stop.is_set():
                outcomes |= {each: view.decisions[each].left_alone(STOPPED).outcome for each in batch}
            else:
                outcomes |= self._batch(view, batch, asked, settled)
            if len(settled) >= _MOST_REMEMBERED_IN_VAIN and not self._unanswered_until(asked):
                self._forget(settled)
        if self._outlasts(asked):
            self._forget(settled)
            self.journal.end([LastingOrders()], "set")
        else:
            self.journal.notes.append(_HELD)
        return outcomes

    def _forget(self, settled: list[Decision]) -> None:
        """Not batch by batch: to forget late does no harm."""
        self.store.write(order_changes(forgotten=[each.topic_partition for each in settled]))
        settled.clear()

    def _unanswered_until(self, asked: Collection[TopicPartition]) -> float:
        return self.journal.unanswered_until(partition_subject(each) for each in asked)

    def _outlasts(self, asked: Mapping[TopicPartition, Decision]) -> bool:
        """Wait until no request whose response was lost can be executed any more, then ask for those orders again.

        Return whether that is so: an order that is set after the original one is forgotten, nobody puts back.
        """
        until = self._unanswered_until(asked)
        if not until:
            return True
        doubtful = {each: how for each, how in asked.items() if self._unanswered_until([each])}
        clock = self.writer.kafka.clock
        while clock.monotonic() < until:
            if self.stop.is_set():
                return False
            self.progress.step("waiting for orders whose responses were lost", 0, len(doubtful))
            clock.sleep(_LOOK_EVERY_S)
        return not self._set_again(doubtful) and self._unanswered_until(doubtful) <= until

    def _set_again(self, asked: Mapping[TopicPartition, Decision]) -> dict[TopicPartition, str]:
        """Ask for orders that may be ours, also where they seem to be set; return why for each that is not seen so."""
        orders = {}
        for partition, state in read_states(self.writer.kafka, asked).items():
            decision = asked[partition]
            order, known = decision.outcome.replicas_after, decision.remember or decision.remembered
            is_same = known is not None and known.topic_id == state.topic_id and not state.is_offline
            if order and known and is_same and state.replicas in (order, known.original, *known.ours):
                orders[partition] = order
        return set_orders(self.writer, orders) if orders else {}

    def _batch(
        self,
        view: View,
        batch: Sequence[TopicPartition],
        asked: dict[TopicPartition, Decision],
        settled: list[Decision],
    ) -> dict[TopicPartition, OrderOutcome]:
        lost = [each for each in batch if view.decisions[each].outcome.replicas is None]
        states = read_states(self.writer.kafka, [each for each in batch if each not in lost])
        decisions = {each: view.decisions[each] for each in lost} | decide_again(self.writer.kafka, view, states, batch)
        gone = {each: _vanished(view.decisions[each]) for each in batch if each not in decisions}
        self.store.write(order_changes(_new_memories(decisions.values())))
        wanted = {
            partition: each.outcome.replicas_after for partition, each in decisions.items() if each.asks_for_order
        }
        faults = set_orders(self.writer, {partition: order for partition, order in wanted.items() if order is not None})
        asked |= {partition: decisions[partition] for partition in wanted}
        settled += [each for partition, each in decisions.items() if each.is_forgetting and partition not in faults]
        return {partition: _ended(each, faults.get(partition)) for partition, each in decisions.items()} | gone


def _new_memories(decisions: Iterable[Decision]) -> Iterator[RememberedOrder]:
    for each in decisions:
        if each.remember is not None and each.remember != each.remembered:
            yield each.remember


def _ended(decision: Decision, fault: str | None) -> OrderOutcome:
    outcome = decision.outcome
    if fault:
        reason = f"{fault}; what it was is remembered, and a later run tries again"
        return replace(outcome, status=OrderStatus.FAILED, reason=reason, replicas_after=None)
    return replace(outcome, status=DONE_STATUS.get(outcome.status, outcome.status))


def _vanished(decision: Decision) -> OrderOutcome:
    why = "it was there a moment ago, and is not in the metadata now: run again"
    return replace(decision.left_alone(why).outcome, replicas_after=None)
