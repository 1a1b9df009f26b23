# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the module redundancy: plan, write or read the plan, carry it out under a throttle, and build the results."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from .._changes.cluster_journal import ClusterJournal
from .._changes.rollback import preview_undo
from .._changes.sender import Writer
from .._changes.setting_writer import SettingWriter
from .._documents.errors import Problem
from .._documents.report_file import ReportFile
from .._documents.reviewed_plan import ReviewedPlan, require_own_cluster
from .._history.replaced_leaders import find_replaced_leaders
from .._kafka.cluster import Cluster
from .._kafka.port import Kafka
from .._kafka.wire import Wire
from .._model.partition import Broker, expand_topics, racks_of
from .._model.reasons import join_first
from .._model.replaced_disk import name_replaced
from .._model.run import KafkaOpsError, Progress, RunMode, utc_now
from .._model.silent_leaders import silent_brokers, wait_for_fencing
from .._module.connection import connection_settings, controller_listeners
from .._module.options import (
    find_plan_contradictions,
    journal_options,
    notes_on_file,
    progress_to,
    wanted_partitions,
)
from .._module.quorum_preflight import require_quorum
from .._module.run import call_all
from .cluster_now import WantedReplicas
from .copy_run import CopyRun
from .looking import explain_brokers, explain_not_read, explain_volumes, look
from .move_now import foresee
from .placement import find_unanswered, leave_out_full, plan_moves
from .plan import (
    PLAN,
    REDUNDANCY_PLAN,
    REDUNDANCY_REPORT,
    MoveOutcome,
    RedundancyPlan,
    RedundancyReport,
    ReplicaMove,
    ReplicaStatus,
    encode_redundancy_report,
    in_order,
    outcome_of,
)
from .results import RestoredReplicas


class RedundancyOptionsError(KafkaOpsError):
    """The options do not say what to replace, or contradict each other."""


def _find_problems(value: dict[str, Any]) -> Iterator[Problem]:
    seen: set[tuple[str, int]] = set()
    for number, move in enumerate(value["moves"]):
        place = f"/moves/{number}"
        key = (move["topic"], move["partition"])
        if key in seen:
            yield Problem(place, f"{move['topic']}-{move['partition']} is planned twice", "Remove one of the two")
        seen.add(key)
        target = move["target"]
        wanted = {*move["replicas"], *move["adding"]} - {*move["removing"]}
        if len({*target}) != len(target) or {*target} != wanted or not {*move["adding"]} <= wanted:
            text = "is not what its replicas, what is added and what is removed make"
            yield Problem(f"{place}/target", text, "Plan again")


REDUNDANCY_PLAN_FILE = ReviewedPlan(PLAN, REDUNDANCY_PLAN, _find_problems)


def restore(params: Mapping[str, Any], *, check_mode: bool, stop: threading.Event) -> RestoredReplicas:
    """Plan, or read a plan. Carry it out if ``apply`` is set and this is not check mode. Write the requested files.

    Raises KafkaOpsError. Invalid options are all refused at once, before any request.
    """
    settings, controllers, report, wish, given, _limits = call_all(
        lambda: connection_settings(params),
        lambda: controller_listeners(params),
        lambda: ReportFile(params["report_file"]),
        lambda: _wish(params),
        lambda: REDUNDANCY_PLAN_FILE.read(params["plan_file"], params["plan_digest"]) if params["plan_file"] else None,
        lambda: _check_options(params),
    )
    if given is not None:
        require_same_wish(given, wish)
    writes = params["apply"] and not check_mode
    with Wire(settings, controllers) as wire:
        done = _Run(Kafka(wire), params, wish, given, stop).run(writes=writes)
    done = replace(done, plan=given or done.plan)
    if params["plan_output_file"] or given:
        done = replace(done, plan_digest=REDUNDANCY_PLAN_FILE.document(done.plan)["digest"])
    if params["plan_output_file"]:
        REDUNDANCY_PLAN_FILE.write(done.plan, params["plan_output_file"])
    found = RedundancyReport(
        cluster_id=done.plan.cluster_id,
        mode=RunMode.APPLY if writes else RunMode.CHECK,
        lost_brokers=done.plan.lost_brokers,
        throttle_bytes_per_second=params["throttle_bytes_per_second"],
        summary=Counter(each.status for each in done.outcomes),
        partitions=done.outcomes,
        racks=done.plan.racks,
        notes=(*done.notes, *done.journal_notes),
    )
    document_at = partial(encode_redundancy_report, found)
    return replace(done, report_error=report.write_or_explain(document_at, REDUNDANCY_REPORT))


def _wish(params: Mapping[str, Any]) -> WantedReplicas:
    partitions = wanted_partitions(params)
    return WantedReplicas(
        lost_brokers=frozenset(params["lost_brokers"]),
        all_under_replicated=params["all_under_replicated"],
        partitions=None if partitions is None else frozenset(partitions),
        deprioritized=frozenset(params["deprioritized_brokers"]),
        space_margin_percent=params["space_margin_percent"],
    )


def require_same_wish(given: RedundancyPlan, wish: WantedReplicas) -> None:
    """Raise RedundancyOptionsError if the plan replaces other replicas than those that were asked for beside it."""
    errors = []
    if wish.lost_brokers and wish.lost_brokers != {*given.lost_brokers}:
        planned = join_first(given.lost_brokers) or "none"
        errors.append(f"lost_brokers is {join_first(sorted(wish.lost_brokers))}, but that of the plan is {planned}")
    moved = [each.topic_partition for each in given.moves]
    if wish.partitions is not None and (others := {*moved} - expand_topics(wish.partitions, moved)):
        errors.append(f"the plan also has partitions that were not asked for: {join_first(sorted(map(str, others)))}")
    if errors:
        raise RedundancyOptionsError("\n".join([*errors, "Leave this out, or make a new plan"]))


def _check_options(params: Mapping[str, Any]) -> None:
    named = params["partitions"] or params["partitions_file"]
    wishes = params["lost_brokers"] or params["all_under_replicated"] or named
    errors = [*find_plan_contradictions(params)]
    if not params["plan_file"] and not wishes:
        errors.append(
            "say what was lost: redundancy_lost_brokers=4,5, redundancy_all_under_replicated=true, "
            "redundancy_partitions=orders:0,3, or redundancy_partitions_file"
        )
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
        cluster, brokers = self._find_brokers(progress, waits=writes)
        plan = self._plan(cluster, brokers)
        living = cluster.online(brokers)
        writer = Writer(
            self.kafka, [*living.values()], self.params["attempts"], self.params["verify_timeout_ms"] / 1000
        )
        home = ClusterJournal(self.kafka, cluster, journal_options(self.params), brokers)
        foreseen = self._foreseen(plan)
        if not writes or not any(each.status is ReplicaStatus.WOULD_RESTORE for each in foreseen):
            pending = home.read()
            leftovers = preview_undo(self.kafka, SettingWriter(writer, living), pending.changes)
            if not (writes and leftovers):
                return RestoredReplicas(plan=plan, outcomes=foreseen, leftovers=leftovers, journal_notes=pending.notes)
        require_quorum(self.kafka.wire, self.params)
        with home.open(progress) as journal:
            locked = CopyRun(self.params, writer, living, journal, progress, self.stop)
            # Before this run had the lock, another one may have changed the partitions, and a lost broker may be back.
            done = locked.carry_out(lambda: self._plan(*self._look_at_brokers()), self._plan_again)
        return replace(done, journal_notes=tuple(journal.notes))

    def _find_brokers(self, progress: Progress, *, waits: bool) -> tuple[Cluster, tuple[Broker, ...]]:
        """Return the brokers. A run that writes first waits until the controller fences those that do not answer."""
        limit_ms = self.params["fencing_wait_ms"] if waits else 0
        return wait_for_fencing(self._look_at_brokers, self._find_in_doubt, limit_ms, self.kafka.clock, progress.step)

    def _look_at_brokers(self) -> tuple[Cluster, tuple[Broker, ...]]:
        cluster = self.kafka.describe_cluster()
        return cluster, self.kafka.probe_brokers(cluster)

    def _find_in_doubt(self, found: tuple[Cluster, tuple[Broker, ...]]) -> Sequence[object]:
        """Return the partitions of which it is unknown whether they lack replicas, because brokers do not answer."""
        _cluster, brokers = found
        silent = silent_brokers(brokers)
        if not silent:
            return ()
        states = self.kafka.describe_partitions().partitions
        lost = self.wish.lost_brokers.union(self.given.lost_brokers if self.given is not None else ())
        # Until it is fenced, its replicas look as if they had returned in sync.
        unfenced = [each for each in states if lost.intersection(each.isr, silent)]
        return unfenced or (find_unanswered(states, brokers, self.wish) if self.given is None else ())

    def _plan(self, cluster: Cluster, brokers: tuple[Broker, ...]) -> RedundancyPlan:
        if self.given is not None:
            require_own_cluster(self.given, cluster.cluster_id, self.params["plan_file"])
            return leave_out_full(self.given, look(self.kafka, cluster, brokers), self.wish)
        found = look(self.kafka, cluster, brokers)
        moves, left = plan_moves(found, self.wish)
        replaced = find_replaced_leaders(self.kafka, found.states, found.brokers, self.wish.lost_brokers)
        notes = [
            *name_replaced(replaced),
            *explain_brokers(found, self.wish),
            *explain_volumes(found),
            *explain_not_read(found),
            *notes_on_file(self.params),
            *self.kafka.notes_on_views(),
        ]
        return RedundancyPlan(
            cluster_id=cluster.cluster_id,
            created_at=utc_now(),
            lost_brokers=tuple(sorted(self.wish.lost_brokers)),
            moves=moves,
            left_alone=left,
            racks=racks_of(found.brokers),
            notes=tuple(notes),
        )

    def _plan_again(self, gone: frozenset[int]) -> Sequence[ReplicaMove]:
        """Return moves with other brokers than these, which died during the copies; none if the plan was reviewed."""
        if self.given is not None:
            return ()
        found = look(self.kafka, *self._look_at_brokers())
        return plan_moves(found, replace(self.wish, lost_brokers=self.wish.lost_brokers | gone))[0]

    def _foreseen(self, plan: RedundancyPlan) -> tuple[MoveOutcome, ...]:
        """Return the outcomes that a run would have. The moves of a given plan are compared with the cluster."""
        outcomes = [outcome_of(each, ReplicaStatus.WOULD_RESTORE) for each in plan.moves]
        if self.given is not None:
            outcomes = [*foresee(self.kafka, plan.moves).values()]
        return in_order(outcomes, plan)
