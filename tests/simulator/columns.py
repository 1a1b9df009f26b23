# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The two answers that a gather asks for again and again, by column: what broker.py says, some ten times as fast.

tests/unit/simulator/test_columns.py compares both, to the byte.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.bulk import packed_size, read_varint
from lab.request import Request
from simulator import messages
from simulator.world import World

_EARLIEST = -2
_DEBUGGING_REPLICA = -2
_OFFSET_OUT_OF_RANGE, _UNKNOWN, _NOT_LEADER = 1, 3, 6
_EXTRA_NO_TAGS = b"\0"

_OFFSETS_HEAD = struct.Struct(">ib")
_OFFSET_ASKED = struct.Struct(">iiqB")
_OFFSET_ANSWER = struct.Struct(">ihqqiB")
_FETCH_HEAD = struct.Struct(">iiiibii")
_PROBE_ASKED = struct.Struct(">iiqiqiB")
_PROBE_ANSWER = struct.Struct(">ihqqqBiBB")
_DIVERGING = struct.Struct(">BBiqB")

Reply = Callable[[str, tuple[Any, ...]], bytes]


def _answer(request: Request, head: struct.Struct, asked: struct.Struct, reply_head: bytes, reply: Reply) -> bytes:
    view = memoryview(request.payload)
    # The header: key, version, correlation id, client id with its length in two bytes, no tags.
    place = 10 + max(0, struct.unpack_from(">h", view, 8)[0]) + 1 + head.size
    topics, place = read_varint(view, place)
    parts = [request.payload[4:8], _EXTRA_NO_TAGS, reply_head, packed_size(topics - 1)]
    for _topic in range(topics - 1):
        size, place = read_varint(view, place)
        name = str(view[place : place + size - 1], "utf-8")
        count, place = read_varint(view, place + size - 1)
        end = place + (count - 1) * asked.size
        parts += [packed_size(size - 1), name.encode(), packed_size(count - 1)]
        parts += [reply(name, each) for each in asked.iter_unpack(view[place:end])]
        parts.append(b"\0")
        place = end + 1
    parts.append(b"\0")
    return b"".join(parts)


def _offsets(world: World, broker_id: int, request: Request) -> bytes:
    head = 10 + max(0, struct.unpack_from(">h", request.payload, 8)[0]) + 1
    (replica_id,) = struct.unpack_from(">i", request.payload, head)

    def reply(topic: str, asked: tuple[Any, ...]) -> bytes:
        number, _epoch, timestamp, _tags = asked
        held = world.held(broker_id, topic, number)
        if held is None:
            return _OFFSET_ANSWER.pack(number, _UNKNOWN, -1, -1, -1, 0)
        partition, log = held
        if replica_id != _DEBUGGING_REPLICA and partition.leader != broker_id:
            return _OFFSET_ANSWER.pack(number, _NOT_LEADER, -1, -1, -1, 0)
        if timestamp == _EARLIEST:
            return _OFFSET_ANSWER.pack(number, 0, -1, log.log_start_offset, log.first_epoch, 0)
        return _OFFSET_ANSWER.pack(number, 0, -1, log.log_end_offset, partition.leader_epoch, 0)

    return _answer(request, _OFFSETS_HEAD, _OFFSET_ASKED, struct.pack(">i", 0), reply)


def _probes(world: World, broker_id: int, request: Request) -> bytes:
    def reply(topic: str, asked: tuple[Any, ...]) -> bytes:
        number, epoch = asked[0], asked[3]
        held = world.held(broker_id, topic, number)
        found = held[1].diverging_epoch(epoch) if held else None
        if held is None or found is None:
            code = _OFFSET_OUT_OF_RANGE if held else _UNKNOWN
            return _PROBE_ANSWER.pack(number, code, -1, -1, -1, 0, -1, 1, 0)
        log = held[1]
        reported = _PROBE_ANSWER.pack(
            number, 0, log.high_watermark, log.high_watermark, log.log_start_offset, 0, -1, 1, 1
        )
        return reported + _DIVERGING.pack(0, 13, *found, 0)

    return _answer(request, _FETCH_HEAD, _PROBE_ASKED, struct.pack(">ihi", 0, 0, 0), reply)


BY_COLUMN: dict[tuple[int, int], Callable[[World, int, Request], bytes]] = {
    (messages.LIST_OFFSETS.key, 7): _offsets,
    (messages.FETCH.key, 12): _probes,
}
"""By API key and version."""
