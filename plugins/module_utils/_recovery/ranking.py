# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ranks the replicas of one partition by what they hold. Pure; standard library only.

The only place that knows the order. Spark's tasks, this process, and a plan that is judged again all call it.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import NamedTuple

from .._model.log_contents import from_offset, with_epochs, without
from .._model.replica_log import EpochEnd
from .candidate import Flag

_NO_EPOCH = -1


class AnsweredLog(NamedTuple):
    """What decides the rank and the flags of a replica that answered. Offsets are record offsets."""

    broker_id: int
    place: int
    """In the partition's replica list, from 0."""
    last_written_epoch: int | None
    """None for a log without records."""
    log_start_offset: int
    log_end_offset: int
    lineage: tuple[EpochEnd, ...]
    local_log_start_offset: int | None
    """Of a tiered topic: the first offset on its own disk. None for other topics, and where it is not known."""
    is_fenced: bool
    is_future: bool
    """A future replica exists too. Its log is never ranked."""
    is_tiered: bool


class RankedLog(NamedTuple):
    """A replica that answered, with what a person must know of it. Its rank is its place among the others."""

    log: AnsweredLog
    flags: tuple[Flag, ...]
    """In the order of ``Flag``."""


def rank(logs: Iterable[AnsweredLog]) -> list[RankedLog]:
    """Return the logs of one partition, best first.

    The order: highest last written leader epoch (a log without epochs comes last), then highest log end offset, then,
    of a tiered topic, the lowest offset on its own disk, so that a replica which was rebuilt from the tier does not
    pass for a complete one; then place in the replica list, where the first wins (KIP-966).
    """
    ordered = sorted(logs, key=_best_first)
    if not ordered:
        return []
    best, latest_start = ordered[0], max(log.log_start_offset for log in ordered)
    return [RankedLog(log, _flags(log, best, latest_start)) for log in ordered]


def _best_first(log: AnsweredLog) -> tuple[int, int, float, int, int]:
    return (
        -(_NO_EPOCH if log.last_written_epoch is None else log.last_written_epoch),
        -log.log_end_offset,
        inf if log.local_log_start_offset is None else log.local_log_start_offset,
        log.place,
        log.broker_id,
    )


def _flags(log: AnsweredLog, best: AnsweredLog, latest_start: int) -> tuple[Flag, ...]:
    conditions = {
        Flag.EMPTY_LOG: log.log_end_offset == 0,
        Flag.GAP: log.log_end_offset < latest_start,
        Flag.FUTURE_REPLICA: log.is_future,
        Flag.FENCED: log.is_fenced,
        Flag.DIVERGED: _holds_what_best_does_not(log, best),
        Flag.LOCAL_ONLY: log.is_tiered,
    }
    return tuple(flag for flag in Flag if conditions[flag])


def _holds_what_best_does_not(log: AnsweredLog, best: AnsweredLog) -> bool:
    """Return whether a stretch of this log, above the best one's log start, lies in none of the best of the same epoch.

    Two logs hold the same record at an offset where their epochs are the same (Raft's log matching, KIP-101), so
    comparing stretches compares records. What the best log's retention has deleted is no divergence.
    """
    if log is best or (log.lineage == best.lineage and log.log_start_offset >= best.log_start_offset):
        return False  # most replicas, without comparing their stretches
    return bool(without(from_offset(with_epochs(log), best.log_start_offset), with_epochs(best)))
