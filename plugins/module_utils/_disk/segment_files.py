# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the segment files of a log, as a broker that starts on them does.

The log cleaner and the split of a segment replace files in three steps: the new ones are renamed from ``.log.cleaned``
to ``.log.swap``, the old ones to ``.log.deleted``, and the new ones to ``.log``. If a broker dies in between, some
records are in a ``.swap`` file only. A broker that starts finishes such a swap (Kafka's ``LogLoader``):

1. A ``.swap`` file at or after the first ``.cleaned`` file is ignored: not all new files were complete (KAFKA-6264).
2. The other ``.swap`` files replace the ``.log`` files from the first offset of the first one to the last of the last.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from contextlib import suppress
from dataclasses import replace
from itertools import zip_longest

from .._model.fields import INT64_MAX
from .segment import Damage, Segment, read_headers

_SEGMENT = re.compile(r"(\d{20})\.(log|log\.swap|log\.cleaned)", re.ASCII)


def find_segments(path: str) -> tuple[tuple[Segment, ...], str]:
    """Return the segments of a log in order of base offset, and why there may be others; empty if there are none.

    A file of which the disk does not say how long it is counts as empty: to read it fails, too.
    """
    found: dict[str, list[Segment]] = defaultdict(list)
    error = ""
    try:
        for entry in os.scandir(path):
            if (match := _SEGMENT.fullmatch(entry.name)) is not None and int(match[1]) <= INT64_MAX:
                found[match[2]].append(Segment(entry.path, int(match[1]), _size_of(entry)))
    except OSError as failed:
        error = f"{path} could not be listed: {failed.strerror}"
    segments = _finish_swap(found["log"], found["log.swap"], found["log.cleaned"])
    segments.sort(key=lambda each: each.base_offset)
    followed = zip_longest(segments, segments[1:])
    return tuple(replace(each, end_offset=after.base_offset) if after else each for each, after in followed), error


def _size_of(entry: os.DirEntry[str]) -> int:
    with suppress(OSError):
        return entry.stat().st_size
    return 0


def _finish_swap(logs: list[Segment], swaps: list[Segment], cleaned: list[Segment]) -> list[Segment]:
    incomplete = min((each.base_offset for each in cleaned), default=None)
    valid = [each for each in swaps if incomplete is None or each.base_offset < incomplete]
    if not valid:
        return logs
    start = min(each.base_offset for each in valid)
    end = max(map(_end_of, valid))
    return [*valid, *(each for each in logs if not start <= each.base_offset < end)]


def _end_of(segment: Segment) -> int:
    """Return the offset after the last batch that can be read. The base offset if there is none."""
    end = segment.base_offset
    with suppress(OSError), open(segment.path, "rb", buffering=0) as file:
        for found in read_headers(file, segment):
            if not isinstance(found, Damage):
                end = found.header.next_offset
    return end
