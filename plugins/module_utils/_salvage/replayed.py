# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define the results of a replay: targets, statuses, reasons and counts. Standard library only."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, TypeAlias

from .._model.fields import Meta, PartitionIndex, SizeBytes, TopicId, TopicName, counts_of_words
from .._model.partition import OfPartition
from .saved import Number, SavedRecords


class Target(StrEnum):
    """The topic that records are given back to."""

    SIDE = "side"
    """Topic ``<topic>.salvaged``, so that consumers of the original topic do not get old records."""
    ORIGINAL = "original"
    """The topic and partition that they came from."""


SIDE_SUFFIX = ".salvaged"
_LONGEST_NAME = 249
"""Characters that Kafka allows in a topic's name."""
_HASH_DIGITS = 16


def name_target_topic(topic: str, target: Target) -> str:
    """Return the name of the topic that records of ``topic`` are given back to.

    If there is no room for the suffix, the end of the name becomes a hash of the whole name.
    """
    if target is Target.ORIGINAL:
        return topic
    if len(topic) + len(SIDE_SUFFIX) > _LONGEST_NAME:
        digest = hashlib.sha256(topic.encode()).hexdigest()[:_HASH_DIGITS]
        topic = f"{topic[: _LONGEST_NAME - len(SIDE_SUFFIX) - 1 - _HASH_DIGITS]}.{digest}"
    return topic + SIDE_SUFFIX


class ReplayStatus(StrEnum):
    """How the replay of one partition ended."""

    GIVEN_BACK = "given_back"
    WOULD_BE_GIVEN_BACK = "would_be_given_back"
    """Check mode."""
    NOTHING_LEFT = "nothing_left"
    """All records that may be given back were given back by earlier runs."""
    NEVER_REPLAYED = "never_replayed"
    """An internal topic."""
    REFUSED = "refused"
    """Refused before anything was written. The reason says why."""
    FAILED = "failed"
    """Not all records were given back. The reason says why. The next run continues."""


class LeftOut(StrEnum):
    """Why a record is not given back."""

    ABORTED = "aborted"
    """Its transaction was aborted, so no consumer may see it."""
    UNKNOWN = "unknown"
    """The outcome of its transaction is unknown. Given back only with ``include_unknown``."""
    UNDECODABLE = "undecodable"
    """The batch does not decode. Counted in batches; the salvage has the raw batches."""
    NEWER_KEY = "newer_key"
    """The compacted topic has a newer record of its key."""
    HELD = "held"
    """The topic has it: its leader holds the same leader epoch and offset."""
    NO_KEY = "no_key"
    """The compacted topic takes no record without a key."""


_IN_WORDS: Mapping[str, str] = {
    LeftOut.ABORTED: "of aborted transactions",
    LeftOut.UNKNOWN: "of transactions whose outcome is unknown",
    LeftOut.UNDECODABLE: "batches that do not decode",
    LeftOut.NEWER_KEY: "whose key has a newer record",
    LeftOut.HELD: "that the topic has already",
    LeftOut.NO_KEY: "without a key",
}


def describe_left_out(counts: Mapping[str, int]) -> str:
    """Say how many records were left out for which reasons; empty if there are none."""
    return ", ".join(f"{count:,} {_IN_WORDS[why]}" for why, count in counts.items() if count)


@dataclass(slots=True)
class Counts:
    """The counts of one partition during a run, in records; undecodable ones in batches."""

    to_give: int = 0
    """Records that this run is to give back."""
    given: int = 0
    """Records that this run gave back."""
    given_bytes: int = 0
    """Bytes of keys and values."""
    given_before: int = 0
    """Records that earlier runs gave back, from this salvage or another one that has the same records."""
    superseded_before: int = 0
    """Records that earlier runs left out because a compacted topic does not need them."""
    held_too: int = 0
    """Records to give back to a side topic that the original topic has again."""
    left_out: dict[LeftOut, int] = field(default_factory=dict)

    @property
    def superseded(self) -> int:
        """Records that all runs left out because a compacted topic does not need them."""
        return self.superseded_before + sum(self.left_out.get(why, 0) for why in (LeftOut.NEWER_KEY, LeftOut.NO_KEY))

    def leave_out(self, why: LeftOut, records: int = 1) -> None:
        self.left_out[why] = self.left_out.get(why, 0) + records


CountsLeftOut: TypeAlias = Annotated[
    dict[LeftOut, int], counts_of_words(LeftOut, Number, "what was left out is an object")
]
"""A reason without records is missing here. Documents have all reasons."""


@dataclass(frozen=True, slots=True)
class Replayed(OfPartition):
    """The result for the saved records of one partition."""

    topic: TopicName
    partition: PartitionIndex
    topic_id: TopicId | None
    target_topic: TopicName
    status: Annotated[ReplayStatus, Meta("the status")]
    reason: str
    saved: Number
    to_give: Number
    given: Number
    given_bytes: SizeBytes
    given_before: Number
    superseded: Number
    left_out: CountsLeftOut


def build_replayed(
    saved: SavedRecords, target_topic: str, status: ReplayStatus, reason: str, counts: Counts
) -> Replayed:
    """Return the result for the saved records of one partition."""
    return Replayed(
        saved.topic,
        saved.partition,
        saved.topic_id,
        target_topic,
        status,
        reason,
        saved.records,
        counts.to_give,
        counts.given,
        counts.given_bytes,
        counts.given_before,
        counts.superseded,
        dict(counts.left_out),
    )


DONE_STATUSES = frozenset(
    {ReplayStatus.GIVEN_BACK, ReplayStatus.WOULD_BE_GIVEN_BACK, ReplayStatus.NOTHING_LEFT, ReplayStatus.NEVER_REPLAYED}
)


def find_not_done(rows: Iterable[Replayed]) -> list[Replayed]:
    return [each for each in rows if each.status not in DONE_STATUSES]
