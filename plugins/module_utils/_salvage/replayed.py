# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is to be given back, and what became of it. Standard library only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, TypeAlias

from .._model.fields import Meta, PartitionIndex, SizeBytes, TopicId, TopicName, each_word
from .._model.partition import TopicPartition
from .saved import Number


class Target(StrEnum):
    """Where records are given back to."""

    SIDE = "side"
    """Topic ``<topic>.salvaged``, so that no consumer is surprised."""
    ORIGINAL = "original"
    """The topic and partition that they came from."""


SIDE_SUFFIX = ".salvaged"


def target_topic(topic: str, target: Target) -> str:
    return topic + SIDE_SUFFIX if target is Target.SIDE else topic


class ReplayStatus(StrEnum):
    """What became of one partition."""

    GIVEN_BACK = "given_back"
    WOULD_BE_GIVEN_BACK = "would_be_given_back"
    """Check mode."""
    NOTHING_LEFT = "nothing_left"
    """All that may be given back was given back before."""
    NEVER_REPLAYED = "never_replayed"
    """An internal topic."""
    REFUSED = "refused"
    """Before anything was written. The reason says why."""
    FAILED = "failed"
    """Not all was given back. The reason says why; the next run continues."""


class LeftOut(StrEnum):
    """Why a record is not given back."""

    ABORTED = "aborted"
    """Its transaction was aborted: no consumer was ever to see it."""
    UNKNOWN = "unknown"
    """What became of its transaction is unknown. Given back by opt-in."""
    UNDECODABLE = "undecodable"
    """Batches. They are kept as raw batches."""
    NEWER_KEY = "newer_key"
    """The compacted topic has a newer record of its key."""
    NO_KEY = "no_key"
    """The topic is compacted, and takes no record without a key."""


_IN_WORDS: Mapping[str, str] = {
    LeftOut.ABORTED: "of aborted transactions",
    LeftOut.UNKNOWN: "of transactions whose outcome is unknown",
    LeftOut.UNDECODABLE: "batches that do not decode",
    LeftOut.NEWER_KEY: "whose key has a newer record",
    LeftOut.NO_KEY: "without a key",
}


def describe_left_out(counts: Mapping[str, int]) -> str:
    """Return how many records were left out for which reason; empty when none was."""
    return ", ".join(f"{count:,} {_IN_WORDS[why]}" for why, count in counts.items() if count)


@dataclass(slots=True)
class Counts:
    """Of one partition, while a run proceeds. All are records, but for undecodable batches."""

    to_give: int = 0
    """Foreseen for this run."""
    given: int = 0
    """By this run."""
    given_bytes: int = 0
    """Of keys and values."""
    given_before: int = 0
    """By earlier runs, of this salvage or of another one that has the same records."""
    superseded_before: int = 0
    """Left out by earlier runs, because a compacted topic does not need them."""
    left_out: dict[LeftOut, int] = field(default_factory=dict)

    @property
    def superseded(self) -> int:
        """Records that a compacted topic does not need, by all runs: without a key, or with a newer record of it."""
        return self.superseded_before + sum(self.left_out.get(why, 0) for why in (LeftOut.NEWER_KEY, LeftOut.NO_KEY))

    def leave_out(self, why: LeftOut, records: int = 1) -> None:
        self.left_out[why] = self.left_out.get(why, 0) + records


CountsLeftOut: TypeAlias = Annotated[dict[LeftOut, int], each_word(LeftOut, Number, "what was left out is an object")]
"""Without the reasons of which there was no record; documents name each."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """What became of the saved records of one partition."""

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

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


DONE_STATUSES = frozenset(
    {ReplayStatus.GIVEN_BACK, ReplayStatus.WOULD_BE_GIVEN_BACK, ReplayStatus.NOTHING_LEFT, ReplayStatus.NEVER_REPLAYED}
)


def find_not_done(rows: Iterable[Replayed]) -> list[Replayed]:
    return [each for each in rows if each.status not in DONE_STATUSES]
