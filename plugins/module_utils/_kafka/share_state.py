# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read from records of ``__share_group_state`` what share groups have done (KIP-932).

Keys and values have the layout of Kafka's ``ShareSnapshotKey``, ``ShareSnapshotValue``, ``ShareUpdateKey`` and
``ShareUpdateValue``. A broker moves a start offset late: records after it that are done are in state batches. So a
group was at the first record that is not done.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from .bulk import UnusualAnswerError, read_varint
from .messages import uuid_text

_SNAPSHOT, _UPDATE = 0, 1
_SHORT = struct.Struct(">h")
_PLACE = struct.Struct(">16si")
_HEADS = {_SNAPSHOT: struct.Struct(">hiiiqqq"), _UPDATE: struct.Struct(">hiiq")}
"""Version, epochs, start offset, and the two timestamps of a snapshot."""
_START_AT = {_SNAPSHOT: 4, _UPDATE: 3}
_EPOCH_AT = 2
"""That of the state, in a snapshot."""
_BATCH = struct.Struct(">qqbh")
_DONE = frozenset({2, 4})
"""Delivery states: acknowledged, and archived."""


Place: TypeAlias = "tuple[str, str, int]"
"""Group, topic id (Kafka's text) and partition."""
Record: TypeAlias = "tuple[bytes | None, bytes | None]"
"""Key and value."""


class _Batch(NamedTuple):
    first: int
    last: int
    state: int


@dataclass(slots=True)
class ShareState:
    """What the records so far say about one partition of a group."""

    start: int
    batches: list[_Batch] = field(default_factory=list)
    """In the order in which they were written: later ones count."""
    epoch: int = -1
    """The state epoch. It grows when the start offset is set anew: by the group's first member, or by a request."""

    def next_record(self) -> int:
        """Return the first offset that is not done."""
        at = self.start
        while True:
            covering = [number for number, each in enumerate(self.batches) if each.first <= at <= each.last]
            if not covering or self.batches[covering[-1]].state not in _DONE:
                return at
            newer = [each.first for each in self.batches[covering[-1] + 1 :] if each.first > at]
            at = min([self.batches[covering[-1]].last + 1, *newer])

    def has_done_from(self, offset: int) -> bool:
        """Return whether a record at this offset or after it is done."""
        return any(each.last >= max(offset, self.start) and each.state in _DONE for each in self.batches)


def read_share_states(
    records: Iterable[Record], before: Mapping[Place, ShareState | None] = MappingProxyType({})
) -> dict[Place, ShareState | None]:
    """Return the state of each group in each of its partitions after these records.

    ``before`` is the state before the first one. An update says only what has changed: without a state before, it is
    not known (None). Nor is it after a record of another version.
    """
    found = {place: each and replace(each, batches=[*each.batches]) for place, each in before.items()}
    for key, value in records:
        parsed = None if key is None else _parse_key(key)
        if parsed is None:
            continue
        kind, place = parsed
        if value is None:
            found.pop(place, None)
            continue
        content = _parse_value(kind, value)
        state = found.get(place)
        if content is None or (kind == _UPDATE and state is None):
            found[place] = None
        elif kind == _SNAPSHOT:
            found[place] = content
        elif state is not None:
            state.start = max(content.start, state.start)
            state.batches += content.batches
    return found


def places_of(records: Iterable[Record]) -> set[Place]:
    """Return the groups' partitions that these records are about."""
    parsed = (None if key is None else _parse_key(key) for key, _value in records)
    return {each[1] for each in parsed if each is not None}


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


def _parse_value(kind: int, value: bytes) -> ShareState | None:
    """Return what a value says. Its start offset is -1 if an update does not change it.

    None if the value has another version.
    """
    with suppress(struct.error, IndexError, UnusualAnswerError):
        head = _HEADS[kind].unpack_from(value)
        if head[0] == 0:
            batches = [*_parse_batches(value, _HEADS[kind].size)]
            return ShareState(head[_START_AT[kind]], batches, head[_EPOCH_AT] if kind == _SNAPSHOT else -1)
    return None


def _parse_batches(value: bytes, at: int) -> Iterator[_Batch]:
    """Yield the elements of a compact array: its length is one less than the varint. Each ends with its tags."""
    count, at = read_varint(value, at)
    for _number in range(count - 1):
        first, last, state, _deliveries = _BATCH.unpack_from(value, at)
        yield _Batch(first, last, state)
        tags, at = read_varint(value, at + _BATCH.size)
        if tags:
            raise UnusualAnswerError("a state batch has tags")
