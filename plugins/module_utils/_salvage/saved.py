# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define the summary of one partition's saved records. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias

from .._model.fields import INT64_MAX, Meta, Offset, PartitionIndex, SizeBytes, TopicId, TopicName
from .._model.log_contents import Stretches
from .._model.partition import OfPartition

Number: TypeAlias = Annotated[int, Meta("a number", minimum=0, maximum=INT64_MAX)]
TimestampMs: TypeAlias = Annotated[
    int, Meta("a timestamp in milliseconds since the epoch", minimum=-INT64_MAX - 1, maximum=INT64_MAX)
]


@dataclass(frozen=True, slots=True)
class SavedRecords(OfPartition):
    """The saved records of one partition. Counts are records unless named otherwise; timestamps are milliseconds."""

    topic: TopicName
    partition: PartitionIndex
    topic_id: TopicId | None
    ranges: Annotated[Stretches, Meta(description="what was saved is a list of stretches")]
    """Offsets of whole batches."""
    records: Number
    """Data records, with any transaction outcome. Control records are not among them."""
    bytes: SizeBytes
    """Bytes of keys and values."""
    first_timestamp_ms: TimestampMs | None
    last_timestamp_ms: TimestampMs | None
    committed: Number
    aborted: Number
    unknown: Number
    """Records of transactions whose outcome no marker proves (``markers.py``)."""
    committed_transactions: Number
    aborted_transactions: Number
    open_transactions: Number
    """Producers with records of unknown outcome."""
    undecodable_batches: Number
    """Saved as raw batches only."""
    batches: Number
    largest_record_bytes: SizeBytes
    """Bytes of key, value and headers."""
    largest_batch_bytes: SizeBytes
    """Bytes of a raw batch, compressed as it was."""


@dataclass(frozen=True, slots=True)
class UnreadableOffsets:
    """Offsets between two saved batches, or around them, that could not be read."""

    start_offset: Offset
    end_offset: Offset
    """The one after the last one."""
    cause: Annotated[str, Meta(description="a cause is a word", pattern="^[a-z_]+$")]
    """A ``DamageKind``, or that the file could not be read."""
