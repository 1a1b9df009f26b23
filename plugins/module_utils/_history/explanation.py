# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Say what the history of an outage means for each offline partition and each survivor. Pure; standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

from .._model.metadata_history import MetadataHistory, PartitionHistory
from .._model.partition import NO_LEADER, PartitionState, TopicPartition
from .promise import explain_promise, judge_promise

_MOST_CHANGES = 50

LogEnds: TypeAlias = Mapping[TopicPartition, Mapping[int, int | None]]
"""The log end offset of each survivor, by broker id."""


@dataclass(frozen=True, slots=True)
class IsrChange:
    """One change of a partition. -1 is no leader; None is not known."""

    at: str
    leader_id: int | None
    isr: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Survivor:
    """What electing this replica gives up. Times are RFC 3339 in UTC, of the active controller's clock."""

    broker_id: int
    log_end_offset: int | None
    """None if it is not known."""
    left_isr_at: str | None
    """Electing it gives up what was written from then until ``leader_lost_at``. None if it is not known."""
    acks_all_lost: str | None
    """``none`` if it is proven that no record is lost that was acknowledged with acks=all. None if it is not known."""
    reason: str
    """The proof, or why there is none."""


@dataclass(frozen=True, slots=True)
class OutageRow:
    """The history of one offline partition."""

    topic: str
    partition: int
    last_leader_id: int | None
    alone_since: str | None
    """Since when the last leader was the only member of the ISR. None if it never was, or if it is not known."""
    leader_lost_at: str | None
    isr_changes: tuple[IsrChange, ...]
    """The newest ones, oldest first."""
    survivors: tuple[Survivor, ...]


def explain_outage(
    history: MetadataHistory | None, states: Mapping[TopicPartition, PartitionState], log_ends: LogEnds
) -> list[OutageRow]:
    """Return a row for each partition, in order. ``log_ends`` has the survivors; None if a log end is not known."""
    known = history if history is not None else MetadataHistory(0, 0)
    return [_explain(known, partition, log_ends.get(partition, {})) for partition in sorted(states)]


def _explain(history: MetadataHistory, partition: TopicPartition, log_ends: Mapping[int, int | None]) -> OutageRow:
    found = history.partitions.get(partition, PartitionHistory())
    leader = found.last_leader_id
    return OutageRow(
        partition.topic,
        partition.partition,
        leader if leader != NO_LEADER else None,
        utc_text(found.alone_since_ms),
        utc_text(found.leader_lost_at_ms),
        tuple(
            IsrChange(utc_text(each.at_ms) or "", each.leader_id, each.isr) for each in found.moments[-_MOST_CHANGES:]
        ),
        tuple(_judge(history, partition, broker_id, end) for broker_id, end in sorted(log_ends.items())),
    )


def _judge(history: MetadataHistory, partition: TopicPartition, broker_id: int, end: int | None) -> Survivor:
    promise = judge_promise(history, partition, broker_id, is_empty=not end)
    return Survivor(
        broker_id,
        end,
        utc_text(promise.left_at_ms),
        "none" if promise.is_kept else None,
        explain_promise(promise),
    )


def utc_text(at_ms: int | None) -> str | None:
    """Return RFC 3339 in UTC with milliseconds: 2026-01-31T23:59:59.123Z."""
    if at_ms is None:
        return None
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
