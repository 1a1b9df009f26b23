# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decide where a group continues after an unclean election. Pure; standard library only.

It continues where the log that it has read and the present one diverge (divergence.py), if that is before its committed
offset: then it reads all records that it has not read. Where that is in doubt, nothing is decided without the
operator's word.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from .._model.partition import TopicPartition
from .divergence import CommitFields, HoldsTo, PresentLog, hold_present, hold_saved
from .plan import Choice, CommitNeed, CommitStep

_NAME_IT = "name the group in overwrite_groups"
LEAVE_OUT = f"To do without it, {_NAME_IT}"


@dataclass(frozen=True, slots=True)
class Since:
    """What clients, operators or Kafka did with a committed offset since the election."""

    what: str
    is_known: bool = True
    """False if it may also be that they did nothing."""


class CommitDecision(NamedTuple):
    """How to change a committed offset."""

    step: CommitStep | None = None
    """None if it is right, or in doubt."""
    doubt: str = ""
    """Why it is in doubt, and what to do. Empty if it is not."""


def decide_commit(  # noqa: PLR0917 - what is known of one committed offset
    group: str,
    name: TopicPartition,
    now: CommitFields | None,
    saved: CommitFields | None,
    log: PresentLog,
    since: Since | None = None,
    *,
    overwrites: bool = False,
    unsettled: int = -1,
) -> CommitDecision:
    """Return how to change a committed offset.

    ``unsettled`` is one that the salvage has in a transaction of unknown outcome.

    What was done ``since`` is not undone by a saved offset, unless the operator ``overwrites`` it. An offset that does
    not hold for the log is changed all the same. What is in doubt is changed only if the operator ``overwrites`` it.
    """
    if unsettled > (-1 if now is None else now.offset) and since is None and not overwrites:
        doubt = f"the salvage has a commit at {unsettled} in a transaction whose outcome is not known. {LEAVE_OUT}"
        return CommitDecision(None, doubt)
    kept, need, doubt = _judge(now, log, trusts=overwrites) if now is not None else (None, None, "")
    target, why = None if kept is None else kept.offset, _explain(now, need, kept, log)
    epoch, metadata, uses_saved = -1, "", False
    if saved is not None and (since is None or overwrites or need is None):
        held, before = hold_saved(saved, log), -1 if target is None else target
        if _is_in_doubt(saved, held, log, before) and since is None and not overwrites:
            return CommitDecision(None, _doubt_saved(saved, held, log))
        offset = _clip(held.offset, log)
        if offset > before:
            need, doubt = need or CommitNeed.WENT_BACK, ""
            target, uses_saved = offset, True
            if offset == saved.offset:
                epoch, metadata, why = saved.leader_epoch, saved.metadata, "the salvage has this commit"
            else:
                why = (
                    f"the salvage has a commit at {saved.offset}; the present log has the records that the group has "
                    f"read only up to {offset}"
                )
    if doubt or need is None or target is None or (now is not None and target == now.offset):
        return CommitDecision(None, doubt)
    step = _step(group, name, now, saved, log, need=need, target=target, why=why, epoch=epoch, metadata=metadata)
    return CommitDecision(choose(step, since, overwrites=overwrites) if uses_saved else step)


def choose(step: CommitStep, since: Since | None, *, overwrites: bool) -> CommitStep:
    """Return the step with the choice between the saved offset and what was done since."""
    if since is None:
        return step
    choice = Choice.OVERWRITE if overwrites else Choice.LEAVE_ALONE
    return replace(step, choice=choice, reason=f"{since.what}; {step.reason}")


def decide_share_start(
    group: str,
    name: TopicPartition,
    now: CommitFields | None,
    saved: CommitFields | None,
    log: PresentLog,
    *,
    overwrites: bool = False,
) -> CommitDecision:
    """Return how to change where a share group starts.

    A higher one that is saved is for a start offset that went back, unless the group has done more since (share.py).
    Without any, the group gets no records: then it starts at the saved offset, or else at the log start, and gets
    records again rather than none. One in doubt is for the operator to choose (``overwrites``).
    """
    held = None if saved is None else hold_saved(saved, log)
    if now is not None:
        decision = decide_commit(group, name, now, None, log)
        if decision.step is not None and decision.step.need is CommitNeed.BEYOND_END:
            return decision
    # A broker itself begins at the log start.
    before = -1 if now is None else max(now.offset, log.start)
    if saved is not None and held is not None and not overwrites and _is_in_doubt(saved, held, log, before):
        return CommitDecision(None, _doubt_saved(saved, held, log))
    target = log.start if held is None else _clip(held.offset, log)
    if now is not None:
        if target <= before:
            return CommitDecision()
        need, why = CommitNeed.WENT_BACK, "the salvage says which records it had done"
    else:
        again = "it gets all records again" if held is None else "the salvage says which records it had not done"
        need, why = CommitNeed.NO_STATE, f"this share group has no start offset here, and gets no records: {again}"
    return CommitDecision(_step(group, name, now, saved, log, need=need, target=target, why=why))


def _step(
    group: str,
    name: TopicPartition,
    now: CommitFields | None,
    saved: CommitFields | None,
    log: PresentLog,
    *,
    need: CommitNeed,
    target: int,
    why: str,
    epoch: int = -1,
    metadata: str = "",
) -> CommitStep:
    return CommitStep(
        group=group,
        topic=name.topic,
        partition=name.partition,
        topic_id=log.topic_id,
        leader_epoch=log.leader_epoch,
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


def _judge(now: CommitFields, log: PresentLog, *, trusts: bool) -> tuple[HoldsTo, CommitNeed | None, str]:
    """Return up to where the present commit holds, what is wrong with it, and why that is in doubt.

    The offset is one of the log. With ``trusts``, nothing is in doubt.
    """
    if now.offset < log.start:
        return HoldsTo(log.start), CommitNeed.BELOW_START, ""
    held = hold_present(now, log)
    place = held._replace(offset=_clip(held.offset, log))
    if held.doubt and not trusts:
        return HoldsTo(now.offset), None, f"{held.doubt}. To set it to {place.offset}, {_NAME_IT}"
    if now.offset > log.end:
        return place, CommitNeed.BEYOND_END, ""
    return place, CommitNeed.OTHER_RECORDS if place.offset < now.offset else None, ""


def _is_in_doubt(saved: CommitFields, held: HoldsTo, log: PresentLog, before: int) -> bool:
    """Return whether a saved commit may be further than ``before``, and it is not known up to where it holds."""
    return bool(held.doubt) and min(saved.offset, log.end) > before


def _doubt_saved(saved: CommitFields, held: HoldsTo, log: PresentLog) -> str:
    target = _clip(held.offset, log)
    return f"the salvage has a commit at {saved.offset}, but {held.doubt}. To set it to {target}, {_NAME_IT}"


def _clip(offset: int, log: PresentLog) -> int:
    return max(log.start, min(offset, log.end))


def _explain(now: CommitFields | None, need: CommitNeed | None, held: HoldsTo | None, log: PresentLog) -> str:
    if now is None or need is None or held is None:
        return ""
    if need is CommitNeed.BELOW_START:
        return f"{log.start - now.offset} before the log start; its consumers would be reset by auto.offset.reset"
    if need is CommitNeed.OTHER_RECORDS:
        return f"the records before {now.offset} are others than those that the group has read"
    return f"{now.offset - log.end} beyond the log end; {held.how}"
