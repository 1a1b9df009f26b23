# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A member of a streams group, without Kafka Streams: StreamsGroupHeartbeat (API key 88, version 0)."""

from __future__ import annotations

import socket
import struct

from lab import Cluster, settings
from lab.wire import read_exactly

_MEMBER = "a" * 22
_JOINS, _LEAVES = 0, -1
_NULL = b"\x00"
_NO_STRUCT = b"\xff"


def join(cluster: Cluster, group: str, topic: str) -> None:
    """Join the group with one task source, ``topic``. Without heartbeats, the session ends after 45 s."""
    subtopology = _text("0") + b"\x02" + _text(topic) + b"\x01" * 5 + b"\x00"
    topology = b"\x01" + struct.pack(">i", 0) + b"\x02" + subtopology + b"\x00"
    _heartbeat(cluster, group, _JOINS, 60_000, topology, tasks=b"\x01" * 3, process=_text("p"))


def leave(cluster: Cluster, group: str) -> None:
    _heartbeat(cluster, group, _LEAVES, -1, _NO_STRUCT, tasks=_NULL * 3, process=_NULL)


def _heartbeat(
    cluster: Cluster, group: str, epoch: int, timeout_ms: int, topology: bytes, *, tasks: bytes, process: bytes
) -> None:
    """Raise RuntimeError with the code of a refusal."""
    body = _text(group) + _text(_MEMBER) + struct.pack(">ii", epoch, 0) + _NULL * 2 + struct.pack(">i", timeout_ms)
    # No user endpoint, no client tags, no task offsets and ends, no shutdown, no tagged fields.
    body += topology + tasks + process + _NO_STRUCT + _NULL * 3 + b"\x00\x00"
    header = struct.pack(">hhih3sx", 88, 0, 1, 3, b"lab")
    broker = cluster.brokers[1]
    with socket.create_connection((broker.host, broker.ports[settings.INTERNAL]), timeout=10) as connection:
        connection.sendall(struct.pack(">i", len(header + body)) + header + body)
        (size,) = struct.unpack(">i", read_exactly(connection, 4))
        answer = read_exactly(connection, size)
    # Correlation id, no tagged fields, throttle time, error code.
    _correlation_id, _throttle_ms, code = struct.unpack_from(">ixih", answer)
    if code:
        raise RuntimeError(f"the heartbeat was refused: error {code}")


def _text(value: str) -> bytes:
    return bytes([len(value) + 1]) + value.encode()
