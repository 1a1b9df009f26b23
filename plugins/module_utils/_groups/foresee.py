# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Make or take the plan for groups, and say what of it is due in the cluster as it is now. Only reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from .._documents.reviewed_plan import require_own_cluster
from .._kafka.cluster import Cluster
from .._kafka.groups import Commit
from .._kafka.hidden_topics import find_hidden_topics
from .._kafka.offset_records import CommitLog, SavedCommits
from .._kafka.port import Kafka
from .._model.partition import OFFSETS_TOPIC, TopicPartition, grouped
from .._model.reasons import join_first, name_brokers
from .._model.run import utc_now
from .end import foresee_end
from .give_back import foresee_commit
from .hanging import TransactionLook, look_at_transactions
from .look import GroupLook, look_at_groups
from .options import GroupOptions
from .plan import (
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
from .results import RestoredGroups
from .rights import Lacking


@dataclass(frozen=True, slots=True)
class Foreseen:
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

    def without(self, lacking: Lacking) -> Foreseen:
        """Return the same with what our principal may not do as failed."""

        def of_commit(step: CommitStep, found: CommitOutcome) -> CommitOutcome:
            why = lacking.why_not(step) if found.status is CommitStatus.WOULD_GIVE_BACK else ""
            return commit_outcome(step, CommitStatus.FAILED, why) if why else found

        def of_end(step: TransactionStep, found: EndOutcome) -> EndOutcome:
            if found.status not in WOULD_END or not lacking.cannot_end:
                return found
            return end_outcome(step, TransactionStatus.FAILED, "our principal needs ALTER on the cluster")

        plan, results = self.results.plan, self.results
        outcomes = tuple(map(of_commit, plan.commits, results.outcomes))
        transactions = tuple(map(of_end, plan.transactions, results.transactions))
        return replace(self, results=replace(results, outcomes=outcomes, transactions=transactions))


def foresee(kafka: Kafka, cluster: Cluster, options: GroupOptions) -> Foreseen:
    """Look, and compare the cluster with the plan. Raises DocumentError if the plan is of another cluster."""
    given, is_allowed = options.given, options.may_abort
    if given is not None:
        require_own_cluster(given, cluster.cluster_id, options.plan_file)
        plan, (groups, transactions) = given, _look_at_planned(kafka, cluster, given)
    else:
        plan, groups, transactions = _make_plan(kafka, cluster, options)
    results = RestoredGroups(
        plan=plan,
        outcomes=tuple(foresee_commit(step, groups, is_reviewed=given is not None) for step in plan.commits),
        transactions=tuple(foresee_end(step, transactions, is_allowed=is_allowed) for step in plan.transactions),
    )
    return Foreseen(groups, transactions, results)


def _look_at_planned(kafka: Kafka, cluster: Cluster, given: GroupPlan) -> tuple[GroupLook, TransactionLook]:
    names = {each.group for each in given.commits}
    # The targets are passed so that the logs of groups without a present commit are read, too.
    targets = {
        (each.group, each.topic_partition): Commit(each.target, each.leader_epoch, topic_id=each.topic_id)
        for each in given.commits
    }
    ends = {each.partition: CommitLog(each.offset) for each in given.read_to}
    saved = SavedCommits(commits=targets, commit_logs=ends)
    groups = look_at_groups(kafka, cluster, names, saved, asks_controllers=False)
    places = {each.topic_partition for each in given.transactions}
    return groups, look_at_transactions(kafka, cluster, groups.leaders, places)


def _make_plan(kafka: Kafka, cluster: Cluster, options: GroupOptions) -> tuple[GroupPlan, GroupLook, TransactionLook]:
    saved = options.saved
    groups = look_at_groups(
        kafka,
        cluster,
        options.groups,
        saved,
        beyond_end_time=options.beyond_end_time,
        overwrite=options.overwrite_groups,
    )
    markers = {
        place: marker._replace(first_lost=log.first_lost)
        for place, marker in groups.lost.markers.items()
        if (log := groups.logs.get(place[0])) is not None and log.first_lost is not None
    }
    transactions = look_at_transactions(kafka, cluster, groups.leaders, None, groups.offline, markers)
    plan = GroupPlan(
        cluster_id=cluster.cluster_id,
        created_at=utc_now(),
        salvage_ids=saved.salvage_ids,
        commits=tuple(groups.steps),
        read_to=tuple(_find_ends(saved, groups)),
        transactions=tuple(transactions.steps),
        unknown=(*groups.unknown, *transactions.unknown, *_find_hidden(kafka, cluster, groups)),
        notes=tuple(groups.notes),
    )
    return plan, groups, transactions


def _find_ends(saved: SavedCommits, groups: GroupLook) -> Iterator[OffsetsEnd]:
    """Yield up to where __consumer_offsets was read at the latest: what is written after that is newer."""
    for number in sorted(saved.commit_logs):
        if (log := groups.logs.get(TopicPartition(OFFSETS_TOPIC, number))) is not None:
            yield OffsetsEnd(number, log.end)


def _find_hidden(kafka: Kafka, cluster: Cluster, groups: GroupLook) -> Iterator[UnknownCommits]:
    """Yield what Kafka leaves out without an error: commits and transactions of topics that we may not see.

    Without DESCRIBE on the cluster, it also leaves out groups that we may not see.
    """
    hidden = find_hidden_topics(kafka, cluster.unfenced, {each.topic for each in groups.leaders})
    if hidden.names:
        names = join_first(hidden.names)
        yield UnknownCommits((), f"topics that are hidden from us: {names}. Grant DESCRIBE on them")
    for error, brokers in grouped((error, broker_id) for broker_id, error in hidden.unknown.items()).items():
        yield UnknownCommits((), f"which groups and topics of {name_brokers(brokers)} are hidden from us: {error}")
