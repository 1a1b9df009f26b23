# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests about thousands of partitions, encoded and decoded by column instead of by object. No I/O.

kafka-python makes an object for each partition of a request and of an answer. Of a gather from a million replicas, five
to seven requests each, that was more than half of all CPU time (docs/benchmarks.md). What is read here is read as
kafka-python's own schemas say, in the one version that is asked for; whatever looks unusual is left to kafka-python.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

_LENGTH = struct.Struct(">i")
_ONE_BYTE = 0x80
_MOST_SHIFTED = 28
"""Bits: a size has 32 at most, seven to a byte."""

Value = TypeVar("Value")
_Row = TypeVar("_Row", bound=tuple[Any, ...])


def tuple_maker(kind: type[_Row]) -> Callable[[tuple[Any, ...]], _Row]:
    """Return what makes a NamedTuple from all of its fields: in a third of the time of its own constructor."""
    return partial(tuple.__new__, kind)


class UnusualAnswerError(Exception):
    """The bytes are not of the plain shape that is read by column. Nothing is wrong with that."""


@dataclass(frozen=True, slots=True)
class BulkAnswer(Generic[Value]):
    """What an answer says. kafka-python looks for ``throttle_time_ms``."""

    throttle_time_ms: int
    value: Value


@dataclass(frozen=True, slots=True)
class RequestVersion(Generic[Value]):
    """A request in one version."""

    body: bytes
    """The encoded fields."""
    read: Callable[[memoryview], BulkAnswer[Value]]
    """Takes the answer's fields; raises UnusualAnswerError, IndexError or struct.error for what it does not know."""


class BulkRequest(Generic[Value]):
    """Stands in for one of kafka-python's requests where its connection handles them.

    ``message`` and ``response`` are kafka-python's classes, ``forms`` the versions that are asked for, of which
    kafka-python takes the newest that the broker offers. ``convert`` takes kafka-python's own reading of an answer that
    is not read by column.
    """

    def __init__(
        self,
        message: Any,
        response: Any,
        forms: Mapping[int, RequestVersion[Value]],
        convert: Callable[[Any], Value],
    ) -> None:
        self.message = message
        self.response = response
        self.API_VERSION: int | None = None  # kafka-python fills it in, once it has compared versions with the broker
        self.API_KEY = message.API_KEY
        self.name = message.name
        self.min_version = self._min_version = min(forms)
        self.max_version = self._max_version = max(forms)
        self.header: _Header | None = None
        self._forms = forms
        self._convert = convert

    @property
    def version(self) -> int:
        """The version that is asked for, once kafka-python has taken one; before, the newest."""
        return self.max_version if self.API_VERSION is None else self.API_VERSION

    @property
    def body(self) -> bytes:
        return self._forms[self.version].body

    def with_header(self, correlation_id: int = 0, client_id: str = "") -> None:
        """Do what kafka-python's requests do under this name."""
        self.header = _Header(self, correlation_id, client_id)

    def encode(self, *, framed: bool = False, header: bool = False) -> bytes:
        """Do what kafka-python's requests do under this name."""
        parts = [self.header.encoded() if header and self.header else b"", self.body]
        size = _LENGTH.pack(sum(map(len, parts))) if framed else b""
        return b"".join([size, *parts])

    def expect_response(self) -> bool:
        """Do what kafka-python's requests do under this name."""
        return True

    def to_kafka_python(self) -> Any:
        """Return the same request as kafka-python's own object."""
        request = self.message.decode(self.body, version=self.version)
        request._header, request._min_version, request._max_version = None, self.version, self.version
        return request

    def decode(self, fields: bytes) -> BulkAnswer[Value]:
        """Decode the answer, without its header."""
        try:
            return self._forms[self.version].read(memoryview(fields))
        except (UnusualAnswerError, IndexError, struct.error):
            answer = self.response.decode(fields, version=self.version)
            return BulkAnswer(answer.throttle_time_ms, self._convert(answer))


class _Header:
    """A request's header, which kafka-python also asks for the class of the answer."""

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
    """Encode topics in the flexible encoding: name, the encoded partitions, no tags."""
    parts = [encode_size(len(topics))]
    for topic, entries in topics.items():
        name = topic.encode()
        parts += [encode_size(len(name)), name, encode_size(len(entries)), *entries, b"\0"]
    return b"".join(parts)


def encode_size(size: int) -> bytes:
    """Encode the size of a string or an array: the flexible encoding has size + 1 as an unsigned varint."""
    value = size + 1
    parts = bytearray()
    while value >= _ONE_BYTE:
        parts.append(value & 0x7F | _ONE_BYTE)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def read_varint(view: memoryview, place: int) -> tuple[int, int]:
    """Read an unsigned varint and return it with the place after it. Raises UnusualAnswerError above 32 bits."""
    value = shift = 0
    while shift <= _MOST_SHIFTED:
        byte = view[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < _ONE_BYTE:
            return value, place
        shift += 7
    raise UnusualAnswerError


def read_size(view: memoryview, place: int) -> tuple[int, int]:
    """Read what ``encode_size`` wrote. Raises UnusualAnswerError for null, since -1 would move the position back."""
    value, place = read_varint(view, place)
    if value < 1:
        raise UnusualAnswerError
    return value - 1, place


def read_text(view: memoryview, place: int) -> tuple[str, int]:
    """Read a string and return it with the place after it."""
    size, place = read_size(view, place)
    return str(view[place : place + size], "utf-8"), place + size


def skip_empty_tags(data: memoryview | bytes, place: int) -> int:
    """Return the place after the tags that a message could have here. Raises UnusualAnswerError where it has any."""
    if data[place]:
        raise UnusualAnswerError
    return place + 1


ReadPartitions = Callable[[memoryview, int, int, str], int]
"""(view, place of the first, how many, topic) -> the place after the last."""


def read_topics(view: memoryview, place: int, read_partitions: ReadPartitions) -> None:
    """Read topics, then no tags of the answer, and its end."""
    if skip_empty_tags(view, read_each_topic(view, place, read_partitions)) != len(view):
        raise UnusualAnswerError


def read_each_topic(view: memoryview, place: int, read_partitions: ReadPartitions) -> int:
    """Read topics in the flexible encoding: name, partitions, no tags. Return the place after the last."""
    topics, place = read_size(view, place)
    for _topic in range(topics):
        name, place = read_text(view, place)
        partitions, place = read_size(view, place)
        place = skip_empty_tags(view, read_partitions(view, place, partitions, name))
    return place


_VERDICT = struct.Struct(">ihBB")
"""Partition, error code; where there is no message, its absence and no tags."""


def read_partition_results(view: memoryview, place: int, count: int) -> tuple[list[tuple[int, int, str | None]], int]:
    """Read a controller's answers: partition, error code, error message. Return the place after the last, too."""
    verdicts: list[tuple[int, int, str | None]] = []
    for _partition in range(count):
        number, code, size, tags = _VERDICT.unpack_from(view, place)
        if size:
            message, place = read_text(view, place + _VERDICT.size - 2)
            place = skip_empty_tags(view, place)
        else:
            message = None
            if tags:
                raise UnusualAnswerError
            place += _VERDICT.size
        verdicts.append((number, code, message))
    return verdicts, place
