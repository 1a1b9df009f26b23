# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Commit for groups without members, each offset only if it is still the one of the plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .._kafka.cluster import Cluster
from .._kafka.errors import CallError
from .._kafka.group_commits import has_members
from .._kafka.groups import Commit, GroupCommits
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import SHARE_STATE_TOPIC, TopicPartition
from .decide import Since
from .look import GroupLook
from .plan import Choice, CommitNeed, CommitOutcome, CommitStatus, CommitStep, commit_outcome
from .present import share_commits
from .share import share_states

_COMMITTED_SINCE = "the group has committed since: it stays where it is"


def foresee_commit(step: CommitStep, found: GroupLook, *, is_reviewed: bool = False) -> CommitOutcome:
    """Compare a step with what was found now. ``is_reviewed``: since the plan, not only since the election."""
    if step.choice is Choice.LEAVE_ALONE:
        return commit_outcome(step, CommitStatus.LEFT_ALONE)
    log = found.logs.get(step.topic_partition)
    if step.group not in found.present.answered:
        return commit_outcome(step, CommitStatus.UNKNOWN, "its coordinator did not return its committed offsets")
    now = found.present.commit_of(step.group, step.topic_partition)
    offset = None if now is None else now.offset
    if offset == step.target:
        return commit_outcome(step, CommitStatus.DONE_BEFORE, "the group is already there")
    if offset != step.committed:
        was = _say(step.committed)
        why = f"its committed offset is {_say(offset)} now, and was {was} in the plan: make the plan again"
        return commit_outcome(step, CommitStatus.CHANGED, why)
    if is_reviewed and found.topic_ids.get(step.topic, step.topic_id) != step.topic_id:
        return commit_outcome(step, CommitStatus.CHANGED, "the topic was deleted and created again since the plan")
    since = found.since.get((step.group, step.topic_partition)) if is_reviewed else None
    if since is not None and step.choice is not Choice.OVERWRITE:
        return commit_outcome(step, CommitStatus.CHANGED if since.is_known else CommitStatus.UNKNOWN, since.what)
    if log is None:
        return commit_outcome(step, CommitStatus.UNKNOWN, "the leader did not say where its log starts and ends")
    if is_reviewed and (log.leader_epoch < step.leader_epoch or log.end_of(step.leader_epoch) < step.target):
        why = f"an election since the plan lost records before {step.target}: make the plan again"
        return commit_outcome(step, CommitStatus.CHANGED, why)
    if not log.start <= step.target <= log.end:
        why = f"the log has offsets {log.start} to {log.end} now: make the plan again"
        return commit_outcome(step, CommitStatus.CHANGED, why)
    state = found.present.states.get(step.group, "Dead")
    if has_members(state):
        why = (
            f"the group is {state or 'in an unknown state'}: stop its consumers, and run this again (a static member, "
            "or one that was killed, stays a member until its session times out)"
        )
        return commit_outcome(step, CommitStatus.HAS_MEMBERS, why)
    return commit_outcome(step, CommitStatus.WOULD_GIVE_BACK)


@dataclass(frozen=True, slots=True)
class Committer:
    """Sends commits to the coordinators that a look found."""

    kafka: Kafka
    cluster: Cluster
    found: GroupLook
    why_stopped: Callable[[], str]
    """Returns why nothing more may be written; empty if it may."""

    def commit(self, group: str, steps: Sequence[CommitStep]) -> Iterator[CommitOutcome]:
        """Commit for one group, and read the commits back."""
        if why := self.why_stopped():
            yield from (commit_outcome(each, CommitStatus.STOPPED, why) for each in steps)
            return
        coordinator = self.found.present.coordinators[group]
        try:
            now = self._read(coordinator, group)
            due = [
                each
                for each in steps
                if not now.error and _offset_of(now.commits.get(each.topic_partition)) == each.committed
            ]
            staying = self._staying(group, due)
            due = [each for each in due if each.topic_partition not in staying]
            for each in steps:
                if each not in due:
                    since = staying.get(each.topic_partition)
                    why = now.error or (since.what if since else _COMMITTED_SINCE)
                    yield commit_outcome(each, CommitStatus.UNKNOWN if now.error else CommitStatus.CHANGED, why)
            wanted = {
                each.topic_partition: Commit(each.target, each.target_epoch, each.target_metadata) for each in due
            }
            refused = self._write(coordinator, group, wanted) if wanted else {}
            after = self._read(coordinator, group).commits if wanted else {}
        except CallError as error:
            why = f"{error}; run this again: it changes only what is not yet changed"
            yield from (commit_outcome(each, CommitStatus.FAILED, why) for each in steps)
            return
        for each in due:
            name = each.topic_partition
            problem = refused[name]
            if problem is None and after.get(name) != wanted[name]:
                problem = f"its committed offset is {_say(_offset_of(after.get(name)))} after the request"
            yield commit_outcome(each, CommitStatus.FAILED if problem else CommitStatus.GIVEN_BACK, problem or "")

    def _read(self, coordinator: Address, group: str) -> GroupCommits:
        if group in self.found.present.share:
            return share_commits(self.kafka.share_start_offsets(coordinator, [group])[group])
        return self.kafka.read_commits(coordinator, [group])[group]

    def _staying(self, group: str, steps: Sequence[CommitStep]) -> dict[TopicPartition, Since]:
        """Return why a share group stays in some partitions, by what it has done up to now."""
        back = [
            each
            for each in steps
            if group in self.found.present.share
            and each.need is CommitNeed.WENT_BACK
            and each.choice is Choice.GIVE_BACK
        ]
        if not back:
            return {}
        states = share_states(self.kafka, self.cluster, self.kafka.describe_partitions([SHARE_STATE_TOPIC]).partitions)
        answers = {
            each.topic_partition: states.since((group, self.found.topic_ids[each.topic], each.partition), each.target)
            for each in back
        }
        return {name: since for name, since in answers.items() if since is not None}

    def _write(
        self, coordinator: Address, group: str, wanted: Mapping[TopicPartition, Commit]
    ) -> dict[TopicPartition, str | None]:
        if group in self.found.present.share:
            starts = {name: each.offset for name, each in wanted.items()}
            return self.kafka.set_share_start_offsets(coordinator, group, starts)
        return self.kafka.write_commits(coordinator, group, wanted)


def _say(offset: int | None) -> str:
    return "none" if offset is None else str(offset)


def _offset_of(commit: Commit | None) -> int | None:
    return None if commit is None else commit.offset
