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
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, TypeVar

from .._changes.cluster_journal import ClusterJournal
from .._changes.journal import Journal
from .._changes.record import JournalError
from .._kafka.cluster import Cluster
from .._kafka.port import Kafka
from .._kafka.wire import Wire
from .._model.run import Progress
from .._module.options import progress_to
from .._module.quorum_preflight import require_quorum
from .end import MarkerWriter
from .foresee import Foreseen, foresee
from .give_back import Committer
from .options import GroupOptions, ReadSaved, read_options
from .plan import ENDED, GROUP_REPORT, WOULD_END, CommitOutcome, EndOutcome, TransactionStatus, encode_group_report
from .plan_file import GROUP_PLAN_FILE, write_transactions_file, write_undo_file
from .results import RestoredGroups, report_of
from .rights import GroupRightsError, Lacking, find_lacking

_Outcome = TypeVar("_Outcome")
_OF_COMMIT = attrgetter("group", "topic", "partition")
_OF_TRANSACTION = attrgetter("topic", "partition", "producer_id")


def restore_groups(
    params: Mapping[str, Any], read_saved: ReadSaved, *, check_mode: bool, stop: threading.Event
) -> RestoredGroups:
    """Plan, or read a plan. Carry it out if ``apply`` is set and this is not check mode. Write the requested files.

    Raises KafkaOpsError. Invalid options are all refused at once, before any request.
    """
    options = read_options(params, read_saved)
    writes = options.apply and not check_mode
    with Wire(options.settings, options.controllers) as wire:
        run = _Run(Kafka(wire), options, progress_to(params["progress_file"]), stop)
        done = run.run((lambda: require_quorum(wire, params)) if writes else None)
    done = replace(done, is_digest_final=bool(options.plan_output_file or options.given))
    if options.plan_output_file:
        GROUP_PLAN_FILE.write(done.plan, options.plan_output_file)
    document_at = partial(encode_group_report, report_of(done, writes=writes))
    return replace(done, report_error=options.report.write_or_explain(document_at, GROUP_REPORT))


@dataclass(frozen=True, slots=True)
class _Run:
    kafka: Kafka
    options: GroupOptions
    progress: Progress
    stop: threading.Event

    def run(self, require_writable: Callable[[], None] | None) -> RestoredGroups:
        """Look, and change what is due once this check passes. None means that nothing may be written."""
        self.progress.step("looking at groups")
        cluster = self.kafka.describe_cluster()
        self.options.check_cluster(cluster.cluster_id)
        found, lacking = self._check_rights(foresee(self.kafka, cluster, self.options))
        if require_writable is None or not (found.due or found.due_transactions):
            return found.results
        require_writable()
        with ClusterJournal(self.kafka, cluster, self.options.journal).open(self.progress) as journal:
            done = self._change(lambda: foresee(self.kafka, cluster, self.options).without(lacking), cluster, journal)
        return replace(done, run_notes=(*found.results.run_notes, *journal.notes))

    def _check_rights(self, found: Foreseen) -> tuple[Foreseen, Lacking]:
        """Take what our principal may not do for failed, and note how to grant it. A look that writes nothing notes it.

        Raises GroupRightsError if our principal may do nothing of what is due.
        """
        of_end = {*WOULD_END, *(() if self.options.apply else (TransactionStatus.HANGING,))}
        ends = any(each.status in of_end for each in found.results.transactions)
        topic = self.options.journal.topic
        lacking = find_lacking(self.kafka, found.groups.present.coordinators, found.due, topic, ends=ends)
        if not lacking.commands:
            return found, lacking
        if self.options.apply:
            found = found.without(lacking)
            if lacking.cannot_write or not (found.due or found.due_transactions):
                commands = "\n".join(lacking.commands)
                raise GroupRightsError(
                    f"our principal lacks ACLs, and nothing was written. Let an administrator run:\n{commands}"
                )
        note = f"our principal lacks ACLs to carry this out. Let an administrator run: {' ; '.join(lacking.commands)}"
        return replace(found, results=replace(found.results, run_notes=(note,))), lacking

    def _change(self, look: Callable[[], Foreseen], cluster: Cluster, journal: Journal) -> RestoredGroups:
        """Look again. End and commit what is due. What was before is on the disk first."""
        found = look()
        transactions = found.due_transactions
        place = f"{self.options.undo_file}.transactions"
        transactions_file = write_transactions_file(place, transactions) if transactions else None
        why_stopped = partial(_why_stopped, journal, self.stop)
        writer, ended = MarkerWriter(self.kafka, cluster, found.transactions, why_stopped), list[EndOutcome]()
        for each in transactions:
            self.progress.step(f"ending a transaction in {each.topic_partition}", len(ended), len(transactions))
            ended.append(writer.end(each))
        outcomes = _merge(found.results.transactions, ended, _OF_TRANSACTION)
        if self.options.given is None and any(each.status in ENDED for each in ended):
            of_all = found.results.plan.transactions
            found = look()
            plan = replace(found.results.plan, transactions=of_all)
            found = replace(found, results=replace(found.results, plan=plan, transactions=outcomes))
        steps = found.due
        consumers = [each for each in steps if each.group not in found.groups.present.share]
        undo_file = write_undo_file(self.options.undo_file, consumers) if consumers else None
        shares = [each for each in steps if each.group in found.groups.present.share]
        share_file = write_undo_file(f"{self.options.undo_file}.share-groups", shares) if shares else None
        committer, done = Committer(self.kafka, cluster, found.groups, why_stopped), list[CommitOutcome]()
        for group, of_group in groupby(steps, key=lambda each: each.group):
            self.progress.step(f"committing for group {group}", len(done), len(steps))
            done += committer.commit(group, [*of_group])
        return replace(
            found.results,
            outcomes=_merge(found.results.outcomes, done, _OF_COMMIT),
            transactions=outcomes,
            undo_file=undo_file,
            share_undo_file=share_file,
            transactions_file=transactions_file,
        )


def _why_stopped(journal: Journal, stop: threading.Event) -> str:
    """Return why nothing more may be written; empty if it may."""
    if stop.is_set():
        return "the run was asked to stop"
    try:
        journal.require_lock()
    except JournalError as error:
        return str(error)
    return ""


def _merge(
    foreseen: Sequence[_Outcome], done: Sequence[_Outcome], key: Callable[[_Outcome], Hashable]
) -> tuple[_Outcome, ...]:
    """Return the outcomes, in the order of the plan, with those that were changed."""
    by_key = {key(each): each for each in done}
    return tuple(by_key.get(key(each), each) for each in foreseen)
