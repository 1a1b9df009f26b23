# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decide where a group continues after an unclean election. Pure; standard library only.

A commit at offset S means that the group has read the records before S. It holds for the present log up to the offset
at which the log that the group has read and the present one diverge. This is where the leader epoch of the commit ends
in the present log (KIP-320). If a consumer committed no epoch, it is the first offset that the salvage holds and the
leader lacks. The group continues at the smaller of the two: it reads all records that it has not read. If neither is
known, and the offset is beyond the log end, the operator's time decides, or else the log end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from .._model.partition import TopicPartition
from .plan import Choice, CommitNeed, CommitStep


class CommitFields(Protocol):
    """A commit, from the cluster or from a salvage."""

    @property
    def offset(self) -> int: ...
    @property
    def leader_epoch(self) -> int: ...
    @property
    def metadata(self) -> str: ...
    @property
    def topic_id(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class TimeOffset:
    """The first record at a time that the operator names, or after it."""

    time: str
    """In UTC, ISO 8601."""
    offset: int
    """The log end, if there is no such record."""


@dataclass(frozen=True, slots=True)
class PresentLog:
    """The log of a leader."""

    start: int
    end: int
    end_of: Callable[[int], int]
    """Where a leader epoch (>= 0) ends in it: the log end, if the log has no newer epoch."""
    first_lost: int | None = None
    """The first offset that the salvage holds and this log lacks. None if there is none."""
    at_time: TimeOffset | None = None
    """None if the operator names no time."""


@dataclass(frozen=True, slots=True)
class Since:
    """What clients, operators or Kafka did with a committed offset since the election."""

    what: str
    is_known: bool = True
    """False if it may also be that they did nothing."""


def decide_commit(  # noqa: PLR0917 - what is known of one committed offset
    group: str,
    name: TopicPartition,
    now: CommitFields | None,
    saved: CommitFields | None,
    log: PresentLog,
    since: Since | None = None,
    *,
    overwrites: bool = False,
) -> CommitStep | None:
    """Return how to change a committed offset; None if it is right.

    What was done ``since`` is not undone by a saved offset, unless the operator ``overwrites`` it. An offset that does
    not hold for the log is changed all the same.
    """
    kept, need = _judge(now, log) if now is not None else (None, None)
    target, epoch, metadata, why = kept, -1, "", _explain(now, need, log)
    uses_saved = False
    if saved is not None and (since is None or overwrites or need is None):
        held = _still_valid(saved, log)
        if held is not None and held > (-1 if kept is None else kept):
            need = need or CommitNeed.WENT_BACK
            target, uses_saved = held, True
            if held == saved.offset:
                epoch, metadata, why = saved.leader_epoch, saved.metadata, "the salvage has this commit"
            else:
                why = (
                    f"the salvage has a commit at {saved.offset}; the present log has the records that the group has "
                    f"read only up to {held}"
                )
    if need is None or target is None or (now is not None and target == now.offset):
        return None
    step = CommitStep(
        group=group,
        topic=name.topic,
        partition=name.partition,
        need=need,
        committed=None if now is None else now.offset,
        saved=None if saved is None else saved.offset,
        log_start=log.start,
        log_end=log.end,
        target=target,
        target_epoch=epoch,
        target_metadata=metadata,
        choice=Choice.GIVE_BACK,
        reason=why,
    )
    return choose(step, since, overwrites=overwrites) if uses_saved else step


def choose(step: CommitStep, since: Since | None, *, overwrites: bool) -> CommitStep:
    """Return the step with the choice between the saved offset and what was done since."""
    if since is None:
        return step
    choice = Choice.OVERWRITE if overwrites else Choice.LEAVE_ALONE
    return replace(step, choice=choice, reason=f"{since.what}; {step.reason}")


def decide_share_start(
    group: str, name: TopicPartition, now: CommitFields | None, saved: CommitFields | None, log: PresentLog
) -> CommitStep | None:
    """Return how to change where a share group starts; None if it is right.

    A higher one that is saved is for a start offset that went back, unless the group has done more since (share.py).
    Without any, the group gets no records: then it starts at the saved offset, or else at the log start, and gets
    records again rather than none.
    """
    held = None if saved is None else _still_valid(saved, log)
    if now is not None:
        step = decide_commit(group, name, now, None, log)
        if step is not None and step.need is CommitNeed.BEYOND_END:
            return step
        # A broker itself begins at the log start.
        if saved is None or held is None or held <= max(now.offset, log.start):
            return None
        need, why = CommitNeed.WENT_BACK, "the salvage says which records it had done"
    else:
        again = "it gets all records again" if held is None else "the salvage says which records it had not done"
        need, why = CommitNeed.NO_STATE, f"this share group has no start offset here, and gets no records: {again}"
    return CommitStep(
        group=group,
        topic=name.topic,
        partition=name.partition,
        need=need,
        committed=None if now is None else now.offset,
        saved=None if saved is None else saved.offset,
        log_start=log.start,
        log_end=log.end,
        target=log.start if held is None else held,
        target_epoch=-1,
        target_metadata="",
        choice=Choice.GIVE_BACK,
        reason=why,
    )


def find_of_former_topics(
    commits: Mapping[tuple[str, TopicPartition], CommitFields],
    topic_ids: Mapping[str, str],
    leader_epochs: Mapping[TopicPartition, int],
) -> set[tuple[str, TopicPartition]]:
    """Return which saved commits are of a topic that was deleted and created again since, as far as they say it.

    ``topic_ids`` are those of now, by name, and ``leader_epochs`` those of now of partitions that have a leader. The
    leader epochs of a partition only grow, and those of a new topic begin at 0.
    """
    return {
        (group, name)
        for (group, name), each in commits.items()
        if (each.topic_id is not None and topic_ids.get(name.topic, each.topic_id) != each.topic_id)
        or each.leader_epoch > leader_epochs.get(name, each.leader_epoch)
    }


def _judge(now: CommitFields, log: PresentLog) -> tuple[int, CommitNeed | None]:
    """Return up to where the present commit holds for the log, and what is wrong with it."""
    if now.offset < log.start:
        return log.start, CommitNeed.BELOW_START
    if now.offset > log.end:
        cut, _why = _divergence(now, log) or (log.end, "")
        return max(log.start, min(log.end, cut)), CommitNeed.BEYOND_END
    if now.leader_epoch >= 0 and (cut := log.end_of(now.leader_epoch)) < now.offset:
        return max(log.start, cut), CommitNeed.OTHER_RECORDS
    return now.offset, None


def _still_valid(saved: CommitFields, log: PresentLog) -> int | None:
    """Return up to where a saved commit holds for the present log; None if that is unknown."""
    found = _divergence(saved, log)
    if found is None and saved.offset > log.end:
        # The end may be behind records that were written since, and that the group has not read.
        return None
    return max(log.start, min(saved.offset, log.end, log.end if found is None else found[0]))


def _divergence(commit: CommitFields, log: PresentLog) -> tuple[int, str] | None:
    """Return where the log that the group has read and the present one diverge, and how this is known.

    The operator's time is only about offsets beyond the log end.
    """
    if commit.leader_epoch >= 0:
        return log.end_of(commit.leader_epoch), "set to where the logs diverge"
    if log.first_lost is not None:
        return log.first_lost, "set to the first record that the salvage holds and the log lacks"
    if log.at_time is not None and commit.offset > log.end:
        return log.at_time.offset, f"set to the first record at {log.at_time.time} or after, or to the log end"
    return None


def _explain(now: CommitFields | None, need: CommitNeed | None, log: PresentLog) -> str:
    if now is None or need is None:
        return ""
    if need is CommitNeed.BELOW_START:
        return f"{log.start - now.offset} before the log start; its consumers would be reset by auto.offset.reset"
    if need is CommitNeed.OTHER_RECORDS:
        return f"the records before {now.offset} are others than those that the group has read"
    _cut, why = _divergence(now, log) or (log.end, "it has no leader epoch, so it is set to the log end")
    return f"{now.offset - log.end} beyond the log end; {why}"
