# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the module group_recovery: plan, write or read the plan, commit, and build the results.

1. Look, and plan. Without ``apply``, and in check mode, this is all.
2. Take the lock of the cluster, and look again: another run may have committed meanwhile.
3. Write the undo file, and sync it to disk.
4. Commit, group by group. The coordinator refuses groups with members. Right before it, the group's commits are read
   again: one that its consumers have changed since stays.
5. Read the commits back.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from .._changes.cluster_journal import ClusterJournal
from .._documents.report_file import ReportFile
from .._documents.reviewed_plan import require_own_cluster
from .._kafka.cluster import Cluster
from .._kafka.errors import BrokerCallError
from .._kafka.group_commits import Commit, has_members
from .._kafka.port import Kafka
from .._kafka.wire import Wire
from .._model.run import KafkaOpsError, RunMode, count_by_status, utc_now
from .._module.connection import connection_settings
from .._module.options import journal_options, progress_to
from .._module.quorum_preflight import require_quorum
from .._module.run import call_all, diff_of, list_lines, select_most_important, to_json_types
from .decide import SavedCommits
from .look import GroupLook, commit_now, look_at_groups
from .plan import (
    GROUP_REPORT,
    SETTLED,
    CommitOutcome,
    CommitStatus,
    CommitStep,
    GroupPlan,
    GroupReport,
    UnknownCommits,
    commit_outcome,
    encode_group_report,
)
from .plan_file import GROUP_PLAN_FILE, write_undo_file


class GroupOptionsError(KafkaOpsError):
    """The options contradict each other, or the salvage is of another cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredGroups:
    """The results of a run."""

    plan: GroupPlan
    outcomes: tuple[CommitOutcome, ...]
    unknown: tuple[UnknownCommits, ...]
    undo_file: str | None = None
    journal_notes: Sequence[str] = ()
    report_error: str = ""
    is_digest_final: bool = False
    """Whether the plan was read or written, so that its digest can be approved."""


def restore_groups(
    params: Mapping[str, Any],
    read_saved: Callable[[str], tuple[str, SavedCommits]],
    *,
    check_mode: bool,
    stop: threading.Event,
) -> RestoredGroups:
    """Plan, or read a plan. Carry it out if ``apply`` is set and this is not check mode. Write the requested files.

    ``read_saved`` returns the cluster id and the commits of a salvage directory.

    Raises KafkaOpsError. Invalid options are all refused at once, before any request.
    """
    settings, report, given, read, _checked = call_all(
        lambda: connection_settings(params),
        lambda: ReportFile(params["report_file"]),
        lambda: GROUP_PLAN_FILE.read(params["plan_file"], params["plan_digest"]) if params["plan_file"] else None,
        lambda: read_saved(params["salvage_dir"]) if params["salvage_dir"] else ("", SavedCommits()),
        lambda: _check_options(params),
    )
    of_cluster, saved = read
    writes = params["apply"] and not check_mode
    with Wire(settings) as wire:
        done = _Run(Kafka(wire), params, of_cluster, saved, given, stop).run(writes=writes)
    done = replace(done, is_digest_final=bool(params["plan_output_file"] or given))
    if params["plan_output_file"]:
        GROUP_PLAN_FILE.write(done.plan, params["plan_output_file"])

    def document_at(started_at: str, finished_at: str) -> dict[str, Any]:
        return encode_group_report(
            GroupReport(
                cluster_id=done.plan.cluster_id,
                salvage_id=done.plan.salvage_id,
                started_at=started_at,
                finished_at=finished_at,
                mode=RunMode.APPLY if writes else RunMode.CHECK,
                undo_file=done.undo_file,
                summary=Counter(each.status for each in done.outcomes),
                commits=done.outcomes,
                unknown=done.unknown,
                notes=(*done.plan.notes, *done.journal_notes),
            )
        )

    return replace(done, report_error=report.write_or_explain(document_at, GROUP_REPORT))


def _check_options(params: Mapping[str, Any]) -> None:
    errors = []
    if params["plan_file"] and (params["salvage_dir"] or params["groups"]):
        errors.append("a plan says itself which groups get what: give no salvage_dir and no groups with it")
    if params["plan_output_file"] and (params["plan_file"] or params["apply"]):
        errors.append("a plan is either written (to be reviewed) or carried out: run this twice")
    if params["plan_digest"] and not params["plan_file"]:
        errors.append("a digest was approved, and no plan is given")
    if params["apply"] and not params["undo_file"]:
        errors.append("undo_file is missing: name a new file for the committed offsets before the change")
    if params["groups"] is not None and not params["groups"]:
        errors.append("groups is empty: leave it out to look at every group")
    if errors:
        raise GroupOptionsError("\n".join(errors))


@dataclass(frozen=True, slots=True)
class _Run:
    kafka: Kafka
    params: Mapping[str, Any]
    of_cluster: str
    """The cluster of the salvage. Empty if none is given."""
    saved: SavedCommits
    given: GroupPlan | None
    stop: threading.Event

    def run(self, *, writes: bool) -> RestoredGroups:
        progress = progress_to(self.params["progress_file"])
        progress.step("looking at groups")
        cluster = self.kafka.describe_cluster()
        if self.of_cluster and self.of_cluster != cluster.cluster_id:
            raise GroupOptionsError(
                f"the salvage in {self.params['salvage_dir']} is of cluster {self.of_cluster}, but this is cluster "
                f"{cluster.cluster_id}: give the salvage of this cluster"
            )
        plan, found = self._plan(cluster)
        foreseen = tuple(self._foresee(step, found) for step in plan.commits)
        if not writes or not any(each.status is CommitStatus.WOULD_GIVE_BACK for each in foreseen):
            return RestoredGroups(plan=plan, outcomes=foreseen, unknown=plan.unknown)
        require_quorum(self.kafka.wire, self.params)
        with ClusterJournal(self.kafka, cluster, journal_options(self.params)).open(progress) as journal:
            plan, found = self._plan(cluster)
            foreseen = tuple(self._foresee(step, found) for step in plan.commits)
            due = [
                step
                for step, each in zip(plan.commits, foreseen, strict=True)
                if each.status is CommitStatus.WOULD_GIVE_BACK
            ]
            undo_file = write_undo_file(self.params["undo_file"], due) if due else None
            done: dict[tuple[str, str, int], CommitOutcome] = {}
            for group, steps in groupby(due, key=lambda each: each.group):
                progress.step(f"committing for group {group}", len(done), len(due))
                journal.require_lock()
                done |= {_key(each): each for each in self._commit(group, [*steps], found)}
        outcomes = tuple(done.get(_key(each), each) for each in foreseen)
        return RestoredGroups(
            plan=plan, outcomes=outcomes, unknown=plan.unknown, undo_file=undo_file, journal_notes=journal.notes
        )

    def _plan(self, cluster: Cluster) -> tuple[GroupPlan, GroupLook]:
        given = self.given
        if given is not None:
            require_own_cluster(given, cluster.cluster_id, self.params["plan_file"])
            names = {each.group for each in given.commits}
            # The targets are passed so that the logs of groups without a present commit are read, too.
            targets = {(each.group, each.topic_partition): Commit(each.target) for each in given.commits}
            return given, look_at_groups(self.kafka, cluster, names, SavedCommits(commits=targets))
        wanted = self.params["groups"]
        found = look_at_groups(self.kafka, cluster, None if wanted is None else {*wanted}, self.saved)
        plan = GroupPlan(
            cluster_id=cluster.cluster_id,
            created_at=utc_now(),
            salvage_id=self.saved.salvage_id,
            commits=tuple(found.steps),
            unknown=tuple(found.unknown),
            notes=tuple(_share_groups_note(self.kafka, cluster)),
        )
        return plan, found

    def _foresee(self, step: CommitStep, found: GroupLook) -> CommitOutcome:
        """Compare a step with what was found now."""
        answered = found.commits.get(step.group)
        log = found.logs.get(step.topic_partition)
        if answered is None or answered.error:
            return commit_outcome(step, CommitStatus.UNKNOWN, "its coordinator did not return its committed offsets")
        now = commit_now(found, step)
        offset = None if now is None else now.offset
        if offset == step.target:
            return commit_outcome(step, CommitStatus.DONE_BEFORE, "the group is already there")
        if offset != step.committed:
            why = f"its committed offset is {offset} now, and was {step.committed} in the plan: make the plan again"
            return commit_outcome(step, CommitStatus.CHANGED, why)
        if log is None:
            return commit_outcome(step, CommitStatus.UNKNOWN, "the leader did not say where its log starts and ends")
        if not log.start <= step.target <= log.end:
            why = f"the log has offsets {log.start} to {log.end} now: make the plan again"
            return commit_outcome(step, CommitStatus.CHANGED, why)
        state = found.states.get(step.group, "Dead")
        if has_members(state):
            why = f"the group is {state or 'in an unknown state'}: stop its consumers, and run this again"
            return commit_outcome(step, CommitStatus.HAS_MEMBERS, why)
        return commit_outcome(step, CommitStatus.WOULD_GIVE_BACK)

    def _commit(self, group: str, steps: Sequence[CommitStep], found: GroupLook) -> Iterator[CommitOutcome]:
        if self.stop.is_set():
            yield from (commit_outcome(each, CommitStatus.STOPPED, "the run was asked to stop") for each in steps)
            return
        coordinator = found.coordinators[group]
        try:
            now = self.kafka.read_commits_of(coordinator, [group])[group]
            due = [
                each
                for each in steps
                if not now.error and _offset_of(now.commits.get(each.topic_partition)) == each.committed
            ]
            for each in steps:
                if each not in due:
                    why = now.error or "the group has committed since: it stays where it is"
                    yield commit_outcome(each, CommitStatus.UNKNOWN if now.error else CommitStatus.CHANGED, why)
            wanted = {
                each.topic_partition: Commit(each.target, each.target_epoch, each.target_metadata) for each in due
            }
            refused = self.kafka.write_commits(coordinator, group, wanted) if wanted else {}
            after = self.kafka.read_commits_of(coordinator, [group])[group].commits if wanted else {}
        except BrokerCallError as error:
            why = f"{error}; run this again: it changes only what is not yet changed"
            yield from (commit_outcome(each, CommitStatus.FAILED, why) for each in steps)
            return
        for each in due:
            name = each.topic_partition
            problem = refused[name]
            if problem is None and after.get(name) != wanted[name]:
                problem = f"its committed offset is {_offset_of(after.get(name))} after the request"
            yield commit_outcome(each, CommitStatus.FAILED if problem else CommitStatus.GIVEN_BACK, problem or "")


def _key(each: CommitStep | CommitOutcome) -> tuple[str, str, int]:
    return each.group, each.topic, each.partition


def _offset_of(commit: Commit | None) -> int | None:
    return None if commit is None else commit.offset


def _share_groups_note(kafka: Kafka, cluster: Cluster) -> Iterator[str]:
    answers = kafka.in_parallel(kafka.coordinated_share_groups, cluster.unfenced.values())
    names = sorted({name for each in answers.values() if not isinstance(each, BrokerCallError) for name in each})
    if names:
        yield (
            f"share groups are not looked at ({len(names)}, such as {names[0]}): their state is in another topic; "
            "recover_offline_partitions names those that stand still, and kafka-share-groups.sh --reset-offsets sets "
            "where they start"
        )


def results_of(done: RestoredGroups, max_rows: int) -> dict[str, Any]:
    """Return the module's results. ``msg`` says what is not done; without ``apply``, a need is no failure."""
    bad = [each for each in done.outcomes if each.status not in {*SETTLED, CommitStatus.WOULD_GIVE_BACK}]
    problems = []
    if bad:
        lines = [f"group {each.group}, {each.topic_partition}: {each.status.value}: {each.reason}" for each in bad]
        problems.append(list_lines(f"{len(bad)} committed offsets are not given back", lines))
    if done.unknown:
        lines = [f"{', '.join(each.groups[:3])}: {each.reason}".removeprefix(": ") for each in done.unknown]
        problems.append(list_lines("not all groups could be looked at", lines))
    failure = "\n".join(filter(None, [*problems, done.report_error]))
    changed = [each for each in done.outcomes if each.status in (CommitStatus.GIVEN_BACK, CommitStatus.WOULD_GIVE_BACK)]
    shown = select_most_important(done.outcomes, max_rows, SETTLED, {CommitStatus.WOULD_GIVE_BACK})
    return {
        "changed": bool(changed),
        "cluster_id": done.plan.cluster_id,
        "salvage_id": done.plan.salvage_id,
        "plan_digest": GROUP_PLAN_FILE.document(done.plan)["digest"] if done.is_digest_final else None,
        "commits": to_json_types(shown),
        "truncated": len(shown) < len(done.outcomes),
        "summary": count_by_status((each.status for each in done.outcomes), CommitStatus),
        "unknown": to_json_types(done.unknown),
        "undo_file": done.undo_file,
        "notes": [*done.plan.notes, *done.journal_notes],
        "diff": diff_of(
            "committed offsets",
            [(f"group {each.group}, {each.topic_partition}", each.committed, each.target) for each in changed],
            max_rows,
        ),
        **({"msg": failure} if failure else {}),
    }
