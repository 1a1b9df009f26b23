# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rank the replicas of one partition by what they hold, and explain the rank of each.

Pure; standard library only. ``sort_keys`` has the order, for Spark too. This process and the check before an election
rank by this file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Annotated, NamedTuple, TypeAlias

from .._model.fields import INT32_MAX, BrokerId, LeaderEpoch, Meta, Offset, SizeBytes
from .._model.log_contents import from_offset, has_all_epochs, offset_range, stretches_with_epochs, subtract
from .._model.partition import LOST_LOG_DIR, Cause, EpochEnd
from .._model.reasons import named
from .sort_keys import python_order


class Flag(StrEnum):
    """A warning about a candidate."""

    EMPTY_LOG = "empty_log"
    """The log end offset is 0: electing it empties the partition."""
    GAP = "gap"
    """Its log end offset lies below another candidate's log start offset: the records between are on neither."""
    FUTURE_REPLICA = "future_replica"
    """The replica is being moved to another log directory; only its current log was ranked."""
    FENCED = "fenced"
    """The replica answered, but the controller fences its broker, so that it cannot be elected now."""
    DIVERGED = "diverged"
    """Its lineage is not a prefix of the best candidate's: it holds records that the best candidate does not hold."""
    LOCAL_ONLY = "local_only"
    """The topic is tiered: the replica was ranked by what is on its own disk. Older records may be only in the tier."""
    NOT_COMPARABLE = "not_comparable"
    """Its log holds records whose leader epochs are unknown: what it holds cannot be compared with other logs."""


Lineage: TypeAlias = Annotated[
    tuple[
        Annotated[
            EpochEnd,
            Meta(
                description=(
                    "an epoch of the log is a list of two: the leader epoch, and the offset after its last record"
                ),
            ),
        ],
        ...,
    ],
    Meta(description="a lineage is a list of leader epochs with their end offsets, oldest first"),
]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A replica that answered, with its rank. Offsets are record offsets, sizes are in bytes."""

    broker_id: BrokerId
    rank: Annotated[int, Meta("a rank", minimum=1, maximum=INT32_MAX)]
    """1 is the best. ``rank_logs`` defines the order."""
    last_written_epoch: LeaderEpoch | None
    """None for a log without records: it ranks behind every log that has an epoch."""
    log_start_offset: Offset
    log_end_offset: Offset
    lineage: Lineage
    size_bytes: SizeBytes | None
    flags: Annotated[tuple[Flag, ...], Meta(description="flags are a list")]
    explanation: str
    """Why it has this rank, in words."""
    local_log_start_offset: Offset | None = None
    """The first offset on the replica's own disk, for a tiered topic. None if unknown, and for other topics."""
    last_tiered_offset: Offset | None = None
    """The last offset that this broker knows to be in the tier, for a tiered topic."""
    reused_epochs: Annotated[tuple[LeaderEpoch, ...], Meta(description="reused epochs are a list")] = ()
    """Leader epochs that were given to two leaders: its records of them are others than those of rank 1."""


@dataclass(frozen=True, slots=True)
class SilentReplica:
    """A replica that did not answer, and the cause."""

    broker_id: BrokerId
    cause: Cause
    error: str

    @property
    def is_on_lost_dir(self) -> bool:
        """Return whether its broker runs, and only the replica's log directory is lost."""
        return self.cause is Cause.GIVEN_UP and self.error.startswith(LOST_LOG_DIR)


SilentReplicas: TypeAlias = Annotated[tuple[SilentReplica, ...], Meta(description="the silent replicas are a list")]


class AnsweredLog(NamedTuple):
    """The values of a replica that answered which decide its rank and flags. Offsets are record offsets."""

    broker_id: int
    place: int
    """In the partition's replica list, from 0."""
    last_written_epoch: int | None
    """None for a log without records."""
    log_start_offset: int
    log_end_offset: int
    lineage: tuple[EpochEnd, ...]
    local_log_start_offset: int | None
    """The first offset on the replica's own disk, for a tiered topic. None if unknown, and for other topics."""
    is_fenced: bool
    is_future: bool
    """A future replica exists too. Its log is never ranked."""
    is_tiered: bool


class RankedLog(NamedTuple):
    """A replica that answered, with its flags. Its rank is its position in the list that ``rank_logs`` returns."""

    log: AnsweredLog
    flags: tuple[Flag, ...]
    """In the order of ``Flag``."""


_ORDER = python_order()


def rank_logs(logs: Iterable[AnsweredLog]) -> list[RankedLog]:
    """Return the logs of one partition, best first.

    ``sort_keys.RANKING`` is the order: the newest leader epoch that was written, then the longest log, then the most on
    the own disk, then the first log start, then the first place in the replica list.
    """
    ordered = sorted(logs, key=_ORDER)
    if not ordered:
        return []
    best, latest_start = ordered[0], max(log.log_start_offset for log in ordered)
    return [RankedLog(log, _find_flags(log, best, latest_start)) for log in ordered]


def _find_flags(log: AnsweredLog, best: AnsweredLog, latest_start: int) -> tuple[Flag, ...]:
    # A tuple in the order of the enum: iterating over the enum would take longer than the whole function.
    conditions = (
        (Flag.EMPTY_LOG, log.log_end_offset == 0),
        (Flag.GAP, log.log_end_offset < latest_start),
        (Flag.FUTURE_REPLICA, log.is_future),
        (Flag.FENCED, log.is_fenced),
        (Flag.DIVERGED, _is_diverged(log, best)),
        (Flag.LOCAL_ONLY, log.is_tiered),
        (Flag.NOT_COMPARABLE, not has_all_epochs(log)),
    )
    return tuple([flag for flag, holds in conditions if holds])


def _is_diverged(log: AnsweredLog, best: AnsweredLog) -> bool:
    """Return whether this log holds records, from the best log's start offset on, that the best log does not hold.

    Two logs hold the same record at an offset if its epoch is the same in both (Raft's log matching, KIP-101). So
    comparing stretches compares records. Records that only retention deleted from the best log are no divergence.
    """
    if log is best or (log.lineage == best.lineage and log.log_start_offset >= best.log_start_offset):
        return False  # true for most replicas, and faster than comparing stretches
    return bool(subtract(from_offset(stretches_with_epochs(log), best.log_start_offset), stretches_with_epochs(best)))


class Standing(NamedTuple):
    """The values of a candidate that ``explain_ranks`` puts into words."""

    broker_id: int
    last_written_epoch: int | None
    log_start_offset: int
    log_end_offset: int
    flags: tuple[Flag, ...]
    local_log_start_offset: int | None = None


def explain_ranks(standings: Sequence[Standing]) -> list[str]:
    """Return an explanation for each candidate of a partition. ``standings`` are best first.

    Each candidate is compared with the one directly ahead of it.
    """
    if not standings:
        return []
    reasons = [_explain_first(standings), *(_explain_next(one, ahead) for ahead, one in pairwise(standings))]
    return [
        "; ".join([f"rank {rank}: {reason}", *(_explain_flag(flag, one, standings) for flag in one.flags)])
        for rank, (reason, one) in enumerate(zip(reasons, standings, strict=True), start=1)
    ]


def _explain_first(standings: Sequence[Standing]) -> str:
    first = standings[0]
    end = f"log end offset {first.log_end_offset}"
    if len(standings) == 1:
        return f"the only replica that answered; {_epoch_in_words(first)}, {end}"
    second = standings[1]
    epoch = (
        "no log holds a leader epoch"
        if first.last_written_epoch is None
        else f"{_epoch_in_words(first)} is the highest"
    )
    if first.last_written_epoch != second.last_written_epoch:
        return f"{epoch}, {end}"
    if first.log_end_offset != second.log_end_offset:
        return f"{epoch}, and {end} the highest of the logs that share it"
    if earlier := _find_earlier_start(first, second):
        what, start, other = earlier
        return (
            f"{epoch}, {end}, as broker {second.broker_id}, but its {what} has more: from offset {start} on, and not "
            f"only from {other} on"
        )
    equals = " and ".join(
        f"broker {other.broker_id}" for other in standings[1:] if _compared_values(other) == _compared_values(first)
    )
    return f"{epoch}, {end}; equal to {equals}, but first in the replica list"


def _explain_next(one: Standing, ahead: Standing) -> str:
    other = f"broker {ahead.broker_id}"
    if one.last_written_epoch != ahead.last_written_epoch:
        if one.last_written_epoch is None:
            reason = f"no leader epoch, and {other} has epoch {ahead.last_written_epoch}"
        else:
            reason = f"last written epoch {one.last_written_epoch} < {ahead.last_written_epoch} of {other}"
        if one.log_end_offset > ahead.log_end_offset:
            reason += f", although its log is longer ({one.log_end_offset} > {ahead.log_end_offset})"
        return reason
    if one.log_end_offset != ahead.log_end_offset:
        return f"{_epoch_in_words(one)} as {other}, but a shorter log ({one.log_end_offset} < {ahead.log_end_offset})"
    if earlier := _find_earlier_start(ahead, one):
        what, _start, start = earlier
        return (
            f"{_epoch_in_words(one)} and log end offset {one.log_end_offset} as {other}, but its {what} has less: only "
            f"from offset {start} on"
        )
    return (
        f"equal to {other} ({_epoch_in_words(one)}, log end offset {one.log_end_offset}), but later in the replica list"
    )


def _find_earlier_start(one: Standing, other: Standing) -> tuple[str, int, str] | None:
    """Return what of the first log starts before that of the other one, and both starts. None if nothing does.

    Only logs of tiered topics may have less on their own disk than in all.
    """
    start, others = one.local_log_start_offset, other.local_log_start_offset
    if start is not None and (others is None or start < others):
        return "own disk", start, _local_start_in_words(other)
    if start == others and one.log_start_offset < other.log_start_offset:
        return "log", one.log_start_offset, str(other.log_start_offset)
    return None


def _local_start_in_words(one: Standing) -> str:
    return "an unknown offset" if one.local_log_start_offset is None else str(one.local_log_start_offset)


def _explain_flag(flag: Flag, one: Standing, standings: Sequence[Standing]) -> str:
    match flag:
        case Flag.EMPTY_LOG:
            return "its log is empty: electing it empties the partition"
        case Flag.GAP:
            latest = max(standings, key=lambda other: other.log_start_offset)
            return (
                f"its log ends at {one.log_end_offset}, before broker {latest.broker_id}'s starts at "
                f"{latest.log_start_offset}: the records between are on neither"
            )
        case Flag.FUTURE_REPLICA:
            return "a log-dir move is running on it: only its current log was ranked"
        case Flag.FENCED:
            return "the controller fences it, so it cannot be elected now"
        case Flag.DIVERGED:
            return f"it holds records that broker {standings[0].broker_id}, rank 1, does not"
        case Flag.LOCAL_ONLY:
            return f"the topic is tiered, and its own disk has offsets from {_local_start_in_words(one)} on only"
        case Flag.NOT_COMPARABLE:
            return (
                f"it holds offsets {offset_range(one.log_start_offset, one.log_end_offset)}, which cannot be compared "
                "with other logs"
            )


def _epoch_in_words(one: Standing) -> str:
    return "no leader epoch" if one.last_written_epoch is None else f"last written epoch {one.last_written_epoch}"


def _compared_values(one: Standing) -> tuple[int | None, ...]:
    return one.last_written_epoch, one.log_end_offset, one.local_log_start_offset, one.log_start_offset


def explain_reused_epochs(candidates: Sequence[Candidate]) -> Iterator[str]:
    """Yield what the epochs of these candidates, best first, mean for an election, one clause for each replica."""
    for each in candidates:
        if each.reused_epochs:
            epochs = named("leader epoch", each.reused_epochs)
            yield (
                f"broker {each.broker_id} holds other records of {epochs} than {candidates[0].broker_id}: "
                "controllers that had lost metadata gave the same epochs again. Kafka does not notice, so one that "
                "follows keeps its own records there: stop it, and move the partition's directory away, so that it "
                "copies the leader's log"
            )
