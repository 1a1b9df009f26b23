# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read from saved records of ``__share_group_state`` where share groups were (KIP-932).

Keys and values have the layout of Kafka's ``ShareSnapshotKey``, ``ShareSnapshotValue``, ``ShareUpdateKey`` and
``ShareUpdateValue``. A broker moves a start offset late: records after it that are done are in state batches. So a
group was at the first record that is not done.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from .._kafka.bulk import UnusualAnswerError, read_varint
from .._kafka.messages import uuid_text
from .saved_run import SavedRun, committed_records

_SNAPSHOT, _UPDATE = 0, 1
_SHORT = struct.Struct(">h")
_PLACE = struct.Struct(">16si")
_HEADS = {_SNAPSHOT: struct.Struct(">hiiiqqq"), _UPDATE: struct.Struct(">hiiq")}
"""Version, epochs, start offset, and the two timestamps of a snapshot."""
_START_AT = {_SNAPSHOT: 4, _UPDATE: 3}
_BATCH = struct.Struct(">qqbh")
_DONE = frozenset({2, 4})
"""Delivery states: acknowledged, and archived."""


class _Batch(NamedTuple):
    first: int
    last: int
    state: int


@dataclass(slots=True)
class _State:
    """What the records so far say about one partition of a group."""

    start: int
    batches: list[_Batch] = field(default_factory=list)
    """In the order in which they were written: later ones count."""

    def next_record(self) -> int:
        """Return the first offset that is not done."""
        at = self.start
        while True:
            covering = [number for number, each in enumerate(self.batches) if each.first <= at <= each.last]
            if not covering or self.batches[covering[-1]].state not in _DONE:
                return at
            newer = [each.first for each in self.batches[covering[-1] + 1 :] if each.first > at]
            at = min([self.batches[covering[-1]].last + 1, *newer])


def read_share_starts(runs: Iterable[SavedRun]) -> dict[tuple[str, str, int], int]:
    """Return the first record that each share group had not done, by group, topic id (Kafka's text) and partition."""
    found: dict[tuple[str, str, int], _State] = {}
    for key, value in committed_records(runs):
        parsed = _parse_key(key)
        if parsed is None:
            continue
        kind, place = parsed
        if value is None:
            found.pop(place, None)
        elif (content := _parse_value(kind, value)) is not None:
            start, batches = content
            if kind == _SNAPSHOT:
                found[place] = _State(start, [*batches])
            elif place in found:
                found[place].start = max(start, found[place].start)
                found[place].batches += batches
    return {place: each.next_record() for place, each in found.items()}


def _parse_key(key: bytes) -> tuple[int, tuple[str, str, int]] | None:
    """Return the kind of a record, and its group, topic id and partition. None if it is of another kind."""
    with suppress(struct.error, UnicodeDecodeError):
        (kind,) = _SHORT.unpack_from(key)
        (length,) = _SHORT.unpack_from(key, _SHORT.size)
        at = 2 * _SHORT.size
        topic, partition = _PLACE.unpack_from(key, at + length)
        if kind in _HEADS:
            return kind, (key[at : at + length].decode(), uuid_text(uuid.UUID(bytes=topic)), partition)
    return None


def _parse_value(kind: int, value: bytes) -> tuple[int, Sequence[_Batch]] | None:
    """Return the start offset (-1 if an update does not change it) and the batches. None if it has another version."""
    with suppress(struct.error, IndexError, UnusualAnswerError):
        head = _HEADS[kind].unpack_from(value)
        if head[0] == 0:
            return int(head[_START_AT[kind]]), [*_parse_batches(value, _HEADS[kind].size)]
    return None


def _parse_batches(value: bytes, at: int) -> Iterator[_Batch]:
    """Yield the elements of a compact array: its length is one less than the varint. Each ends with its tags."""
    count, at = read_varint(memoryview(value), at)
    for _number in range(count - 1):
        first, last, state, _deliveries = _BATCH.unpack_from(value, at)
        yield _Batch(first, last, state)
        tags, at = read_varint(memoryview(value), at + _BATCH.size)
        if tags:
            raise UnusualAnswerError("a state batch has tags")
