# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define the plan that gives committed offsets back and aborts hanging transactions, its file, and the outcomes.

Pure; standard library only. Schemas: docs/schemas/group-plan.schema.json and group-report.schema.json.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Annotated, TypeAlias

from .._documents.dataclass_json import codec, document, timed_report, with_digest
from .._model.fields import (
    INT32_MAX,
    INT64_MAX,
    SCHEMA_VERSION,
    ClusterId,
    Count,
    LeaderEpoch,
    Meta,
    Milliseconds,
    Offset,
    PartitionIndex,
    SchemaVersion,
    Time,
    TopicId,
    TopicName,
    counts_of_words,
)
from .._model.partition import OfPartition
from .._model.run import RunMode


class CommitNeed(StrEnum):
    """Why a committed offset needs a change."""

    WENT_BACK = "went_back"
    """The salvage has a newer commit."""
    BEYOND_END = "beyond_end"
    """It is beyond the log end."""
    BELOW_START = "below_start"
    """It is before the log start: these records are deleted."""
    NO_STATE = "no_state"
    """The share group reads this partition, and nothing says where it starts: it gets no records."""
    OTHER_RECORDS = "other_records"
    """The log has other records before it than the group has read: they were written after an unclean election."""


class Choice(StrEnum):
    """What a plan does with a saved offset although its group was changed since the election."""

    GIVE_BACK = "give_back"
    """The group was not changed, or the saved offset is not used."""
    LEAVE_ALONE = "leave_alone"
    """Nothing: what clients, operators or Kafka did since is not undone."""
    OVERWRITE = "overwrite"
    """The saved offset replaces it: the operator named the group."""


class CommitStatus(StrEnum):
    """What became of a committed offset."""

    GIVEN_BACK = "given_back"
    WOULD_GIVE_BACK = "would_give_back"
    DONE_BEFORE = "done_before"
    """The group is already there."""
    LEFT_ALONE = "left_alone"
    """The group was changed since the election."""
    HAS_MEMBERS = "has_members"
    """The group has members: stop its consumers first."""
    CHANGED = "changed"
    """The group or the log has changed since the plan."""
    UNKNOWN = "unknown"
    """The coordinator or the leader did not answer, or there is none."""
    STOPPED = "stopped"
    """The run was asked to stop."""
    FAILED = "failed"


class Ending(StrEnum):
    """How to end a transaction that no coordinator has."""

    COMMIT = "commit"
    """The salvage has its COMMIT marker, which the present log lacks."""
    ABORT = "abort"
    """The salvage has its ABORT marker."""
    NOT_KNOWN = "not_known"
    """It is aborted, if the operator allows that."""


class TransactionStatus(StrEnum):
    """What became of a hanging transaction."""

    COMMITTED = "committed"
    WOULD_COMMIT = "would_commit"
    ABORTED = "aborted"
    WOULD_ABORT = "would_abort"
    DONE_BEFORE = "done_before"
    """It is not open any more."""
    HANGING = "hanging"
    """It hangs, and nobody allowed to abort it."""
    RECENT = "recent"
    """No coordinator has it, but its producer may still use it."""
    CHANGED = "changed"
    """Its producer has written since."""
    UNKNOWN = "unknown"
    """A coordinator or the leader did not answer."""
    STOPPED = "stopped"
    """The run was asked to stop."""
    FAILED = "failed"


DONE = frozenset({CommitStatus.GIVEN_BACK, CommitStatus.DONE_BEFORE, CommitStatus.LEFT_ALONE})
DONE_OR_FORESEEN = DONE | {CommitStatus.WOULD_GIVE_BACK}
ENDED = frozenset({TransactionStatus.COMMITTED, TransactionStatus.ABORTED, TransactionStatus.DONE_BEFORE})
WOULD_END = frozenset({TransactionStatus.WOULD_COMMIT, TransactionStatus.WOULD_ABORT})
ENDED_OR_FORESEEN = ENDED | WOULD_END

MOST_NAMED = 3
"""How many partitions, topics or brokers a reason names."""

_Epoch: TypeAlias = Annotated[int, Meta("a leader epoch (-1: not known)", minimum=-1, maximum=INT32_MAX)]

_ProducerId: TypeAlias = Annotated[int, Meta("a producer id", minimum=0, maximum=INT64_MAX)]
_SalvageIds: TypeAlias = Annotated[tuple[str, ...], Meta(description="the ids of salvages are a list")]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitStep(OfPartition):
    """A committed offset to change."""

    group: str
    topic: TopicName
    partition: PartitionIndex
    topic_id: TopicId
    leader_epoch: LeaderEpoch
    """That of the partition when the plan was made. Where it ends below the target now, records were lost since."""
    need: CommitNeed
    committed: Offset | None
    """The committed offset when the plan was made. None if the group had none."""
    saved: Offset | None
    """The committed offset in the salvage. None if it has none."""
    log_start: Offset
    log_end: Offset
    target: Offset
    """The offset to commit."""
    target_epoch: _Epoch
    """The leader epoch to commit."""
    target_metadata: str
    """The metadata to commit: what the group committed with the saved offset."""
    choice: Choice
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionStep(OfPartition):
    """An open transaction that no coordinator has."""

    topic: TopicName
    partition: PartitionIndex
    producer_id: _ProducerId
    start_offset: Offset
    """read_committed consumers stop here."""
    last_timestamp_ms: Milliseconds | None
    """The time of its newest record, by the producer's clock. None if it is not known."""
    ending: Ending


@dataclass(frozen=True, slots=True)
class UnknownCommits:
    """Groups or transactions that could not be looked at, and why."""

    groups: tuple[str, ...]
    """Empty if it is about transactions, or if not even the names of the groups are known."""
    reason: str


_Unknown: TypeAlias = Annotated[
    tuple[Annotated[UnknownCommits, Meta(description="what is unknown is an object")], ...],
    Meta(description="what is unknown is a list"),
]


@dataclass(frozen=True, slots=True)
class OffsetsEnd:
    """Up to where a partition of ``__consumer_offsets`` was read for a plan."""

    partition: PartitionIndex
    offset: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlan:
    """What one run intends. Equal plans make equal bytes."""

    schema_version: SchemaVersion = field(default=SCHEMA_VERSION, init=False)
    cluster_id: ClusterId
    created_at: Time
    salvage_ids: _SalvageIds
    """Empty if no salvage was read."""
    commits: tuple[CommitStep, ...]
    read_to: Annotated[tuple[OffsetsEnd, ...], Meta(description="the ends are a list")]
    """What was written to __consumer_offsets after this is newer than the plan."""
    transactions: tuple[TransactionStep, ...]
    unknown: _Unknown
    notes: tuple[str, ...]


PLAN = codec(GroupPlan)
GROUP_PLAN = document(
    "group-plan",
    "Which committed offsets are set to what, and which transactions are aborted",
    with_digest(GroupPlan, "a plan for groups is an object"),
)


@dataclass(frozen=True, slots=True)
class CommitOutcome(OfPartition):
    """What became of a committed offset."""

    group: str
    topic: TopicName
    partition: PartitionIndex
    need: CommitNeed
    status: CommitStatus
    reason: str
    committed: Offset | None
    """The committed offset before."""
    saved: Offset | None
    log_start: Offset
    log_end: Offset
    target: Offset


def commit_outcome(step: CommitStep, status: CommitStatus, reason: str = "") -> CommitOutcome:
    """Return the outcome of a step."""
    return CommitOutcome(
        step.group,
        step.topic,
        step.partition,
        step.need,
        status,
        "; ".join(filter(None, [reason, step.reason])),
        step.committed,
        step.saved,
        step.log_start,
        step.log_end,
        step.target,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EndOutcome(TransactionStep):
    """What became of an open transaction that no coordinator has."""

    status: TransactionStatus
    reason: str


def end_outcome(step: TransactionStep, status: TransactionStatus, reason: str = "") -> EndOutcome:
    """Return the outcome of a planned end."""
    return EndOutcome(**{each.name: getattr(step, each.name) for each in fields(step)}, status=status, reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupReport:
    """The results of a run."""

    cluster_id: ClusterId
    salvage_ids: _SalvageIds
    mode: RunMode
    undo_file: str | None
    """The file with the former offsets. None if nothing was written."""
    share_undo_file: str | None
    """The file with the former start offsets of share groups. None if none was written."""
    summary: Annotated[
        dict[CommitStatus, int], counts_of_words(CommitStatus, Count, "the counts by status are an object")
    ]
    commits: tuple[CommitOutcome, ...]
    transactions: tuple[EndOutcome, ...]
    transaction_summary: Annotated[
        dict[TransactionStatus, int],
        counts_of_words(TransactionStatus, Count, "the counts of transactions by status are an object"),
    ]
    transactions_file: str | None
    """The file with the transactions that were to be aborted. None if nothing was to be aborted."""
    unknown: _Unknown
    notes: tuple[str, ...]


GROUP_REPORT, encode_group_report = timed_report(
    "group-report",
    "Which groups got their committed offsets back, and which transactions were aborted",
    GroupReport,
    "a report on groups is an object",
)
