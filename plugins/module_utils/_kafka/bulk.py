# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Encode and decode requests about thousands of partitions without an object for each partition. No I/O.

kafka-python creates an object for each partition of a request and of an answer. In a gather from a million replicas,
with five to seven requests each, that took more than half of the CPU time (docs/performance.md). The readers here
follow kafka-python's own schemas, in one version each. kafka-python decodes every answer that they do not expect.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .._model.partition import TopicPartition

_LENGTH = struct.Struct(">i")
_ONE_BYTE = 0x80
_MAX_SHIFT = 28
"""A size has at most 32 bits, seven in each byte."""

Value = TypeVar("Value")


class UnusualAnswerError(Exception):
    """The answer is valid, but has fields that the fast reader does not expect: kafka-python must decode it."""


@dataclass(frozen=True, slots=True)
class BulkAnswer(Generic[Value]):
    """A decoded answer. kafka-python itself reads ``throttle_time_ms``."""

    throttle_time_ms: int
    value: Value


@dataclass(frozen=True, slots=True)
class RequestVersion(Generic[Value]):
    """A request in one version."""

    body: bytes
    """The encoded fields."""
    read: Callable[[memoryview], BulkAnswer[Value]]
    """Decodes the answer. Raises UnusualAnswerError, IndexError or struct.error if kafka-python must decode it."""


class BulkRequest(Generic[Value]):
    """A request with the interface that kafka-python's connection expects of its own requests.

    ``message`` and ``response`` are kafka-python's classes. ``versions`` are the versions to offer; kafka-python picks
    the newest that the broker supports. ``convert`` converts an answer that kafka-python decoded.
    """

    def __init__(
        self,
        message: Any,
        response: Any,
        versions: Mapping[int, RequestVersion[Value]],
        convert: Callable[[Any], Value],
    ) -> None:
        self.message = message
        self.response = response
        self.API_VERSION: int | None = None  # kafka-python sets it once it knows the broker's versions
        self.API_KEY = message.API_KEY
        self.name = message.name
        self.min_version = self._min_version = min(versions)
        self.max_version = self._max_version = max(versions)
        self.header: _Header | None = None
        self._versions = versions
        self._convert = convert

    @property
    def version(self) -> int:
        """The version that kafka-python picked, or the newest one until then."""
        return self.max_version if self.API_VERSION is None else self.API_VERSION

    @property
    def body(self) -> bytes:
        return self._versions[self.version].body

    def with_header(self, correlation_id: int = 0, client_id: str = "") -> None:
        """Set the header. Part of the interface of kafka-python's requests."""
        self.header = _Header(self, correlation_id, client_id)

    def encode(self, *, framed: bool = False, header: bool = False) -> bytes:
        """Encode the request. Part of the interface of kafka-python's requests."""
        parts = [self.header.encoded() if header and self.header else b"", self.body]
        size = _LENGTH.pack(sum(map(len, parts))) if framed else b""
        return b"".join([size, *parts])

    def expect_response(self) -> bool:
        """Return whether there is an answer. Part of the interface of kafka-python's requests."""
        return True

    def decode(self, fields: bytes) -> BulkAnswer[Value]:
        """Decode the answer, without its header. Raises ValueError if it is damaged.

        After any other error, kafka-python would wait for the answer until the time limit.
        """
        try:
            return self._versions[self.version].read(memoryview(fields))
        except (UnusualAnswerError, IndexError, struct.error):
            pass
        try:
            answer = self.response.decode(fields, version=self.version)
            return BulkAnswer(answer.throttle_time_ms, self._convert(answer))
        except (AssertionError, AttributeError, LookupError, TypeError) as error:
            raise ValueError(f"a part of the answer is missing: {error}") from None


class _Header:
    """A request's header. kafka-python also asks it for the class that decodes the answer, which is this one."""

    def __init__(self, request: BulkRequest[Any], correlation_id: int, client_id: str) -> None:
        self.correlation_id = correlation_id
        self.api_key = request.API_KEY
        self.api_version = request.version
        self._client_id = client_id
        self._request = request

    def encoded(self) -> bytes:
        header = self._request.message.header_class(
            request_api_key=self.api_key,
            request_api_version=self.api_version,
            correlation_id=self.correlation_id,
            client_id=self._client_id,
        )
        return bytes(header.encode(flexible=True))

    def get_response_class(self) -> _Header:
        return self

    def parse_header(self, buffer: Any) -> Any:
        return self._request.response.parse_header(buffer, version=self.api_version)

    def decode(self, buffer: Any) -> BulkAnswer[Any]:
        return self._request.decode(buffer.read())


def encode_topics(topics: Mapping[str, Sequence[bytes]]) -> bytes:
    """Encode topics in the flexible encoding. Each has its name, its encoded partitions, and no tagged fields."""
    parts = [encode_size(len(topics))]
    for topic, entries in topics.items():
        name = topic.encode()
        parts += [encode_size(len(name)), name, encode_size(len(entries)), *entries, b"\0"]
    return b"".join(parts)


def encode_size(size: int) -> bytes:
    """Encode the size of a string or an array: in the flexible encoding, an unsigned varint of size + 1."""
    value, parts = size + 1, bytearray()
    while value >= _ONE_BYTE:
        parts.append(value & 0x7F | _ONE_BYTE)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def read_varint(view: memoryview | bytes, position: int) -> tuple[int, int]:
    """Read an unsigned varint and return it with the position after it. Raises UnusualAnswerError above 32 bits."""
    value = shift = 0
    while shift <= _MAX_SHIFT:
        byte = view[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < _ONE_BYTE:
            return value, position
        shift += 7
    raise UnusualAnswerError


def read_size(view: memoryview, position: int) -> tuple[int, int]:
    """Decode a size and return it with the position after it. Raises UnusualAnswerError for null, encoded as -1."""
    value, position = read_varint(view, position)
    if value < 1:
        raise UnusualAnswerError
    return value - 1, position


def read_text(view: memoryview, position: int) -> tuple[str, int]:
    """Read a string and return it with the position after it."""
    size, position = read_size(view, position)
    return str(view[position : position + size], "utf-8"), position + size


def skip_empty_tags(data: memoryview | bytes, position: int) -> int:
    """Return the position after an empty list of tagged fields. Raises UnusualAnswerError if it is not empty."""
    if data[position]:
        raise UnusualAnswerError
    return position + 1


ReadPartitions = Callable[[memoryview, int, int, str], int]
"""(view, position of the first partition, number of partitions, topic) -> the position after the last partition."""


def read_topics(view: memoryview, position: int, read_partitions: ReadPartitions) -> None:
    """Read the topics up to the end of the answer. Raises UnusualAnswerError if anything else follows."""
    if skip_empty_tags(view, read_each_topic(view, position, read_partitions)) != len(view):
        raise UnusualAnswerError


def read_each_topic(view: memoryview, position: int, read_partitions: ReadPartitions) -> int:
    """Read topics in the flexible encoding. Return the position after the last one."""
    topics, position = read_size(view, position)
    for _topic in range(topics):
        name, position = read_text(view, position)
        partitions, position = read_size(view, position)
        position = skip_empty_tags(view, read_partitions(view, position, partitions, name))
    return position


_RESULT = struct.Struct(">ihBB")
"""Partition, error code, and, if there is no error message, the null message and the number of tagged fields (0)."""


def read_results(view: memoryview, position: int) -> dict[TopicPartition, tuple[int, str | None]]:
    """Read each partition's error code and error message up to the end of the answer, as ``read_topics`` does."""
    results: dict[TopicPartition, tuple[int, str | None]] = {}

    def read_partitions(view: memoryview, position: int, count: int, topic: str) -> int:
        for _partition in range(count):
            number, code, size, tags = _RESULT.unpack_from(view, position)
            if size:
                message, position = read_text(view, position + _RESULT.size - 2)
                position = skip_empty_tags(view, position)
            else:
                message = None
                if tags:
                    raise UnusualAnswerError
                position += _RESULT.size
            results[TopicPartition(topic, number)] = (code, message)
        return position

    read_topics(view, position, read_partitions)
    return results
