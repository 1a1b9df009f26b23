# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define the plan that gives partitions their replicas back, its file, and the outcomes. It has no secret.

Pure; standard library only. Schemas: docs/schemas/redundancy-plan.schema.json and redundancy-report.schema.json.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, TypeAlias

from .._documents.dataclass_json import codec, document, timed_report, with_digest
from .._model.fields import (
    SCHEMA_VERSION,
    BrokerId,
    ClusterId,
    Count,
    Meta,
    PartitionIndex,
    Replicas,
    SchemaVersion,
    SizeBytes,
    Time,
    TopicId,
    TopicName,
    counts_of_words,
)
from .._model.partition import OfPartition, Racks
from .._model.run import RunMode


class ReplicaStatus(StrEnum):
    """What became of a partition."""

    RESTORED = "restored"
    """All new replicas are in sync."""
    WOULD_RESTORE = "would_restore"
    DONE_BEFORE = "done_before"
    """All new replicas of a reviewed plan were in sync already."""
    RETURNED = "returned"
    """A lost broker came back with its replica in sync before the copy began or was complete. Its replica stays."""
    NO_LEADER = "no_leader"
    """Nothing can be copied. Recover it first."""
    NO_BROKER = "no_broker"
    """No living broker can take a replica: too few brokers, or no space. Some replicas may be planned all the same. Or
    a replica that stays is on an unregistered broker, so that the controller refuses every target."""
    UNKNOWN_SIZE = "unknown_size"
    UNANSWERED = "unanswered"
    """A replica's broker does not answer, and the controller has not fenced it: the replica may be lost."""
    HIDDEN = "hidden"
    """Our principal may not see its topic, so it is not known whether replicas are lost."""
    NO_SUCH_PARTITION = "no_such_partition"
    CHANGED = "changed"
    """Another party has changed it since the plan."""
    STOPPED = "stopped"
    """The run was asked to stop."""
    FAILED = "failed"


DONE_OR_FORESEEN = frozenset(
    {ReplicaStatus.RESTORED, ReplicaStatus.WOULD_RESTORE, ReplicaStatus.DONE_BEFORE, ReplicaStatus.RETURNED}
)
"""Everything else is a failure, and makes a reader look."""

_Brokers: TypeAlias = Annotated[tuple[BrokerId, ...], Meta(description="the brokers are a list of ids")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaMove(OfPartition):
    """New replicas for one partition."""

    topic: TopicName
    partition: PartitionIndex
    topic_id: TopicId
    replicas: Replicas
    """The replicas when the plan was made."""
    target: Replicas
    """The replicas that it is to have."""
    adding: _Brokers
    removing: _Brokers
    """Lost brokers only: a replica on a broker that is up stays."""
    size_bytes: SizeBytes
    """The bytes to copy for each new replica."""
    is_below_min_isr: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Unplaced(OfPartition):
    """A partition that does not get all replicas back, and why."""

    topic: TopicName
    partition: PartitionIndex
    status: ReplicaStatus
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RedundancyPlan:
    """What one run intends. Equal plans make equal bytes."""

    schema_version: SchemaVersion = field(default=SCHEMA_VERSION, init=False)
    cluster_id: ClusterId
    created_at: Time
    lost_brokers: _Brokers
    """The brokers that were declared lost."""
    moves: tuple[ReplicaMove, ...]
    """In the order in which they begin."""
    left_alone: Annotated[
        tuple[Annotated[Unplaced, Meta(description="a partition that is left alone is an object")], ...],
        Meta(description="the partitions that are left alone are a list"),
    ]
    racks: Racks
    notes: tuple[str, ...]


PLAN = codec(RedundancyPlan)
REDUNDANCY_PLAN = document(
    "redundancy-plan",
    "Which partitions get which new replicas",
    with_digest(RedundancyPlan, "a redundancy plan is an object"),
)


@dataclass(frozen=True, slots=True)
class MoveOutcome(OfPartition):
    """What became of a partition."""

    topic: TopicName
    partition: PartitionIndex
    status: ReplicaStatus
    reason: str
    replicas: Replicas
    """The replicas before."""
    target: Replicas
    """The replicas that it is to have, or has. The replicas before if nothing is planned."""
    adding: _Brokers
    size_bytes: SizeBytes


def outcome_of(move: ReplicaMove, status: ReplicaStatus, reason: str = "") -> MoveOutcome:
    """Return the outcome of a move."""
    text = "; ".join(filter(None, [reason, move.reason]))
    return MoveOutcome(
        move.topic, move.partition, status, text, move.replicas, move.target, move.adding, move.size_bytes
    )


def in_order(outcomes: Sequence[MoveOutcome], plan: RedundancyPlan) -> tuple[MoveOutcome, ...]:
    """Return all outcomes in order of topic and partition, with those of the partitions that are left alone."""
    left = (
        MoveOutcome(each.topic, each.partition, each.status, each.reason, (), (), (), 0) for each in plan.left_alone
    )
    return tuple(sorted([*outcomes, *left], key=lambda each: each.topic_partition))


@dataclass(frozen=True, slots=True, kw_only=True)
class RedundancyReport:
    """The results of a run."""

    cluster_id: ClusterId
    mode: RunMode
    lost_brokers: _Brokers
    throttle_bytes_per_second: SizeBytes | None
    """None if copies were not throttled."""
    summary: Annotated[
        dict[ReplicaStatus, int], counts_of_words(ReplicaStatus, Count, "the counts by status are an object")
    ]
    partitions: tuple[MoveOutcome, ...]
    racks: Racks
    notes: tuple[str, ...]


REDUNDANCY_REPORT, encode_redundancy_report = timed_report(
    "redundancy-report",
    "Which partitions got their replicas back",
    RedundancyReport,
    "a redundancy report is an object",
)
