# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""First pass: which epochs and offsets the logs on a disk hold, by as few batch headers as possible.

Offsets and epochs only grow along a log (KIP-101). So a segment whose first batch has the epoch of the next segment's
first batch has no other epoch. Of all others, the last one among them, every header is read. Records are not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import zip_longest

from .._model.log_contents import EpochRange
from .batch import HEADER_BYTES, BatchHeader, header_at
from .contents import SegmentContents, contents_of
from .log_dir import Segment
from .segment import read_headers

_READERS = 8
"""Side by side: most of the time they wait for the disk."""


def outlines(logs: Iterable[Sequence[Segment]]) -> dict[str, SegmentContents]:
    """Return what each segment holds, by its path. ``logs`` are the segments of each log in order of base offset.

    A damage inside a segment of one epoch is not seen, nor is one that leaves the headers intact.
    """
    with ThreadPoolExecutor(_READERS) as readers:
        return {found.path: found for each in readers.map(_outline, logs) for found in each}


def _outline(segments: Sequence[Segment]) -> list[SegmentContents]:
    firsts = [_first(each) for each in segments]
    followed = zip_longest(segments, firsts, firsts[1:])
    return [_of_one_epoch(*each) or contents_of(each[0], read_headers) for each in followed]


def _of_one_epoch(
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
            header = header_at(content, 0)
            return header if header.is_plausible and header.size <= segment.size else None
    return None
