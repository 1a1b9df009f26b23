# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the files of a salvage hold of one partition. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias

from .._model.fields import INT64_MAX, Meta, PartitionIndex, SizeBytes, TopicId, TopicName
from .._model.log_contents import Stretches
from .._model.partition import TopicPartition

Number: TypeAlias = Annotated[int, Meta("a number", minimum=0, maximum=INT64_MAX)]
TimestampMs: TypeAlias = Annotated[
    int, Meta("a timestamp in milliseconds since the epoch", minimum=-INT64_MAX - 1, maximum=INT64_MAX)
]


@dataclass(frozen=True, slots=True)
class SavedRecords:
    """What the files hold of one partition. Counts are records unless named otherwise; times are milliseconds."""

    topic: TopicName
    partition: PartitionIndex
    topic_id: TopicId | None
    ranges: Annotated[Stretches, Meta(description="what was saved is a list of stretches")]
    """Of whole batches."""
    records: Number
    """Data records, whatever became of their transactions. Control records are not among them."""
    bytes: SizeBytes
    """Of keys and values."""
    first_timestamp_ms: TimestampMs | None
    last_timestamp_ms: TimestampMs | None
    committed: Number
    aborted: Number
    unknown: Number
    """Of transactions without a marker."""
    committed_transactions: Number
    aborted_transactions: Number
    open_transactions: Number
    undecodable_batches: Number
    """Kept as raw batches only."""
    batches: Number
    largest_record_bytes: SizeBytes
    """Of key, value and headers."""
    largest_batch_bytes: SizeBytes
    """Of a raw batch, compressed as it was."""

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)
