# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What became of each replica that a broker's log directories hold. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from .._model.log_contents import Stretches, records_in
from .._model.partition import TopicPartition
from .saved import SavedRecords
from .segment import Damage


class Status(StrEnum):
    """How a replica on a disk compares with the cluster, and what was done about it."""

    SAVED = "saved"
    WOULD_BE_SAVED = "would_be_saved"
    """Check mode."""
    ALREADY_SAVED = "already_saved"
    """The salvage directory has it, from an earlier run."""
    NOTHING_LACKING = "nothing_lacking"
    """The partition's leader has all of it."""
    LEFT_ALONE = "left_alone"
    """The topic is gone, was re-created, or has fewer partitions now: its records have no place in the cluster."""
    FAILED = "failed"
    """It is not known what the cluster lacks, or it could not be saved. The reason says why."""


@dataclass(frozen=True, slots=True)
class FileDamage:
    """What could not be read of one segment file."""

    path: str
    damage: Damage


@dataclass(frozen=True, slots=True)
class DiskFinding:
    """One replica on a disk. Ranges are offsets of one leader epoch each; see also ``log_contents``."""

    topic: str
    partition: int
    topic_id: str | None
    directory_id: str | None
    status: Status
    reason: str = ""
    leader_id: int | None = None
    held: Stretches = ()
    """By the headers of batches; what of it is in ``lost`` has good checksums."""
    lost: Stretches = ()
    """What the leader never held. Offsets that compaction emptied are in it."""
    unreadable: Stretches = ()
    """What of ``lost`` is in no batch that could be read: damaged, in a missing segment, or removed by compaction."""
    before_log_start: Stretches = ()
    """What lies before the leader's log start offset: it is unknown whether the leader ever held it."""
    damages: tuple[FileDamage, ...] = ()
    saved: SavedRecords | None = field(default=None)

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def lost_records(self) -> int:
        """Offsets, which count transaction markers and what compaction removed."""
        return records_in(self.lost)

    @property
    def unreadable_records(self) -> int:
        """Offsets."""
        return records_in(self.unreadable)
