# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The frequent answers of a gather, encoded by column: the same as of broker.py, about ten times as fast.

tests/unit/simulator/test_columns.py compares both, to the byte.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.bulk import (
    encode_size,
    read_size,
    read_text,
    read_varint,
)
from lab.request import Request
from simulator import messages
from simulator.pages import page_of
from simulator.world import LOG_DIR, Log, Partition, World

_EARLIEST = -2
_DEBUGGING_REPLICA = -2
_OFFSET_OUT_OF_RANGE, _UNKNOWN, _LEADER_NOT_AVAILABLE, _NOT_LEADER = 1, 3, 5, 6
_EXTRA_NO_TAGS = b"\0"

_NOT_ASKED_NO_TAGS = struct.pack(">iB", -(2**31), 0)
"""The allowed operations on a topic."""
_OFFSETS_HEAD = struct.Struct(">ib")
_OFFSET_ASKED = struct.Struct(">iiqB")
_OFFSET_ANSWER = struct.Struct(">ihqqiB")
_FETCH_HEAD = struct.Struct(">iiiibii")
_PROBE_ASKED = struct.Struct(">iiqiqiB")
_NUMBER = struct.Struct(">i")
_PROBE_ANSWER = struct.Struct(">hqqqBiBB")
_READ_ANSWER = struct.Struct(">hqqqBi")
_DIVERGING = struct.Struct(">BBiqB")
_VERDICT = struct.Struct(">ihBB")
_UNCLEAN = 1
_ON_DISK = struct.Struct(">iqq?B")

Reply = Callable[[str, tuple[Any, ...]], bytes]


def _answer(request: Request, head: struct.Struct, asked: struct.Struct, reply_head: bytes, reply: Reply) -> bytes:
    view = memoryview(request.payload)
    place = _after_header(view) + head.size
    topics, place = read_varint(view, place)
    parts = [request.payload[4:8], _EXTRA_NO_TAGS, reply_head, encode_size(topics - 1)]
    for _topic in range(topics - 1):
        size, place = read_varint(view, place)
        name = str(view[place : place + size - 1], "utf-8")
        count, place = read_varint(view, place + size - 1)
        end = place + (count - 1) * asked.size
        parts += [encode_size(size - 1), name.encode(), encode_size(count - 1)]
        parts += [reply(name, each) for each in asked.iter_unpack(view[place:end])]
        parts.append(b"\0")
        place = end + 1
    parts.append(b"\0")
    return b"".join(parts)


def _offsets(world: World, broker_id: int, request: Request) -> bytes:
    (replica_id,) = struct.unpack_from(">i", request.payload, _after_header(memoryview(request.payload)))

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
    known: dict[tuple[int, int, int], bytes] = {}  # many partitions share a log, and are asked about the same place

    def reply(topic: str, asked: tuple[Any, ...]) -> bytes:
        number, _leader_epoch, offset, epoch, *_rest = asked
        held = world.held(broker_id, topic, number)
        key = (id(held[1]) if held else 0, offset, epoch)
        if key not in known:
            known[key] = _fetch_answer(held[1] if held else None, offset, epoch)
        return _NUMBER.pack(number) + known[key]

    return _answer(request, _FETCH_HEAD, _PROBE_ASKED, struct.pack(">ihi", 0, 0, 0), reply)


def _fetch_answer(log: Log | None, offset: int, epoch: int) -> bytes:
    """Return the answer about a log without the number of its partition."""
    if log and (batch := log.batch_at(offset)):
        read = _READ_ANSWER.pack(0, log.high_watermark, log.high_watermark, log.log_start_offset, 0, -1)
        return b"".join([read, encode_size(len(batch)), batch, b"\0"])
    found = log.diverging_epoch(epoch) if log else None
    if log is None or found is None:
        return _PROBE_ANSWER.pack(_OFFSET_OUT_OF_RANGE if log else _UNKNOWN, -1, -1, -1, 0, -1, 1, 0)
    reported = _PROBE_ANSWER.pack(0, log.high_watermark, log.high_watermark, log.log_start_offset, 0, -1, 1, 1)
    return reported + _DIVERGING.pack(0, 13, *found, 0)


def _new_orders(world: World, _broker_id: int, request: Request) -> bytes:
    view = memoryview(request.payload)
    parts = [request.payload[4:8], _EXTRA_NO_TAGS, struct.pack(">i?hB", 0, False, 0, 0)]
    # After the header, the time limit and whether the number of replicas may change.
    topics, place = read_size(view, _after_header(view) + 5)
    parts.append(encode_size(topics))
    for _topic in range(topics):
        name, place = read_text(view, place)
        count, place = read_size(view, place)
        parts += [encode_size(len(name.encode())), name.encode(), encode_size(count)]
        for _partition in range(count):
            number, size = struct.unpack_from(">iB", view, place)
            replicas = struct.unpack_from(f">{size - 1}i", view, place + 5)
            place += 5 + 4 * (size - 1) + 1
            parts.append(_VERDICT.pack(number, world.reorder(name, number, replicas), 0, 0))
        place += 1
        parts.append(b"\0")
    return b"".join([*parts, b"\0"])


def _elections(world: World, _broker_id: int, request: Request) -> bytes:
    view = memoryview(request.payload)
    parts = [request.payload[4:8], _EXTRA_NO_TAGS, struct.pack(">ih", 0, 0)]
    place = _after_header(view)
    is_unclean = view[place] == _UNCLEAN
    topics, place = read_size(view, place + 1)
    parts.append(encode_size(topics))
    for _topic in range(topics):
        name, place = read_text(view, place)
        count, place = read_size(view, place)
        parts += [encode_size(len(name.encode())), name.encode(), encode_size(count)]
        for number in struct.unpack_from(f">{count}i", view, place):
            parts.append(_VERDICT.pack(number, world.elect(name, number, unclean=is_unclean), 0, 0))
        place += 4 * count + 1
        parts.append(b"\0")
    return b"".join([*parts, b"\0"])


def _after_header(view: memoryview) -> int:
    """Return the offset after key, version, correlation id, client id with its length in two bytes, and no tags."""
    return int(10 + max(0, struct.unpack_from(">h", view, 8)[0]) + 1)


def _log_dirs(world: World, broker_id: int, request: Request) -> bytes:
    view = memoryview(request.payload)
    topics, place = read_varint(view, _after_header(view))
    found: list[bytes] = []
    for _topic in range(topics - 1):
        size, place = read_varint(view, place)
        name = str(view[place : place + size - 1], "utf-8")
        count, place = read_varint(view, place + size - 1)
        numbers = struct.unpack_from(f">{count - 1}i", view, place)
        place += 4 * (count - 1) + 1
        held = [(number, one[1]) for number in numbers if (one := world.held(broker_id, name, number))]
        if held:
            entries = [_ON_DISK.pack(number, log.size_bytes, 0, False, 0) for number, log in held]
            found.append(b"".join([encode_size(size - 1), name.encode(), encode_size(len(held)), *entries, b"\0"]))
    one_directory = [encode_size(1), struct.pack(">h", 0), encode_size(len(LOG_DIR)), LOG_DIR.encode()]
    head = [request.payload[4:8], _EXTRA_NO_TAGS, struct.pack(">ih", 0, 0), *one_directory, encode_size(len(found))]
    return b"".join([*head, *found, b"\0\0"])


def _descriptions(world: World, _broker_id: int, request: Request) -> bytes:
    asked = messages.DESCRIBE_TOPIC_PARTITIONS.request.decode(request.payload, version=0, header=True)
    page = page_of(world, asked)
    parts = [request.payload[4:8], _EXTRA_NO_TAGS, struct.pack(">i", 0), encode_size(len(page.topics))]
    for name, numbers in page.topics:
        topic = world.topics.get(name)
        parts += [struct.pack(">h", _UNKNOWN if topic is None else 0), encode_size(len(name.encode())), name.encode()]
        parts += [topic.topic_id.bytes if topic else bytes(16), b"\0", encode_size(len(numbers or []))]
        parts += [_state(world, number, topic.partitions[number]) for number in numbers or []] if topic else []
        parts.append(_NOT_ASKED_NO_TAGS)
    if page.following:
        name, number = page.following
        parts += [b"\1", encode_size(len(name.encode())), name.encode(), struct.pack(">iB", number, 0)]
    else:
        parts.append(b"\xff")
    return b"".join([*parts, b"\0"])


def _state(world: World, number: int, partition: Partition) -> bytes:
    dead = [each for each in partition.replicas if each not in world.broker_ids]
    lists = (partition.replicas, partition.isr, partition.elr, partition.last_known_elr, dead)
    sizes = [len(each) for each in lists]
    values = [value for size, each in zip(sizes, lists, strict=True) for value in (size + 1, *each)]
    code = 0 if partition.leader >= 0 else _LEADER_NOT_AVAILABLE
    return _shape(*sizes).pack(code, number, partition.leader, partition.leader_epoch, *values, 0)


@cache
def _shape(*sizes: int) -> struct.Struct:
    """Return a partition with lists of these sizes, which are below 127."""
    return struct.Struct(f">hiii{''.join(f'B{size}i' for size in sizes)}B")


BY_COLUMN: dict[tuple[int, int], Callable[[World, int, Request], bytes]] = {
    (messages.LIST_OFFSETS.key, 7): _offsets,
    (messages.FETCH.key, 12): _probes,
    (messages.DESCRIBE_LOG_DIRS.key, 3): _log_dirs,
    (messages.ALTER_REASSIGNMENTS.key, 1): _new_orders,
    (messages.ELECT_LEADERS.key, 2): _elections,
    (messages.DESCRIBE_TOPIC_PARTITIONS.key, 0): _descriptions,
}
"""By API key and version."""
