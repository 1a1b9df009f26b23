# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What one segment file holds, by (epoch, offset)."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, TypeAlias

from .._model.log_contents import EpochRange
from .batch import BatchHeader
from .log_dir import Segment
from .segment import Batch, Damage, DamageKind

Read: TypeAlias = Callable[[BinaryIO, Segment], Iterator[Batch | BatchHeader | Damage]]


@dataclass(frozen=True, slots=True)
class SegmentContents:
    """What one segment file holds."""

    path: str
    runs: tuple[EpochRange, ...]
    """Batches, joined where one follows on another, in the order of the file."""
    damages: tuple[Damage, ...]
    error: str = ""
    """Why the file could not be read on; empty when it was read to its end."""


def contents_of(segment: Segment, read: Read) -> SegmentContents:
    """Return what ``read_segment`` or ``read_headers`` finds in a file, to its end or to what ends the reading."""
    runs: list[EpochRange] = []
    damages: list[Damage] = []
    epoch, start, end = -1, 0, 0
    error = ""
    try:
        with open(segment.path, "rb", buffering=0) as file:
            for found in read(file, segment):
                if isinstance(found, Damage):
                    damages.append(found)
                    continue
                header = found.header if isinstance(found, Batch) else found
                if not header.record_count:
                    # Compaction leaves empty batches behind, for the state of their producers.
                    continue
                if header.leader_epoch != epoch or header.base_offset != end:
                    if end > start:
                        runs.append(EpochRange(epoch, start, end))
                    epoch, start = header.leader_epoch, header.base_offset
                end = header.next_offset
    except OSError as problem:
        error = problem.strerror or str(problem)
    if end > start:
        runs.append(EpochRange(epoch, start, end))
    if not error and any(each.kind is DamageKind.UNREADABLE and each.to_offset is None for each in damages):
        error = os.strerror(errno.EIO)
    return SegmentContents(segment.path, tuple(runs), tuple(damages), error)
