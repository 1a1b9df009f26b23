# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the module group_recovery: plan, write or read the plan, commit, and abort.

1. Look, and plan. Without ``apply``, and in check mode, this is all.
2. Take the lock of the cluster, and look again: another run may have changed something meanwhile.
3. Write what is to be changed to files, and sync them to disk.
4. End hanging transactions one by one: commit those of which the salvage has the COMMIT marker, and abort others, if
   the operator allows it. Right before it, each is looked at again. They may have offsets of groups, which are known
   only after that: without a reviewed plan, look again.
5. Commit, group by group. The coordinator refuses groups with members. Right before it, the group's commits are read
   again: one that its consumers have changed since stays. Read the commits back.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, TypeVar

from .._changes.cluster_journal import ClusterJournal
from .._changes.journal import Journal
from .._documents.report_file import ReportFile
from .._documents.reviewed_plan import require_own_cluster
from .._kafka.cluster import Cluster
from .._kafka.groups import Commit
from .._kafka.hidden_topics import find_hidden_topics
from .._kafka.offset_records import CommitLog
from .._kafka.port import Kafka
from .._kafka.wire import Wire
from .._model.partition import OFFSETS_TOPIC, TopicPartition, grouped
from .._model.reasons import join_first, name_brokers
from .._model.run import KafkaOpsError, Progress, utc_now
from .._module.connection import connection_settings, controller_listeners
from .._module.options import journal_options, progress_to, read_time
from .._module.quorum_preflight import require_quorum
from .._module.run import call_all
from .end import MarkerWriter, foresee_end
from .give_back import Committer, foresee_commit
from .hanging import TransactionLook, look_at_transactions
from .look import GroupLook, look_at_groups
from .plan import (
    ENDED,
    GROUP_REPORT,
    WOULD_END,
    CommitOutcome,
    CommitStatus,
    CommitStep,
    EndOutcome,
    GroupPlan,
    OffsetsEnd,
    TransactionStatus,
    TransactionStep,
    UnknownCommits,
    commit_outcome,
    end_outcome,
)
from .plan_file import GROUP_PLAN_FILE, write_transactions_file, write_undo_file
from .results import RestoredGroups, report_of
from .rights import GroupRightsError, Lacking, find_lacking
from .since import SavedCommits

_Outcome = TypeVar("_Outcome")
_OLDEST = datetime(1970, 1, 2, tzinfo=UTC)
"""Kafka gives timestamps below 0 a meaning of their own (ListOffsets): -1 is the log end."""


class GroupOptionsError(KafkaOpsError):
    """The options contradict each other, or the salvage is of another cluster."""


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
    settings, controllers, report, given, read, beyond_end_time, _checked = call_all(
        lambda: connection_settings(params),
        lambda: controller_listeners(params),
        lambda: ReportFile(params["report_file"]),
        lambda: GROUP_PLAN_FILE.read(params["plan_file"], params["plan_digest"]) if params["plan_file"] else None,
        lambda: read_saved(params["salvage_dir"]) if params["salvage_dir"] else ("", SavedCommits()),
        lambda: _read_beyond_end_time(params["beyond_end_time"]),
        lambda: _check_options(params),
    )
    of_cluster, saved = read
    if given is not None:
        require_same_wish(given, saved, params)
    writes = params["apply"] and not check_mode
    with Wire(settings, controllers) as wire:
        done = _Run(Kafka(wire), params, of_cluster, saved, beyond_end_time, given, stop).run(writes=writes)
    done = replace(done, is_digest_final=bool(params["plan_output_file"] or given))
    if params["plan_output_file"]:
        GROUP_PLAN_FILE.write(done.plan, params["plan_output_file"])

    def document_at(started_at: str, finished_at: str) -> dict[str, Any]:
        return report_of(done, started_at, finished_at, writes=writes)

    return replace(done, report_error=report.write_or_explain(document_at, GROUP_REPORT))


def _check_options(params: Mapping[str, Any]) -> None:
    errors = []
    if params["plan_file"] and params["beyond_end_time"]:
        errors.append("a plan says itself where groups continue: give no beyond_end_time with it")
    if params["plan_output_file"] and (params["plan_file"] or params["apply"]):
        errors.append("a plan is either written (to be reviewed) or carried out: run this twice")
    if params["plan_digest"] and not params["plan_file"]:
        errors.append("a digest was approved, and no plan is given")
    if params["apply"] and not params["undo_file"]:
        errors.append("undo_file is missing: name a new file for the committed offsets before the change")
    if params["abort_hanging_transactions"] and params["plan_output_file"]:
        errors.append("a plan has every hanging transaction: allow the aborts when it is carried out")
    if params["overwrite_groups"] and params["plan_file"]:
        errors.append("a plan says itself what it overwrites: give no overwrite_groups with it")
    elif params["overwrite_groups"] and not params["salvage_dir"]:
        errors.append("overwrite_groups is about saved offsets: give salvage_dir, too")
    if params["groups"] and (others := {*(params["overwrite_groups"] or ())}.difference(params["groups"])):
        errors.append(f"overwrite_groups has groups that groups leaves out: {join_first(sorted(others))}")
    if params["groups"] is not None and not params["groups"]:
        errors.append("groups is empty: leave it out to look at every group")
    if errors:
        raise GroupOptionsError("\n".join(errors))


def require_same_wish(given: GroupPlan, saved: SavedCommits, params: Mapping[str, Any]) -> None:
    """Raise GroupOptionsError if the plan is of another salvage, or of other groups, than what is given beside it."""
    errors = []
    if params["salvage_dir"] and saved.salvage_id != given.salvage_id:
        errors.append(f"salvage_dir has salvage {saved.salvage_id}, but the plan is of {given.salvage_id or 'none'}")
    if params["groups"] and (others := {each.group for each in given.commits}.difference(params["groups"])):
        errors.append(f"the plan also has groups that were not asked for: {join_first(sorted(others))}")
    if errors:
        raise GroupOptionsError("\n".join([*errors, "Leave this out, or make a new plan"]))


def _read_beyond_end_time(text: str | None) -> datetime | None:
    time = read_time("beyond_end_time", text)
    if time is not None and not _OLDEST <= time <= datetime.now(UTC):
        raise GroupOptionsError(f"beyond_end_time is {text!r}, which is in the future or before {_OLDEST.date()}")
    return time


@dataclass(frozen=True, slots=True)
class _World:
    """A plan, and what of it a look found to be due."""

    groups: GroupLook
    transactions: TransactionLook
    results: RestoredGroups

    @property
    def due(self) -> list[CommitStep]:
        pairs = zip(self.results.plan.commits, self.results.outcomes, strict=True)
        return [step for step, each in pairs if each.status is CommitStatus.WOULD_GIVE_BACK]

    @property
    def due_transactions(self) -> list[TransactionStep]:
        pairs = zip(self.results.plan.transactions, self.results.transactions, strict=True)
        return [step for step, each in pairs if each.status in WOULD_END]


@dataclass(frozen=True, slots=True)
class _Run:
    kafka: Kafka
    params: Mapping[str, Any]
    of_cluster: str
    """The cluster of the salvage. Empty if none is given."""
    saved: SavedCommits
    beyond_end_time: datetime | None
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
        world = self._look(cluster)
        world, lacking = self._check_rights(world)
        if not writes or not (world.due or world.due_transactions):
            return world.results
        require_quorum(self.kafka.wire, self.params)
        with ClusterJournal(self.kafka, cluster, journal_options(self.params)).open(progress) as journal:
            done = self._change(lambda: _forbid(self._look(cluster), lacking), cluster, journal, progress)
        return replace(done, run_notes=(*world.results.run_notes, *journal.notes))

    def _check_rights(self, world: _World) -> tuple[_World, Lacking]:
        """Take what our principal may not do for failed, and note how to grant it. A look that writes nothing notes it.

        Raises GroupRightsError if our principal may do nothing of what is due.
        """
        of_end = {*WOULD_END, *(() if self.params["apply"] else (TransactionStatus.HANGING,))}
        ends = any(each.status in of_end for each in world.results.transactions)
        topic = journal_options(self.params).topic
        lacking = find_lacking(self.kafka, world.groups.present.coordinators, world.due, topic, ends=ends)
        if not lacking.commands:
            return world, lacking
        if self.params["apply"]:
            world = _forbid(world, lacking)
            if lacking.cannot_write or not (world.due or world.due_transactions):
                commands = "\n".join(lacking.commands)
                raise GroupRightsError(
                    f"our principal lacks ACLs, and nothing was written. Let an administrator run:\n{commands}"
                )
        note = f"our principal lacks ACLs to carry this out. Let an administrator run: {' ; '.join(lacking.commands)}"
        return replace(world, results=replace(world.results, run_notes=(note,))), lacking

    def _change(
        self, look: Callable[[], _World], cluster: Cluster, journal: Journal, progress: Progress
    ) -> RestoredGroups:
        """Look again. End and commit what is due. What was before is on the disk first."""
        world = look()
        transactions = world.due_transactions
        place = f"{self.params['undo_file']}.transactions"
        transactions_file = write_transactions_file(place, transactions) if transactions else None
        writer, ended = MarkerWriter(self.kafka, cluster, world.transactions, self.stop), list[EndOutcome]()
        for each in transactions:
            progress.step(f"ending a transaction in {each.topic_partition}", len(ended), len(transactions))
            journal.require_lock()
            ended.append(writer.end(each))
        outcomes = _merge(world.results.transactions, ended, _transaction_key)
        if self.given is None and any(each.status in ENDED for each in ended):
            of_all = world.results.plan.transactions
            world = look()
            plan = replace(world.results.plan, transactions=of_all)
            world = replace(world, results=replace(world.results, plan=plan, transactions=outcomes))
        steps = world.due
        consumers = [each for each in steps if each.group not in world.groups.present.share]
        undo_file = write_undo_file(self.params["undo_file"], consumers) if consumers else None
        if shares := [each for each in steps if each.group in world.groups.present.share]:
            share_file = write_undo_file(f"{self.params['undo_file']}.share-groups", shares)
            undo_file = undo_file or share_file
        committer, done = Committer(self.kafka, cluster, world.groups, self.stop), list[CommitOutcome]()
        for group, of_group in groupby(steps, key=lambda each: each.group):
            progress.step(f"committing for group {group}", len(done), len(steps))
            journal.require_lock()
            done += committer.commit(group, [*of_group])
        return replace(
            world.results,
            outcomes=_merge(world.results.outcomes, done, _commit_key),
            transactions=outcomes,
            undo_file=undo_file,
            transactions_file=transactions_file,
        )

    def _look(self, cluster: Cluster) -> _World:
        plan, groups, transactions = self._plan(cluster)
        is_allowed = self.params["abort_hanging_transactions"]
        results = RestoredGroups(
            plan=plan,
            outcomes=tuple(foresee_commit(step, groups, is_reviewed=self.given is not None) for step in plan.commits),
            transactions=tuple(foresee_end(step, transactions, is_allowed=is_allowed) for step in plan.transactions),
            unknown=plan.unknown,
        )
        return _World(groups, transactions, results)

    def _plan(self, cluster: Cluster) -> tuple[GroupPlan, GroupLook, TransactionLook]:
        given = self.given
        if given is not None:
            require_own_cluster(given, cluster.cluster_id, self.params["plan_file"])
            names = {each.group for each in given.commits}
            # The targets are passed so that the logs of groups without a present commit are read, too.
            targets = {(each.group, each.topic_partition): Commit(each.target) for each in given.commits}
            ends = {each.partition: CommitLog(each.offset) for each in given.read_to}
            groups = look_at_groups(self.kafka, cluster, names, SavedCommits(commits=targets, commit_logs=ends))
            places = {each.topic_partition for each in given.transactions}
            return given, groups, look_at_transactions(self.kafka, cluster, groups.leaders, places)
        wanted = self.params["groups"]
        groups = look_at_groups(
            self.kafka,
            cluster,
            None if wanted is None else {*wanted},
            self.saved,
            beyond_end_time=self.beyond_end_time,
            overwrite=self.params["overwrite_groups"] or (),
        )
        transactions = look_at_transactions(
            self.kafka, cluster, groups.leaders, None, groups.offline, self.saved.markers
        )
        plan = GroupPlan(
            cluster_id=cluster.cluster_id,
            created_at=utc_now(),
            salvage_id=self.saved.salvage_id,
            commits=tuple(groups.steps),
            read_to=tuple(self._ends(groups)),
            transactions=tuple(transactions.steps),
            unknown=(*groups.unknown, *transactions.unknown, *self._hidden(cluster, groups)),
            notes=tuple(groups.notes),
        )
        return plan, groups, transactions

    def _ends(self, groups: GroupLook) -> Iterator[OffsetsEnd]:
        """Yield up to where __consumer_offsets was read at the latest: what is written after that is newer."""
        for number in sorted(self.saved.commit_logs):
            if (log := groups.logs.get(TopicPartition(OFFSETS_TOPIC, number))) is not None:
                yield OffsetsEnd(number, log.end)

    def _hidden(self, cluster: Cluster, groups: GroupLook) -> Iterator[UnknownCommits]:
        """Yield what Kafka leaves out without an error: commits and transactions of topics that we may not see.

        Without DESCRIBE on the cluster, it also leaves out groups that we may not see.
        """
        hidden = find_hidden_topics(self.kafka, cluster.unfenced, {each.topic for each in groups.leaders})
        if hidden.names:
            names = join_first(hidden.names)
            yield UnknownCommits((), f"topics that are hidden from us: {names}. Grant DESCRIBE on them")
        for error, brokers in grouped((error, broker_id) for broker_id, error in hidden.unknown.items()).items():
            yield UnknownCommits((), f"which groups and topics of {name_brokers(brokers)} are hidden from us: {error}")


def _forbid(world: _World, lacking: Lacking) -> _World:
    """Return the same with what our principal may not do as failed. All other groups and transactions are done."""

    def of_commit(step: CommitStep, found: CommitOutcome) -> CommitOutcome:
        why = lacking.why_not(step) if found.status is CommitStatus.WOULD_GIVE_BACK else ""
        return commit_outcome(step, CommitStatus.FAILED, why) if why else found

    def of_end(step: TransactionStep, found: EndOutcome) -> EndOutcome:
        if found.status not in WOULD_END or not lacking.cannot_end:
            return found
        return end_outcome(step, TransactionStatus.FAILED, "our principal needs ALTER on the cluster")

    plan, results = world.results.plan, world.results
    outcomes = tuple(map(of_commit, plan.commits, results.outcomes))
    transactions = tuple(map(of_end, plan.transactions, results.transactions))
    return replace(world, results=replace(results, outcomes=outcomes, transactions=transactions))


def _merge(
    foreseen: Sequence[_Outcome], done: Sequence[_Outcome], key: Callable[[_Outcome], Hashable]
) -> tuple[_Outcome, ...]:
    """Return the outcomes, in the order of the plan, with those that were changed."""
    by_key = {key(each): each for each in done}
    return tuple(by_key.get(key(each), each) for each in foreseen)


def _commit_key(each: CommitOutcome) -> Hashable:
    return each.group, each.topic, each.partition


def _transaction_key(each: EndOutcome) -> Hashable:
    return each.topic, each.partition, each.producer_id
