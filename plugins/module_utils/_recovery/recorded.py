# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Say what recordings of silent replicas prove about the loss of an election. Pure; standard library only.

A leader never truncates its log. If a silent replica was recorded as the leader of an epoch, and the epoch of the
offline partition is the next one, it led until the partition went offline: each other leader, and each return of this
one, would have had an epoch of its own. So it still holds what it held then, unless its disk was damaged or replaced.
Recordings of followers, of earlier epochs and of another topic of this name prove nothing, and a note says so. Nor do
recordings of records that the leader may have deleted since then (``retention``). This takes applications not to have
deleted records before their time (DeleteRecords), and, of a topic with CreateTime, not to have dated them back by more
than ``retention.ms``, as a mirror of old records does: the text of the loss says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from .._model.outage import UNKNOWN_PAST, Estimate, LastSeen, Outage, RecordedLoss, ReplicaPast, utc_text
from .._model.partition import NO_LEADER, PartitionState
from .._model.reasons import plural
from .._model.retention import Retention, why_deleted
from .candidate import Candidate, SilentReplica


@dataclass(frozen=True, slots=True)
class RecordedPartition:
    """What is known of a partition with its recordings."""

    pasts: Mapping[int, ReplicaPast]
    """What is known of the replicas besides their logs, by broker id."""
    notes: tuple[str, ...]
    """Which recordings prove nothing, and why."""


def add_recordings(
    state: PartitionState,
    candidates: Sequence[Candidate],
    silent: Sequence[SilentReplica],
    seen: Mapping[int, LastSeen],
    outage: Outage | None,
    *,
    retention: Retention | None,
    now_ms: int,
) -> RecordedPartition:
    """Add what the silent replicas were recorded to hold, ``seen`` by broker id, to what is known already.

    ``retention`` is that of the topic, None if it is unknown, and ``now_ms`` the time of this run.
    """
    pasts = dict(outage.replicas) if outage else {}
    lost_at = _milliseconds(outage.history.leader_lost_at if outage else None)
    notes: list[str] = []
    for each in (seen[one.broker_id] for one in silent if one.broker_id in seen):
        reason = _why_no_proof(state, each, outage)
        if reason:
            notes.append(_proves_nothing(each, reason))
            continue
        for candidate in candidates:
            past = pasts.get(candidate.broker_id, UNKNOWN_PAST)
            added = _add(past, candidate, each, lost_at)
            until = now_ms if lost_at is None else lost_at
            start = max(each.log_start_offset, candidate.log_start_offset)
            oldest = _milliseconds(past.log_ends_at)
            deleted = why_deleted(retention, oldest, until, start) if added.recorded else ""
            if deleted:
                notes.append(_proves_nothing(each, deleted))
            pasts[candidate.broker_id] = past if deleted else added
    return RecordedPartition(pasts, tuple(dict.fromkeys(notes)))


def _proves_nothing(seen: LastSeen, reason: str) -> str:
    return (
        f"at {utc_text(seen.seen_at_ms)} the log of silent replica {seen.broker_id} ended at offset "
        f"{seen.log_end_offset}, which proves nothing now: {reason}"
    )


def _why_no_proof(state: PartitionState, seen: LastSeen, outage: Outage | None) -> str:
    """Return why the replica may have lost what it held. Empty if it cannot."""
    if seen.topic_id != state.topic_id:
        return "the topic was created again since"
    if seen.leader_id != seen.broker_id:
        leader = "no broker" if seen.leader_id == NO_LEADER else f"broker {seen.leader_id}"
        return f"{leader} led then, and a follower truncates its log"
    if seen.leader_epoch != seen.known_epoch:
        return "it did not know its leadership yet"
    if state.leader_epoch != seen.leader_epoch + 1:
        return (
            f"the leader epoch was {seen.leader_epoch} then and is {state.leader_epoch} now, so others led since, or "
            "it was restarted"
        )
    if outage is not None and outage.leader_has_new_disk:
        return "it came back with another log directory since"
    return ""


def _add(past: ReplicaPast, candidate: Candidate, seen: LastSeen, lost_at_ms: int | None) -> ReplicaPast:
    records = max(seen.log_end_offset - max(candidate.log_end_offset, seen.log_start_offset), 0)
    recorded = RecordedLoss(seen.broker_id, utc_text(seen.seen_at_ms) or "", records) if records else None
    return replace(past, recorded=recorded, estimate=_refine(past, records, seen.seen_at_ms, lost_at_ms))


def _refine(past: ReplicaPast, records: int, seen_at_ms: int, lost_at_ms: int | None) -> Estimate | None:
    """Return an estimate of which only the time after the recording is estimated. None if there was none.

    The rate is that between the start of the estimated time and the recording. If the recording has nothing more than
    the candidate, it is that of the estimate before. A recording from before that start says nothing of the time.
    """
    before, since_ms = past.estimate, _milliseconds(past.estimated_since)
    if before is None or since_ms is None or lost_at_ms is None or not since_ms < seen_at_ms <= lost_at_ms:
        return before
    rest = (lost_at_ms - seen_at_ms) / (lost_at_ms - since_ms)
    after_ms = lost_at_ms - seen_at_ms
    more = records / (seen_at_ms - since_ms) * after_ms if records else before.records * rest
    return Estimate(
        records + round(more),
        records + math.floor(min(before.low * rest, more)),
        records + math.ceil(max(before.high * rest, more)),
        f"{plural(records, 'record')} as recorded at {utc_text(seen_at_ms)}, and for the {after_ms / 1000:.0f} s "
        f"after that: {'the rate until then' if records else before.method}",
    )


def _milliseconds(moment: str | None) -> int | None:
    return None if moment is None else round(datetime.fromisoformat(moment).timestamp() * 1000)
