# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find out which epochs and offsets the logs on a disk hold, in two passes.

The first pass (``read_outlines``) reads as few batch headers as possible, and no records. Offsets and epochs only grow
along a log (KIP-101). So if the first batches of a segment and of the next segment have the same epoch, the segment has
no other epoch. In all other segments, and in the last one, every header is read.

The second pass (``scan_in_process``, or on_spark.py) reads the segments with records to save from end to end, and
verifies every checksum. For a few segments, threads of this process need less time than the start of Spark.
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

from .._disk.segment import Damage, DamageKind, Found, Segment, read_headers, read_segment
from .._kafka.record_batch import (
    HEADER_BYTES,
    BatchHeader,
    read_header,
)
from .._model.log_contents import EpochRange
from .stretch import append_run

_READERS = 8
"""Threads. Most of the time they wait for the disk."""

Read: TypeAlias = Callable[[BinaryIO, Segment], Iterator[Found]]


@dataclass(frozen=True, slots=True)
class SegmentContents:
    """The contents of one segment file."""

    path: str
    runs: tuple[EpochRange, ...]
    """Offsets of batches, adjacent ones joined, in the order of the file."""
    damages: tuple[Damage, ...]
    error: str = ""
    """Why reading stopped; empty if the file was read to its end."""


def collect_contents(segment: Segment, read: Read) -> SegmentContents:
    """Collect what ``read_segment`` or ``read_headers`` yields, up to the end of the file or to a read error."""
    runs: list[EpochRange] = []
    damages: list[Damage] = []
    read_error = ""
    try:
        with open(segment.path, "rb", buffering=0) as file:
            for found in read(file, segment):
                if isinstance(found, Damage):
                    damages.append(found)
                    continue
                # Compaction leaves batches without records, to keep the state of their producers.
                if found.header.record_count:
                    append_run(runs, found.header.offsets)
    except OSError as error:
        read_error = error.strerror or str(error)
    if not read_error and any(each.kind is DamageKind.UNREADABLE and each.to_offset is None for each in damages):
        read_error = os.strerror(errno.EIO)
    return SegmentContents(segment.path, tuple(runs), tuple(damages), read_error)


def read_outlines(logs: Iterable[Sequence[Segment]]) -> dict[str, SegmentContents]:
    """Return the contents of each segment, by path. ``logs`` has the segments of each log in order of base offset.

    Does not find damage within a segment of one epoch, or damage that leaves the headers intact.
    """
    with ThreadPoolExecutor(_READERS) as readers:
        return {found.path: found for each in readers.map(_read_outline, logs) for found in each}


def _read_outline(segments: Sequence[Segment]) -> list[SegmentContents]:
    firsts = [_read_first_header(each) for each in segments]
    followed = zip_longest(segments, firsts, firsts[1:])
    return [_infer_contents(*each) or collect_contents(each[0], read_headers) for each in followed]


def _infer_contents(
    segment: Segment, first: BatchHeader | None, next_first: BatchHeader | None
) -> SegmentContents | None:
    """Return the contents of a segment that has one epoch only. None if the headers do not prove this."""
    if first is None or next_first is None or segment.end_offset is None:
        return None
    run = EpochRange(first.leader_epoch, first.base_offset, segment.end_offset)
    is_in_order = segment.base_offset <= run.start_offset < run.end_offset <= next_first.base_offset
    is_of_one_epoch = first.leader_epoch == next_first.leader_epoch
    return SegmentContents(segment.path, (run,), ()) if is_in_order and is_of_one_epoch else None


def _read_first_header(segment: Segment) -> BatchHeader | None:
    """Return the first header of a segment. None if it has none, or if it cannot be read."""
    with suppress(OSError), open(segment.path, "rb", buffering=0) as file:
        content = file.read(HEADER_BYTES)
        if len(content) == HEADER_BYTES:
            header = read_header(content, 0)
            return header if header.is_plausible and header.size <= segment.size else None
    return None


def scan_in_process(segments: Sequence[Segment]) -> dict[str, SegmentContents]:
    """Read every segment from end to end, in parallel. Returns the contents by path."""
    with ThreadPoolExecutor() as readers:
        return {found.path: found for found in readers.map(read_whole_segment, segments)}


def read_whole_segment(segment: Segment) -> SegmentContents:
    """Read one segment from end to end."""
    return collect_contents(segment, read_segment)
