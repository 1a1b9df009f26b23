# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the module redundancy: plan, write or read the plan, carry it out under a throttle, and build the results."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from .._changes.cluster_journal import ClusterJournal
from .._changes.journal import Journal
from .._changes.leftovers import conflict_warnings, failure_message, leftover_results
from .._changes.record import AnyLeftover, LastingOrders, partition_subject
from .._changes.rollback import Rollback, has_restored, preview_undo
from .._changes.sender import Writer
from .._changes.setting_writer import SettingWriter
from .._changes.throttle import Throttle
from .._documents.partitions_file import read_partitions
from .._documents.report_file import ReportFile
from .._documents.reviewed_plan import require_own_cluster
from .._kafka.cluster import Cluster
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._kafka.wire import Wire
from .._model.partition import Broker, TopicPartition
from .._model.run import KafkaOpsError, Progress, RunMode, utc_now
from .._module.connection import connection_settings
from .._module.options import journal_options, progress_to
from .._module.quorum_preflight import require_quorum
from .._module.run import call_all, diff_of, list_rows, partition_results
from .copying import CopyPace, ReplicaCopier, look_at
from .looking import look
from .placement import WantedReplicas, plan_moves
from .plan import (
    DONE,
    REDUNDANCY_REPORT,
    MoveOutcome,
    RedundancyPlan,
    RedundancyReport,
    ReplicaMove,
    ReplicaStatus,
    outcome_left_alone,
    outcome_of,
    report_document,
)
from .plan_file import REDUNDANCY_PLAN_FILE

_WAIT_S = 0.5


class RedundancyOptionsError(KafkaOpsError):
    """The options do not say what to replace, or contradict each other."""


class _Replica(NamedTuple):
    """A replica to throttle."""

    topic: str
    partition: int
    broker_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredReplicas:
    """The results of a run."""

    plan: RedundancyPlan
    outcomes: tuple[MoveOutcome, ...]
    leftovers: tuple[AnyLeftover, ...] = ()
    journal_notes: Sequence[str] = ()
    stuck: tuple[str, ...] = ()
    """Why a throttle is still on."""
    report_error: str = ""
    is_digest_final: bool = False
    """Whether the plan was read or written, so that its digest can be approved."""


def restore(params: Mapping[str, Any], *, check_mode: bool, stop: threading.Event) -> RestoredReplicas:
    """Plan, or read a plan. Carry it out if ``apply`` is set and this is not check mode. Write the requested files.

    Raises KafkaOpsError. Invalid options are all refused at once, before any request.
    """
    settings, report, wish, given, _limits = call_all(
        lambda: connection_settings(params),
        lambda: ReportFile(params["report_file"]),
        lambda: _wish(params),
        lambda: REDUNDANCY_PLAN_FILE.read(params["plan_file"], params["plan_digest"]) if params["plan_file"] else None,
        lambda: _check_options(params),
    )
    writes = params["apply"] and not check_mode
    with Wire(settings) as wire:
        done = _Run(Kafka(wire), params, wish, given, stop).run(writes=writes)
    done = replace(done, is_digest_final=bool(params["plan_output_file"] or given))
    if params["plan_output_file"]:
        REDUNDANCY_PLAN_FILE.write(done.plan, params["plan_output_file"])

    def document_at(started_at: str, finished_at: str) -> dict[str, Any]:
        return report_document(
            RedundancyReport(
                cluster_id=done.plan.cluster_id,
                started_at=started_at,
                finished_at=finished_at,
                mode=RunMode.APPLY if writes else RunMode.CHECK,
                lost_brokers=done.plan.lost_brokers,
                throttle_bytes_per_second=params["throttle_bytes_per_second"],
                summary=Counter(each.status for each in done.outcomes),
                partitions=done.outcomes,
                notes=(*done.plan.notes, *done.journal_notes),
            )
        )

    return replace(done, report_error=report.write_or_explain(document_at, REDUNDANCY_REPORT))


def _wish(params: Mapping[str, Any]) -> WantedReplicas:
    partitions = params["partitions_file"]
    return WantedReplicas(
        lost_brokers=frozenset(params["lost_brokers"]),
        all_under_replicated=params["all_under_replicated"],
        partitions=frozenset(read_partitions(partitions)) if partitions else None,
        deprioritized=frozenset(params["deprioritized_brokers"]),
        space_margin_percent=params["space_margin_percent"],
    )


def _check_options(params: Mapping[str, Any]) -> None:
    wishes = params["lost_brokers"] or params["all_under_replicated"] or params["partitions_file"]
    errors = []
    if params["plan_file"] and wishes:
        errors.append("a plan says itself what is replaced: give no lost brokers and no partitions with it")
    if not params["plan_file"] and not wishes:
        errors.append(
            "say what was lost: redundancy_lost_brokers=4,5, redundancy_all_under_replicated=true, or "
            "redundancy_partitions_file"
        )
    if params["plan_output_file"] and (params["plan_file"] or params["apply"]):
        errors.append("a plan is either written (to be reviewed) or carried out: run this twice")
    if params["plan_digest"] and not params["plan_file"]:
        errors.append("a digest was approved, and no plan is given")
    throttle = params["throttle_bytes_per_second"]
    if throttle is not None and throttle < 1:
        errors.append(f"the throttle is {throttle}, which is not above 0")
    errors += [
        f"{name} is {params[name]}, which is not above 0"
        for name in ("max_concurrent", "attempts", "stall_timeout_ms", "verify_timeout_ms")
        if params[name] < 1
    ]
    if not 0 <= params["space_margin_percent"] <= 99:  # noqa: PLR2004 - percent
        errors.append(f"space_margin_percent is {params['space_margin_percent']}, which is not from 0 to 99")
    if errors:
        raise RedundancyOptionsError("\n".join(errors))


@dataclass(frozen=True, slots=True)
class _Run:
    kafka: Kafka
    params: Mapping[str, Any]
    wish: WantedReplicas
    given: RedundancyPlan | None
    stop: threading.Event

    def run(self, *, writes: bool) -> RestoredReplicas:
        progress = progress_to(self.params["progress_file"])
        progress.step("looking at brokers and partitions")
        cluster = self.kafka.describe_cluster()
        brokers = self.kafka.probe_brokers(cluster)
        plan = self._plan(cluster, brokers)
        living = cluster.online(brokers)
        writer = Writer(
            self.kafka, [*living.values()], self.params["attempts"], self.params["verify_timeout_ms"] / 1000
        )
        home = ClusterJournal(self.kafka, cluster, journal_options(self.params), brokers)
        if not writes or not plan.moves:
            leftovers = preview_undo(self.kafka, SettingWriter(writer, living), home.read().changes)
            if not (writes and leftovers):
                return RestoredReplicas(plan=plan, outcomes=self._foreseen(plan), leftovers=leftovers)
        require_quorum(self.kafka.wire, self.params)
        opened: AbstractContextManager[Journal] = home.open(progress)
        with opened as journal:
            locked = _Locked(self, writer, living, journal, progress)
            # Another run may have changed the partitions before this one had the lock.
            done = locked.carry_out(lambda: self._plan(cluster, brokers))
        return replace(done, journal_notes=tuple(journal.notes))

    def _plan(self, cluster: Cluster, brokers: tuple[Broker, ...]) -> RedundancyPlan:
        if self.given is not None:
            require_own_cluster(self.given, cluster.cluster_id, self.params["plan_file"])
            return self.given
        found = look(self.kafka, cluster, brokers)
        moves, left = plan_moves(found, self.wish)
        held = {each for state in found.states for each in state.replicas}
        notes = [
            f"broker {each} was declared lost, and is up: its replicas stay"
            for each in sorted(self.wish.lost_brokers & found.live)
        ]
        notes += [
            f"broker {each} was declared lost, and no partition has a replica on it"
            for each in sorted(self.wish.lost_brokers - held)
        ]
        notes += self.kafka.notes_on_views()
        return RedundancyPlan(
            cluster_id=cluster.cluster_id,
            created_at=utc_now(),
            lost_brokers=tuple(sorted(self.wish.lost_brokers)),
            moves=moves,
            left_alone=left,
            notes=tuple(notes),
        )

    def _foreseen(self, plan: RedundancyPlan) -> tuple[MoveOutcome, ...]:
        """Return the outcomes that a run would have. The moves of a given plan are compared with the cluster."""
        outcomes = [outcome_of(each, ReplicaStatus.WOULD_RESTORE) for each in plan.moves]
        if self.given is not None and plan.moves:
            partitions = [each.topic_partition for each in plan.moves]
            states = self.kafka.read_partition_states(partitions).states
            running = self.kafka.running_reassignments(partitions)
            outcomes = [
                outcome_of(each, ReplicaStatus.CHANGED, found.text) if found.is_final else outcome_of(each, status)
                for each in plan.moves
                for found in [look_at(each, states.get(each.topic_partition), running.get(each.topic_partition))]
                for status in [ReplicaStatus.WOULD_RESTORE]
            ]
        return in_order(outcomes, plan)


def in_order(outcomes: Sequence[MoveOutcome], plan: RedundancyPlan) -> tuple[MoveOutcome, ...]:
    """Return all outcomes in order of topic and partition, with those of the partitions that are left alone."""
    everything = [*outcomes, *map(outcome_left_alone, plan.left_alone)]
    return tuple(sorted(everything, key=lambda each: (each.topic, each.partition)))


@dataclass(frozen=True, slots=True)
class _Locked:
    """A run that holds the lock."""

    run: _Run
    writer: Writer
    living: Mapping[int, Address]
    journal: Journal
    progress: Progress

    def carry_out(self, make_plan: Callable[[], RedundancyPlan]) -> RestoredReplicas:
        """Undo what earlier runs left, plan, throttle, copy, and remove the throttle. Raises JournalError."""
        run, journal = self.run, self.journal
        writer = self.writer.with_journal(journal)
        rollback = Rollback.of(writer, self.living, journal, progress=self.progress, stop=run.stop)
        was_pending = LastingOrders() in journal.pending
        leftovers = rollback.undo_now()
        plan = make_plan()
        journal.begin([LastingOrders()])
        throttle = Throttle(SettingWriter(writer, self.living), journal)
        outcomes: list[MoveOutcome] = []
        stuck: Mapping[Any, str] = {}
        try:
            unthrottled = self._throttle(throttle, plan.moves)
            outcomes += [outcome_of(move, ReplicaStatus.FAILED, why) for move, why in unthrottled.items()]
            outcomes += self._copy(writer, [each for each in plan.moves if each not in unthrottled])
        finally:
            stuck = throttle.remove()
            if not was_pending and self._wait_for_late_requests(plan.moves):
                journal.end([LastingOrders()], "set")
            leftovers = (*leftovers, *rollback.settle_doubt())
        return RestoredReplicas(
            plan=plan, outcomes=in_order(outcomes, plan), leftovers=leftovers, stuck=tuple(stuck.values())
        )

    def _throttle(self, throttle: Throttle, moves: Sequence[ReplicaMove]) -> dict[ReplicaMove, str]:
        """Throttle all new replicas, and return the moves that cannot be throttled, and why."""
        rate = self.run.params["throttle_bytes_per_second"]
        if rate is None:
            return {}
        self.progress.step("setting the throttle")
        replicas = {_Replica(move.topic, move.partition, each): move for move in moves for each in move.adding}
        failures = throttle.apply(rate, [*replicas])
        return {replicas[each]: f"it was not begun: {why}" for each, why in failures.items()}

    def _copy(self, writer: Writer, moves: Sequence[ReplicaMove]) -> list[MoveOutcome]:
        params = self.run.params
        pace = CopyPace(at_once=params["max_concurrent"], stall_s=params["stall_timeout_ms"] / 1000)
        copier = ReplicaCopier(
            writer,
            self.living,
            pace,
            self.progress,
            self.run.stop,
            cancels_on_stop=params["throttle_bytes_per_second"] is not None,
        )
        return copier.carry_out(moves)

    def _wait_for_late_requests(self, moves: Sequence[ReplicaMove]) -> bool:
        """Wait until no request with a lost response can be executed any more. Return False if asked to stop first."""
        until = self.journal.in_doubt_until(partition_subject(each.topic_partition) for each in moves)
        clock = self.writer.kafka.clock
        while clock.monotonic() < until:
            if self.run.stop.is_set():
                return False
            self.progress.step("waiting for requests whose responses were lost")
            clock.sleep(_WAIT_S)
        return True


def warnings(done: RestoredReplicas) -> list[str]:
    """Return warnings, which are no failures."""
    return [*done.plan.notes, *conflict_warnings(done.journal_notes, done.leftovers)]


def results_of(done: RestoredReplicas, max_rows: int) -> dict[str, Any]:
    """Return the module's results."""
    bad = [each for each in done.outcomes if each.status not in DONE]
    head = f"{len(bad)} partitions do not have all replicas"
    problems = [list_rows(head, bad)] if bad else []
    problems += [f"the throttle is still on: {each}" for each in done.stuck]
    failure = "\n".join(filter(None, [failure_message(problems, done.leftovers), done.report_error]))
    changed = [each for each in done.outcomes if each.status in (ReplicaStatus.RESTORED, ReplicaStatus.WOULD_RESTORE)]
    bytes_to_copy = sum(each.size_bytes * len(each.adding) for each in done.plan.moves)
    return {
        "changed": has_restored(done.leftovers) or bool(changed),
        "cluster_id": done.plan.cluster_id,
        "lost_brokers": list(done.plan.lost_brokers),
        "plan_digest": REDUNDANCY_PLAN_FILE.document(done.plan)["digest"] if done.is_digest_final else None,
        "bytes_to_copy": bytes_to_copy,
        **partition_results(
            done.outcomes, max_rows, ReplicaStatus, {ReplicaStatus.RESTORED}, {ReplicaStatus.WOULD_RESTORE}
        ),
        "notes": list(done.plan.notes),
        "leftovers": leftover_results(done.leftovers),
        "diff": diff_of(
            "replica sets",
            [(TopicPartition(each.topic, each.partition), [*each.replicas], [*each.target]) for each in changed],
            max_rows,
        ),
        **({"msg": failure} if failure else {}),
    }
