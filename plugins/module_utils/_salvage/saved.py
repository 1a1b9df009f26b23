# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the files of a salvage hold of one partition. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass

from .._model.log_contents import Stretches
from .._model.partition import TopicPartition


@dataclass(frozen=True, slots=True)
class SavedRecords:
    """What the files hold of one partition. Counts are records unless named otherwise; times are milliseconds."""

    topic: str
    partition: int
    topic_id: str | None
    ranges: Stretches
    """Of whole batches."""
    records: int
    """Data records, whatever became of their transactions. Control records are not among them."""
    bytes: int
    """Of keys and values."""
    first_timestamp_ms: int | None
    last_timestamp_ms: int | None
    committed: int
    aborted: int
    unknown: int
    """Of transactions without a marker."""
    committed_transactions: int
    aborted_transactions: int
    open_transactions: int
    undecodable_batches: int
    """Kept as raw batches only."""
    batches: int
    largest_record_bytes: int
    """Of key, value and headers."""
    largest_batch_bytes: int
    """Of a raw batch, compressed as it was."""

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)
