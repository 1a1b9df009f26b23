# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What was changed, and how to undo it. Standard library only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.errors import KafkaOpsError
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition


class JournalError(KafkaOpsError):
    """The journal cannot be written, read or trusted. Nothing may be changed then."""


@dataclass(frozen=True, slots=True)
class OrderChange:
    """A replica order that we are about to change, or have changed."""

    topic: str
    partition: int
    topic_id: str
    original: tuple[int, ...]
    changed: tuple[int, ...]
    """The order that we set. Any third order found later is somebody else's."""

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


class Journal(Protocol):
    """Remembers order changes until they are undone."""

    @property
    def unfinished(self) -> Sequence[OrderChange]:
        """Changes begun and not ended, in order of topic and partition; those of earlier, killed runs included."""

    def begin(self, changes: Iterable[OrderChange]) -> None:
        """Returns once the changes are durable. Raises JournalError."""

    def end(self, partitions: Iterable[TopicPartition], why: str) -> None:
        """Strikes changes out: the order is back, or not ours to put back. Raises JournalError."""
