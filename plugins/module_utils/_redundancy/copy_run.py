# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Carry out a plan of new replicas under the lock: undo what earlier runs left, throttle, copy, remove the throttle.

If a broker that copies dies, or its disk is full, its partitions are planned again with other brokers, and their other
copies go on. A plan that was reviewed is not changed: then these partitions fail. The throttle of the dead broker stays
in the journal until a run finds the broker up.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._changes.doubt import wait_for_late_requests
from .._changes.journal import Journal
from .._changes.record import LastingOrders, Leftover, SettingChange
from .._changes.rollback import Rollback
from .._changes.sender import Writer
from .._changes.setting_writer import SettingWriter
from .._changes.throttle import Throttle
from .._kafka.errors import CallError
from .._kafka.settings import Address
from .._model.partition import Broker, TopicPartition
from .._model.run import Progress
from .copying import CopyPace, ReplicaCopier
from .move_now import foresee
from .plan import MoveOutcome, RedundancyPlan, ReplicaMove, ReplicaStatus, in_order, outcome_of
from .results import RestoredReplicas

PlanAgain = Callable[[frozenset[int]], Sequence[ReplicaMove]]
"""Return moves with other brokers than these."""


class _Replica(NamedTuple):
    """A replica to throttle."""

    topic: str
    partition: int
    broker_id: int


@dataclass(frozen=True, slots=True)
class CopyRun:
    """A run that holds the lock."""

    params: Mapping[str, Any]
    writer: Writer
    living: Mapping[int, Address]
    journal: Journal
    progress: Progress
    stop: threading.Event

    def carry_out(self, make_plan: Callable[[], RedundancyPlan], plan_again: PlanAgain) -> RestoredReplicas:
        """Undo what earlier runs left, plan, throttle, copy, and remove the throttle. Raises JournalError."""
        journal = self.journal
        writer = self.writer.with_journal(journal)
        rollback = Rollback.of(writer, self.living, journal, progress=self.progress, stop=self.stop)
        was_pending = LastingOrders() in journal.pending
        leftovers = rollback.undo_now()
        plan = make_plan()
        journal.begin([LastingOrders()])
        throttle = Throttle(SettingWriter(writer, self.living), journal)
        outcomes: Sequence[MoveOutcome] = ()
        stuck: list[Leftover[SettingChange]] = []
        try:
            known = foresee(writer.kafka, plan.moves)
            before = [each for each in known.values() if each.status is ReplicaStatus.DONE_BEFORE]
            done = {each.topic_partition for each in before}
            moves = [each for each in plan.moves if each.topic_partition not in done]
            outcomes = [*before, *self._copy_until_placed(writer, throttle, moves, plan_again)]
        finally:
            # A broker that died meanwhile keeps its throttle until it is back.
            online, silent = self._look_at_brokers()
            throttle.writer = SettingWriter(writer, online)
            stuck = throttle.remove()
            requested = [each.topic_partition for each in plan.moves]
            if not was_pending and wait_for_late_requests(writer, requested, self.progress, self.stop):
                journal.end([LastingOrders()], "set")
            leftovers = (*leftovers, *rollback.settle_doubt())
        return RestoredReplicas(
            plan=plan, outcomes=in_order(outcomes, plan), leftovers=leftovers, stuck=tuple(stuck), silent=silent
        )

    def _copy_until_placed(
        self, writer: Writer, throttle: Throttle, moves: Sequence[ReplicaMove], plan_again: PlanAgain
    ) -> Sequence[MoveOutcome]:
        """Copy. If brokers die meanwhile, plan their partitions again without them, until none dies."""
        outcomes: dict[TopicPartition, MoveOutcome] = {}
        gone: frozenset[int] = frozenset()
        while moves:
            # A broker that has returned since the run began may get replicas, too.
            online, _silent = self._look_at_brokers()
            throttle.writer = SettingWriter(writer, online)
            unthrottled = self._throttle(throttle, moves)
            copier = self._copier(writer, online)
            done = copier.carry_out([each for each in moves if each not in unthrottled])
            done += [outcome_of(move, ReplicaStatus.FAILED, why) for move, why in unthrottled.items()]
            outcomes |= {each.topic_partition: each for each in done}
            left = {each.topic_partition: each for each in copier.left}
            gone |= copier.given_up
            again: Sequence[ReplicaMove] = ()
            if left and not self.stop.is_set():
                with suppress(CallError):  # then they are given up, and the next run plans them
                    again = plan_again(gone)
            moves = [each for each in again if each.topic_partition in left]
            planned = {each.topic_partition for each in moves}
            for partition, move in left.items():
                if partition not in planned:
                    outcomes[partition] = copier.give_up(move)
        return [*outcomes.values()]

    def _look_at_brokers(self) -> tuple[Mapping[int, Address], tuple[Broker, ...]]:
        """Return the addresses of the brokers that answer now, and those that have stopped answering since the plan."""
        kafka = self.writer.kafka
        try:
            cluster = kafka.describe_cluster()
            brokers = kafka.probe_brokers(cluster, frozenset(self.living))
        except CallError:
            return self.living, ()
        online = cluster.online(brokers)
        return online, tuple(each for each in brokers if each.broker_id in self.living.keys() - online.keys())

    def _throttle(self, throttle: Throttle, moves: Sequence[ReplicaMove]) -> dict[ReplicaMove, str]:
        """Throttle all new replicas, and return the moves that cannot be throttled, and why."""
        rate = self.params["throttle_bytes_per_second"]
        if rate is None:
            return {}
        self.progress.step("setting the throttle")
        replicas = {_Replica(move.topic, move.partition, each): move for move in moves for each in move.adding}
        failures = throttle.apply(rate, [*replicas])
        return {replicas[each]: f"it was not begun: {why}" for each, why in failures.items()}

    def _copier(self, writer: Writer, online: Mapping[int, Address]) -> ReplicaCopier:
        params = self.params
        pace = CopyPace(at_once=params["max_concurrent"], stall_s=params["stall_timeout_ms"] / 1000)
        is_throttled = params["throttle_bytes_per_second"] is not None
        return ReplicaCopier(writer, online, pace, self.progress, self.stop, cancels_on_stop=is_throttled)
