# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A replica that may lead, and one that told nothing. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.replica_log import Cause, EpochEnd


class Flag(StrEnum):
    """What a person must know of a candidate before electing it (fault matrix, group D)."""

    EMPTY_LOG = "empty_log"
    """The log end offset is 0: electing it empties the partition."""
    GAP = "gap"
    """Its log end offset lies below another candidate's log start offset: the records between are on neither."""
    FUTURE_REPLICA = "future_replica"
    """A log-dir move is running on it; only its current log was ranked."""
    FENCED = "fenced"
    """It answered us, but the controller fences it, so it cannot be elected now."""
    DIVERGED = "diverged"
    """Its lineage is not a prefix of the best candidate's: it holds records that the best one does not."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A surviving replica with its place in the ranking. Offsets are record offsets, sizes bytes."""

    broker_id: int
    rank: int
    """1 is the best. Order: last written epoch, log end offset, place in the replica list (stated tie-break)."""
    last_written_epoch: int | None
    """None for a log without records: it ranks behind every epoch."""
    log_start_offset: int
    log_end_offset: int
    lineage: tuple[EpochEnd, ...]
    size_bytes: int | None
    flags: tuple[Flag, ...]
    explanation: str
    """Why it has this rank, in words."""


@dataclass(frozen=True, slots=True)
class SilentReplica:
    """A replica that told nothing, and why."""

    broker_id: int
    cause: Cause
    error: str
