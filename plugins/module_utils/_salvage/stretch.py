# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a disk's log holds that the cluster lacks, as stretches of offsets of one epoch. Pure; standard library only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .._model.log_contents import EpochRange, Lacking, Stretches, stretches_of, union
from .._model.log_contents import lacking as compared
from .._model.partition import EpochEnd, ReplicaLog
from .._model.run import KafkaOpsError

NO_EPOCH = -1
"""The leader epoch of a batch that has none: it was written before Kafka 0.11, and converted since."""


@dataclass(frozen=True, slots=True)
class _Log:
    log_start_offset: int
    log_end_offset: int
    lineage: tuple[EpochEnd, ...]


class IncomparableError(KafkaOpsError):
    """Two logs of which one has records without a leader epoch. The message says which one."""


def lacking(leader: ReplicaLog, held: Stretches) -> Lacking:
    """Compare what a disk holds with the log of the partition's leader, which has answered.

    ``held`` is what was read, in the order of ``merged``. What lies between two of its stretches counts as held: it was
    in the log, whether it can be read or not. Raises IncomparableError.
    """
    if leader.log_start_offset is None or leader.log_end_offset is None:
        raise ValueError("only a leader that reported its offsets can be compared with")
    of_leader = _Log(leader.log_start_offset, leader.log_end_offset, leader.lineage)
    mine, theirs = stretches_of(of_leader), stretches_of(_of_disk(held))
    if theirs is None or any(each.epoch == NO_EPOCH for each in held):
        raise IncomparableError("the disk has records without a leader epoch")
    if mine is None:
        raise IncomparableError(f"the log of broker {leader.broker_id}, the leader, has records without a leader epoch")
    return compared(of_leader, mine, theirs)


def merged(runs: Iterable[EpochRange]) -> Stretches:
    """Merge what follows on one another, in order of epoch, then offset."""
    return union([(each,) for each in runs])


def within(runs: Sequence[EpochRange], wanted: Stretches) -> Stretches:
    """Cut ``runs`` down to what lies in ``wanted``."""
    found = []
    for run in runs:
        for each in wanted:
            start, end = max(run.start_offset, each.start_offset), min(run.end_offset, each.end_offset)
            if run.epoch == each.epoch and start < end:
                found.append(EpochRange(run.epoch, start, end))
    return merged(found)


def minus(wanted: Stretches, runs: Sequence[EpochRange]) -> Stretches:
    """Return what of ``wanted`` lies in none of ``runs``."""
    left = []
    for each in wanted:
        start = each.start_offset
        for run in within(runs, (each,)):
            left.append(EpochRange(each.epoch, start, run.start_offset))
            start = run.end_offset
        left.append(EpochRange(each.epoch, start, each.end_offset))
    return tuple(each for each in left if each.records > 0)


def _of_disk(held: Stretches) -> _Log:
    ends: dict[int, int] = {}
    for each in held:
        ends[each.epoch] = max(ends.get(each.epoch, 0), each.end_offset)
    lineage = tuple(EpochEnd(epoch, ends[epoch]) for epoch in sorted(ends))
    start = min((each.start_offset for each in held), default=0)
    return _Log(start, lineage[-1].end_offset if lineage else start, lineage)
