# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the logs on a disk hold, by (epoch, offset), found in two passes.

The first pass (``read_outlines``) reads as few batch headers as possible. Offsets and epochs only grow along a log
(KIP-101). So a segment whose first batch has the epoch of the next segment's first batch has no other epoch. Of all
others, the last one among them, every header is read. Records are not read.

The second pass (``scan_in_process``, or on_spark.py) reads segments that hold something to save from end to end, and
verifies every checksum. Of a few segments, threads of this process are sooner done than Spark has started.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from typing import BinaryIO, TypeAlias

from .._model.log_contents import EpochRange
from .batch import HEADER_BYTES, BatchHeader, read_header
from .log_dir import Segment
from .segment import Batch, Damage, DamageKind, read_headers, read_segment

_READERS = 8
"""Side by side: most of the time they wait for the disk."""

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


def read_outlines(logs: Iterable[Sequence[Segment]]) -> dict[str, SegmentContents]:
    """Return what each segment holds, by its path. ``logs`` are the segments of each log in order of base offset.

    A damage inside a segment of one epoch is not seen, nor is one that leaves the headers intact.
    """
    with ThreadPoolExecutor(_READERS) as readers:
        return {found.path: found for each in readers.map(_read_outline, logs) for found in each}


def _read_outline(segments: Sequence[Segment]) -> list[SegmentContents]:
    firsts = [_first(each) for each in segments]
    followed = zip_longest(segments, firsts, firsts[1:])
    return [_infer_contents(*each) or contents_of(each[0], read_headers) for each in followed]


def _infer_contents(
    segment: Segment, first: BatchHeader | None, next_first: BatchHeader | None
) -> SegmentContents | None:
    if first is None or next_first is None or segment.end_offset is None:
        return None
    run = EpochRange(first.leader_epoch, first.base_offset, segment.end_offset)
    is_in_order = segment.base_offset <= run.start_offset < run.end_offset <= next_first.base_offset
    is_of_one_epoch = first.leader_epoch == next_first.leader_epoch
    return SegmentContents(segment.path, (run,), ()) if is_in_order and is_of_one_epoch else None


def _first(segment: Segment) -> BatchHeader | None:
    """Return a segment's first header. None where there is none, or it cannot be read."""
    with suppress(OSError), open(segment.path, "rb", buffering=0) as file:
        content = file.read(HEADER_BYTES)
        if len(content) == HEADER_BYTES:
            header = read_header(content, 0)
            return header if header.is_plausible and header.size <= segment.size else None
    return None


def scan_in_process(segments: Sequence[Segment]) -> dict[str, SegmentContents]:
    """Read every segment from end to end, side by side. Returns what each one holds, by path."""
    with ThreadPoolExecutor() as readers:
        return {found.path: found for found in readers.map(whole, segments)}


def whole(segment: Segment) -> SegmentContents:
    """Read one segment from end to end."""
    return contents_of(segment, read_segment)
