# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Brings replica orders into what was decided: remembered first, then set, seen, and forgotten where they are back."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from .._changes.orders import States, Writer, read_states, set_orders
from .._kafka.errors import BrokerCallError, NoBrokerAnswersError
from .._kafka.messages import in_batches
from .._model.partition import TopicPartition
from .._model.run import Progress
from .decide import DONE_STATUS, Decision, OrderOutcome, OrderStatus
from .memory import MemoryStore, order_changes
from .orders import RememberedOrder
from .view import View, decide_again

_MOST_REMEMBERED_IN_VAIN = 10_000
_LOOK_EVERY_S = 0.5
STOPPED = "the run was asked to stop before this change; run it again"


@dataclass(frozen=True, slots=True)
class OrderRun:
    """Carries decisions out, at most PARTITIONS_PER_REQUEST at a time."""

    writer: Writer
    store: MemoryStore
    progress: Progress
    stop: threading.Event
    late_until: float | None = None
    """By the clock, until when an order of a run that died may still be set; None where no run died."""

    def carry_out(self, view: View) -> dict[TopicPartition, OrderOutcome]:
        """How every partition ended. Between two batches, ``stop`` ends the run.

        Raises JournalError: nothing is changed that is not remembered. NoBrokerAnswersError, BrokerCallError or
        RequestRefusedError: no broker could be read from.
        """
        outcomes = {partition: each.outcome for partition, each in view.decisions.items()}
        work = [partition for partition, each in view.decisions.items() if each.is_work]
        settled: list[Decision] = []
        for batch in in_batches(work):
            self.progress.step("putting replicas in order", work.index(batch[0]), len(work))
            if self.stop.is_set():
                outcomes |= {each: view.decisions[each].left_alone(STOPPED).outcome for each in batch}
            else:
                outcomes |= self._batch(view, batch, settled)
            if len(settled) >= _MOST_REMEMBERED_IN_VAIN and self.late_until is None:
                self._forget(settled)
        if self.late_until is None or self._put_back_late(settled, self.late_until):
            self._forget(settled)
        return outcomes

    def _forget(self, settled: list[Decision]) -> None:
        """Not batch by batch: to forget late does no harm."""
        self.store.write(order_changes(forgotten=[each.topic_partition for each in settled]))
        settled.clear()

    def _put_back_late(self, settled: Sequence[Decision], until: float) -> bool:
        """Put back what a run that died requested, and what is set only now. Return whether all can be forgotten.

        A broker keeps a request that it forwards to the controller for 60 s. What is forgotten then, nobody restores.
        """
        clock = self.writer.kafka.clock
        back = {each.topic_partition: each for each in settled if each.asks_for_order and each.remembered is not None}
        while back and clock.monotonic() < until:
            if self.stop.is_set():
                return False
            self.progress.step("waiting for orders of an earlier run that may still be set", 0, len(back))
            clock.sleep(_LOOK_EVERY_S)
            with suppress(NoBrokerAnswersError, BrokerCallError):
                self._restore(back, read_states(self.writer.kafka, back), is_last=False)
        return not back or not self._restore(back, read_states(self.writer.kafka, back), is_last=True)

    def _restore(
        self, back: Mapping[TopicPartition, Decision], states: States, *, is_last: bool
    ) -> dict[TopicPartition, str]:
        """Restore orders of ours, at last also those that seem to be back; return why for each that is not restored."""
        orders = {}
        for partition, each in back.items():
            state, order, remembered = states.get(partition), each.outcome.replicas_after, each.remembered
            if state is None or order is None or remembered is None or state.topic_id != remembered.topic_id:
                continue
            if is_last if state.replicas == order else state.replicas in remembered.ours:
                orders[partition] = order
        return set_orders(self.writer, orders) if orders else {}

    def _batch(
        self, view: View, batch: Sequence[TopicPartition], settled: list[Decision]
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
