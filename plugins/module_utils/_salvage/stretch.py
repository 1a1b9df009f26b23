# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the stretches that a disk holds and the leader lacks. Pure; standard library only."""

from __future__ import annotations

from dataclasses import replace

from .._model.log_contents import (
    UNKNOWN_EPOCH,
    EpochRange,
    LogDifference,
    LogExtent,
    Stretches,
    all_stretches,
    compare_logs,
    first_reused_offset,
    from_offset,
    union,
)
from .._model.partition import EpochEnd, ReplicaLog
from .._model.run import KafkaOpsError


class IncomparableError(KafkaOpsError):
    """Two logs cannot be compared, because one has records without a leader epoch. The message says which one."""


def find_lacking(leader: ReplicaLog, held: Stretches, reused: EpochRange | None = None) -> LogDifference:
    """Find what a disk holds and the leader lacks. The leader must have answered.

    ``held`` is what was read from the disk, as ``union`` returns it. A gap between two stretches counts as
    held: the records were in the log, but cannot be read now. ``reused`` is an epoch of the disk that another
    leader had, too. Raises IncomparableError.
    """
    if leader.log_start_offset is None or leader.log_end_offset is None:
        raise ValueError("the leader has not reported its offsets")
    of_leader = LogExtent(leader.log_start_offset, leader.log_end_offset, leader.lineage)
    mine, theirs = all_stretches(of_leader), all_stretches(_of_disk(held))
    if theirs is None or any(each.epoch == UNKNOWN_EPOCH for each in held):
        raise IncomparableError("the disk has records without a leader epoch")
    if mine is None:
        raise IncomparableError(f"the log of broker {leader.broker_id}, the leader, has records without a leader epoch")
    found = compare_logs(of_leader, mine, theirs)
    starts = [first_reused_offset(mine, held), reused.start_offset if reused else None]
    start = min([each for each in starts if each is not None], default=None)
    if start is None:
        return found
    # The same epochs have other records here and there.
    return replace(found, lost=union([found.lost, from_offset(theirs, start)]), divergence_offset=start)


def fill_gaps(held: Stretches) -> Stretches:
    """Return all offsets that a log had, from what was read of it: gaps between stretches count as held.

    If an epoch is unknown, gaps stay gaps.
    """
    return held if any(each.epoch == UNKNOWN_EPOCH for each in held) else all_stretches(_of_disk(held)) or held


def append_run(runs: list[EpochRange], run: EpochRange) -> None:
    """Append the offsets of a batch. If they follow the last run in its epoch, they are joined with it."""
    last = runs[-1] if runs else None
    if last is not None and (last.epoch, last.end_offset) == (run.epoch, run.start_offset):
        runs[-1] = EpochRange(run.epoch, last.start_offset, run.end_offset)
    else:
        runs.append(run)


def _of_disk(held: Stretches) -> LogExtent:
    ends: dict[int, int] = {}
    for each in held:
        ends[each.epoch] = max(ends.get(each.epoch, 0), each.end_offset)
    lineage = tuple(EpochEnd(epoch, ends[epoch]) for epoch in sorted(ends))
    start = min((each.start_offset for each in held), default=0)
    return LogExtent(start, lineage[-1].end_offset if lineage else start, lineage)
