# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tell what compaction removed from what could not be read: both are offsets without a saved record. No I/O.

A gap inside saved batches is certainly compaction's: the cleaner keeps the offsets of a batch when it removes records
of it. Between two batches, it is compaction's if the topic is compacted, and if no damage was found there. Another
salvage may have records that this one could not read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .._model.fields import INT64_MAX
from .._model.log_contents import EpochRange, Stretches
from .finding import DiskFinding, DiskReplica
from .saved import UnreadableOffsets
from .scan import SegmentContents

_READ_ERROR = "read_error"


def find_unreadable(
    found: DiskFinding, replicas: Sequence[DiskReplica], contents: Mapping[str, SegmentContents]
) -> Iterator[UnreadableOffsets]:
    """Yield what the leader lacks and what could not be read, without what compaction removed."""
    causes = [
        (each.from_offset, each.from_offset + 1 if each.to_offset is None else each.to_offset, each.kind.value)
        for each in (damaged.damage for damaged in found.damages)
    ]
    causes += [
        (each.base_offset, INT64_MAX if each.end_offset is None else each.end_offset, _READ_ERROR)
        for replica in replicas
        for each in replica.directory.segments
        if contents[each.path].error or replica.directory.error
    ]
    for _epoch, start, end in found.unreadable:
        cause = next((word for first, last, word in causes if first < end and last > start), None)
        if cause is not None:
            yield UnreadableOffsets(start, end, cause)


@dataclass(slots=True)
class CompactedGaps:
    """Says which gaps between the saved records of a partition compaction left."""

    saved: Stretches
    """Offsets of whole batches that were saved."""
    unreadable: Sequence[UnreadableOffsets] = ()
    is_compacted: bool = False
    """Whether the topic is compacted, as far as that is known. A gap inside a batch shows it, too."""

    def has(self, gap: EpochRange) -> bool:
        """Return whether compaction left this gap between two records of an epoch. Ask in the order of the log."""
        place = bisect_right(self.saved, EpochRange(gap.epoch, gap.start_offset, INT64_MAX)) - 1
        if place >= 0:
            epoch, _start, end = self.saved[place]
            if epoch == gap.epoch and gap.end_offset <= end:
                # The topic may be gone, or of another cluster: nothing else says it then.
                self.is_compacted = True
                return True
        return self.is_compacted and not any(
            each.start_offset < gap.end_offset and each.end_offset > gap.start_offset for each in self.unreadable
        )
