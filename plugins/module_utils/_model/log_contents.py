# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compare the contents of logs, as stretches: ranges of offsets with one leader epoch. Pure; standard library only.

If two logs have the same epoch at an offset, they have the same record there, and the same records before it (Raft's
log matching property, in Kafka since KIP-101 and KIP-279). So logs are compared by stretches, never by offsets alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, NamedTuple, Protocol, TypeAlias

from .fields import LeaderEpoch, Meta, Offset
from .partition import EpochEnd, TopicPartition, grouped


class EpochRange(NamedTuple):
    """The records of one leader epoch from ``start_offset``, inclusive, to ``end_offset``, exclusive.

    A tuple, because forecasts create and compare many of them.
    """

    epoch: LeaderEpoch
    start_offset: Offset
    end_offset: Offset

    @property
    def records(self) -> int:
        """Return the number of offsets, including those of transaction markers and of compacted records."""
        return self.end_offset - self.start_offset

    @property
    def offsets(self) -> str:
        return offset_range(self.start_offset, self.end_offset)


UNKNOWN_EPOCH = -1
"""The epoch of records whose leader epoch is unknown, or that have none."""


def offset_range(start: int, end: int, form: str = "") -> str:
    """Return the first and the last offset as text: "100 to 349", or "15" if there is only one.

    ``end`` is the offset after the last one. ``form`` is a Python number format.
    """
    return f"{start:{form}}" if end == start + 1 else f"{start:{form}} to {end - 1:{form}}"


Stretches: TypeAlias = Annotated[
    tuple[
        Annotated[
            EpochRange,
            Meta(
                description=(
                    "a stretch is a list of three: the leader epoch, its first offset, and the one after its last"
                ),
            ),
        ],
        ...,
    ],
    Meta(description="what is lost is a list of stretches"),
]
"""In order of epoch, then offset. None is empty, and none of the same epoch overlap."""


@dataclass(frozen=True, slots=True)
class Tail:
    """The records of one partition that a live replica holds, and that the designated leader does not hold."""

    partition: TopicPartition
    topic_id: str
    broker_id: int
    lost: Stretches
    reused_epochs: tuple[int, ...] = ()
    """Leader epochs of it that two leaders had: the designated leader may hold other records of them."""


SaveTails: TypeAlias = Callable[[Sequence[Tail]], Mapping[TopicPartition, str]]
"""Saves tails. Returns the partitions that must not be elected because their tails could not be saved, and why."""


class Log(Protocol):
    """One log's offsets, and its leader epochs, oldest first."""

    @property
    def log_start_offset(self) -> int: ...
    @property
    def log_end_offset(self) -> int: ...
    @property
    def lineage(self) -> tuple[EpochEnd, ...]: ...


class LogExtent(NamedTuple):
    """What comparisons read of a log."""

    log_start_offset: int
    log_end_offset: int
    lineage: tuple[EpochEnd, ...]


@dataclass(frozen=True, slots=True)
class LogDifference:
    """The records of one log that another log lacks."""

    lost: Stretches
    """The records that the other log never had."""
    divergence_offset: int | None
    """The offset from which the two logs differ. None if they share no epoch."""
    earlier: Stretches
    """Records before the other log's start offset. It may have had them before they were deleted there."""


def stretches_with_epochs(log: Log) -> Stretches:
    """Return the records of the log that have a leader epoch."""
    start, found = log.log_start_offset, []
    for epoch, end in log.lineage:
        if end > start:
            found.append(EpochRange(epoch, start, end))
            start = end
    return tuple(found)


def all_stretches(log: Log) -> Stretches | None:
    """Return all records of the log. None if its epochs do not cover it: it cannot be compared with other logs.

    Kafka writes an epoch with every record since 0.11. Older segments have none.
    """
    return stretches_with_epochs(log) if has_all_epochs(log) else None


def has_all_epochs(log: Log) -> bool:
    """Return whether the epochs of a log cover its records, so that it can be compared with other logs."""
    newest = log.lineage[-1].end_offset if log.lineage else 0
    return max(newest, log.log_start_offset) == log.log_end_offset


def records_beyond(one: Log, other: Log) -> Stretches:
    """Return the records of ``other`` after the end of ``one``, which certainly lacks them, whatever the epochs are."""
    start = max(one.log_end_offset, other.log_start_offset)
    known = all_stretches(other)
    if known is not None:
        return from_offset(known, start)
    return (EpochRange(UNKNOWN_EPOCH, start, other.log_end_offset),) if start < other.log_end_offset else ()


def from_offset(stretches: Stretches, offset: int) -> Stretches:
    """Return the records at ``offset`` and after it."""
    return tuple(
        [
            each if each.start_offset >= offset else EpochRange(each.epoch, offset, each.end_offset)
            for each in stretches
            if each.end_offset > offset
        ]
    )


def before_offset(stretches: Stretches, offset: int) -> Stretches:
    """Return the records before ``offset``."""
    return tuple(
        [
            each if each.end_offset <= offset else EpochRange(each.epoch, each.start_offset, offset)
            for each in stretches
            if each.start_offset < offset
        ]
    )


def subtract(stretches: Stretches, held: Iterable[EpochRange]) -> Stretches:
    """Return the records that are not in ``held``, which may be in any order, and may overlap."""
    by_epoch = grouped((each.epoch, each) for each in held)
    left: list[EpochRange] = []
    for each in stretches:
        epoch, start, end = each
        same = by_epoch.get(epoch)
        if same is None:
            left.append(each)
            continue
        for _epoch, held_start, held_end in same if len(same) == 1 else sorted(same):
            if start < held_start and start < end:
                left.append(EpochRange(epoch, start, min(end, held_start)))
            start = max(start, held_end)
        if start < end:
            left.append(EpochRange(epoch, start, end))
    return tuple(left)


def intersect(one: Iterable[EpochRange], other: Stretches) -> Stretches:
    """Return the records that are in both. ``one`` may be in any order, and may overlap."""
    found = []
    for run in one:
        for each in other:
            start, end = max(run.start_offset, each.start_offset), min(run.end_offset, each.end_offset)
            if run.epoch == each.epoch and start < end:
                found.append(EpochRange(run.epoch, start, end))
    return union([found])


def union(parts: Iterable[Iterable[EpochRange]]) -> Stretches:
    """Merge ranges in any order: return each record once."""
    merged: list[EpochRange] = []
    for each in sorted(chain.from_iterable(parts)):
        last = merged[-1] if merged else None
        if last and last.epoch == each.epoch and each.start_offset <= last.end_offset:
            merged[-1] = EpochRange(each.epoch, last.start_offset, max(last.end_offset, each.end_offset))
        else:
            merged.append(each)
    return tuple(merged)


def records_in(stretches: Stretches) -> int:
    return sum([end - start for _epoch, start, end in stretches])


def divergence_offset(one: Stretches, other: Stretches) -> int | None:
    """Return the offset from which two logs differ. Kafka truncates either log to it when the other one leads.

    It is the lower end offset of the newest epoch that both logs have. None if they share no epoch.
    """
    ends = {each.epoch: each.end_offset for each in one}
    shared = [min(each.end_offset, ends[each.epoch]) for each in other if each.epoch in ends]
    return max(shared, default=None)


def first_reused_offset(one: Stretches, batches: Iterable[EpochRange]) -> int | None:
    """Return the first offset at which two logs differ although both have a later epoch; None if there is none.

    This breaks the rule by which logs are compared: after the controllers lost the newest part of their metadata, they
    gave the same epochs to other leaders. ``batches`` are those that were read of the other log. Where an epoch of the
    first log begins, it has a batch, but for the first epoch, which may be cut off.
    """
    others = sorted(batches, key=lambda each: each.start_offset)
    shared = max({each.epoch for each in one} & {each.epoch for each in others}, default=UNKNOWN_EPOCH)
    for epoch, start, _end in one[1:]:
        if any(
            each.start_offset <= start < each.end_offset and each.epoch != epoch and shared >= max(epoch, each.epoch)
            for each in others
        ):
            return start
    return None


def compare_logs(one: Log, mine: Stretches, theirs: Stretches) -> LogDifference:
    """Find the records of ``theirs``, another log, that ``one`` lacks. ``mine`` are the records of ``one``."""
    if all(each.start_offset >= one.log_start_offset for each in theirs):
        # A shortcut for the usual case.
        return LogDifference(union([subtract(theirs, mine)]), divergence_offset(mine, theirs), ())
    before_start = before_offset(theirs, one.log_start_offset)
    never_held = never_held_before_start(one, before_start)
    return LogDifference(
        union([never_held, subtract(from_offset(theirs, one.log_start_offset), mine)]),
        divergence_offset(mine, theirs),
        subtract(before_start, never_held),
    )


def never_held_before_start(one: Log, earlier: Stretches) -> Stretches:
    """Return the records before its log start offset that a log never had: those of epochs after its oldest epoch.

    Epochs never decrease along a log. If the two logs share an epoch, this log had the other records.
    """
    return tuple(each for each in earlier if one.lineage and each.epoch > one.lineage[0].epoch)
