# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Encoding and decoding by column gives the same bytes and values as kafka-python's schemas."""

from __future__ import annotations

import contextlib
import struct
from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.admin import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from kafka.protocol.consumer import FetchRequest, FetchResponse, ListOffsetsRequest, ListOffsetsResponse

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka import epochs as epoch_probe
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka import (
    held_replicas,
    log_dirs,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.bulk import (
    BulkAnswer,
    BulkRequest,
    UnusualAnswerError,
    encode_size,
    read_varint,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from unit.fakes.recording_connection import RecordingConnection
from unit.kafka.fake_connection import to_kafka_python

INT16, INT32, INT64 = (st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (16, 32, 64))
TOPICS = st.text(min_size=1, max_size=40)
PARTITIONS = st.dictionaries(st.builds(TopicPartition, TOPICS, st.integers(0, 2**31 - 1)), st.integers(0, 2**31 - 1))


def asked(function: Any, *arguments: Any) -> BulkRequest[Any]:
    connection = RecordingConnection()
    function(connection, *arguments)
    return connection.request


def probe(epochs: dict[TopicPartition, int]) -> BulkRequest[Any]:
    questions: dict[str, dict[int, int]] = defaultdict(dict)
    for each, epoch in epochs.items():
        questions[each.topic][each.partition] = epoch
    return epoch_probe.epochs_request(questions)


@given(PARTITIONS)
def test_an_epoch_probe_is_the_fetch_that_the_schema_writes(epochs: dict[TopicPartition, int]) -> None:
    request = probe(epochs)
    typed = to_kafka_python(request)
    assert typed.encode(version=12) == request.body
    found = {TopicPartition(t.topic, p.partition): p.last_fetched_epoch for t in typed.topics for p in t.partitions}
    assert found == epochs
    assert (typed.replica_id, typed.max_wait_ms, typed.session_epoch) == (-1, 0, -1)
    assert isinstance(typed, FetchRequest)


@given(PARTITIONS)
def test_a_question_for_offsets_is_what_the_schema_writes(partitions: dict[TopicPartition, int]) -> None:
    request = asked(held_replicas.held_offsets, list(partitions), held_replicas.HeldOffset.LOG_START)
    typed = to_kafka_python(request)
    assert typed.encode(version=7) == request.body
    assert {TopicPartition(t.name, p.partition_index) for t in typed.topics for p in t.partitions} == set(partitions)
    assert all(p.timestamp == -2 for t in typed.topics for p in t.partitions)
    assert typed.replica_id == -2
    assert isinstance(typed, ListOffsetsRequest)


OFFSETS = st.lists(st.tuples(TOPICS, st.lists(st.tuples(INT32, INT16, INT64, INT64, INT32), max_size=300)), max_size=4)


@given(OFFSETS, INT32)
def test_offsets_are_read_as_the_schema_reads_them(topics: list[Any], throttle: int) -> None:
    message = ListOffsetsResponse.ListOffsetsTopicResponse
    names = ("partition_index", "error_code", "timestamp", "offset", "leader_epoch")
    response = ListOffsetsResponse(
        throttle_time_ms=throttle,
        topics=[
            message(
                name=name,
                partitions=[
                    message.ListOffsetsPartitionResponse(**dict(zip(names, each, strict=True))) for each in partitions
                ],
            )
            for name, partitions in topics
        ],
    )
    encoded = response.encode(version=7)
    expected = held_replicas._convert_answer(ListOffsetsResponse.decode(encoded, version=7))
    assert held_replicas._read_answer(memoryview(encoded)) == BulkAnswer(throttle, expected)


@given(st.none() | st.lists(st.builds(TopicPartition, TOPICS, st.integers(0, 2**31 - 1)), unique=True))
def test_a_question_for_log_directories_is_what_the_schema_writes(partitions: list[TopicPartition] | None) -> None:
    request = asked(log_dirs.describe_log_dirs, partitions)
    typed = to_kafka_python(request)
    assert typed.encode(version=3) == request.body
    if partitions is None:
        assert typed.topics is None
    else:
        assert {TopicPartition(t.topic, p) for t in typed.topics for p in t.partitions} == set(partitions)
    assert isinstance(typed, DescribeLogDirsRequest)


# Few names, so that two directories have replicas of the same partition.
ON_DISK = st.lists(
    st.tuples(st.sampled_from("ab"), st.lists(st.tuples(st.integers(0, 5), INT64, INT64, st.booleans()), max_size=200)),
    max_size=4,
)
DIRECTORIES = st.lists(st.tuples(st.sampled_from([0, 0, 56]), TOPICS, ON_DISK), max_size=4)


@given(DIRECTORIES, st.sampled_from([0, 0, 31]), INT32)
def test_log_directories_are_read_as_the_schema_reads_them(directories: list[Any], code: int, throttle: int) -> None:
    message = DescribeLogDirsResponse.DescribeLogDirsResult
    entry = message.DescribeLogDirsTopic.DescribeLogDirsPartition
    names = ("partition_index", "partition_size", "offset_lag", "is_future_key")
    response = DescribeLogDirsResponse(
        throttle_time_ms=throttle,
        error_code=code,
        results=[
            message(
                error_code=error,
                log_dir=log_dir,
                topics=[
                    message.DescribeLogDirsTopic(
                        name=name, partitions=[entry(**dict(zip(names, each, strict=True))) for each in partitions]
                    )
                    for name, partitions in topics
                ],
            )
            for error, log_dir, topics in directories
        ],
    )
    encoded = response.encode(version=3)
    expected = BulkAnswer(throttle, log_dirs._convert_answer(DescribeLogDirsResponse.decode(encoded, version=3)))
    request = asked(log_dirs.describe_log_dirs, None)
    assert request.decode(encoded) == expected
    if not code:
        assert log_dirs._read_answer(memoryview(encoded)) == expected


PROBES = st.lists(
    st.tuples(
        TOPICS,
        st.lists(
            st.tuples(INT32, st.sampled_from([0, 0, 1, 3]), INT64, st.none() | st.tuples(INT32, INT64)), max_size=200
        ),
    ),
    max_size=4,
)


def probed(topics: list[Any], **more: Any) -> bytes:
    message = FetchResponse.FetchableTopicResponse
    entry = message.PartitionData
    response = FetchResponse(
        throttle_time_ms=7,
        error_code=0,
        session_id=0,
        responses=[
            message(
                topic=name,
                partitions=[
                    entry(
                        partition_index=number,
                        error_code=code,
                        high_watermark=watermark,
                        last_stable_offset=watermark,
                        log_start_offset=0,
                        diverging_epoch=entry.EpochEndOffset(epoch=end[0], end_offset=end[1]) if end else None,
                        preferred_read_replica=-1,
                        **{"aborted_transactions": None, "records": b"", **more},
                    )
                    for number, code, watermark, end in partitions
                ],
            )
            for name, partitions in topics
        ],
    )
    return bytes(response.encode(version=12))


@given(PROBES)
def test_probes_are_read_as_the_schema_reads_them(topics: list[Any]) -> None:
    encoded = probed(topics)
    expected = epoch_probe._convert_answer(FetchResponse.decode(encoded, version=12))
    assert epoch_probe._read_answer(memoryview(encoded)) == BulkAnswer(7, expected)


@pytest.mark.parametrize("more", [{"records": b"some"}, {"aborted_transactions": []}, {"records": None}])
def test_unusual_answer_is_decoded_by_kafka_python(more: dict[str, Any]) -> None:
    encoded = probed([("orders", [(0, 0, 5, (3, 5)), (1, 1, -1, None)])], **more)
    request = probe({})
    expected = epoch_probe._convert_answer(FetchResponse.decode(encoded, version=12))
    assert request.decode(encoded) == BulkAnswer(7, expected)


def test_answer_with_records_is_decoded_by_kafka_python() -> None:
    with pytest.raises(UnusualAnswerError):
        epoch_probe._read_answer(memoryview(probed([("orders", [(0, 0, 5, (3, 5))])], records=b"some")))


DAMAGED = (ValueError, struct.error)
"""What kafka-python takes for a bad answer. After any other error, it waits for the answer until the time limit."""


@pytest.mark.parametrize("cut", [1, 10, 30])
def test_truncated_answer_is_an_error(cut: int) -> None:
    encoded = probed([("orders", [(0, 0, 5, (3, 5)), (1, 1, -1, None)])])
    with pytest.raises(DAMAGED):
        probe({}).decode(encoded[:-cut])


@given(st.data())
def test_an_answer_with_other_bytes_is_read_or_is_an_error(data: st.DataObject) -> None:
    encoded = bytearray(probed([("orders", [(0, 0, 5, (3, 5)), (1, 1, -1, None)])]))
    for place in data.draw(st.lists(st.integers(0, len(encoded) - 1), min_size=1, max_size=4)):
        encoded[place] = data.draw(st.integers(0, 255))
    with contextlib.suppress(*DAMAGED):
        assert probe({}).decode(bytes(encoded)).throttle_time_ms is not None


@given(st.integers(0, 2**31 - 2))
def test_sizes_are_read_as_written(size: int) -> None:
    packed = encode_size(size)
    assert read_varint(memoryview(packed), 0) == (size + 1, len(packed))


FOUR_BILLION = b"\xff\xff\xff\xff\x0f"
ONE_TOPIC = b"\2a\1\0"
"""Named a, without partitions."""


@pytest.mark.parametrize(
    "topics",
    [
        # One less than no partitions are 28 bytes back: where this topic begins.
        pytest.param(FOUR_BILLION + ONE_TOPIC + b"\x1a" + b"a" * 25 + b"\0", id="a topic that ends where it begins"),
        pytest.param(FOUR_BILLION + b"\0" * 40, id="topics without a name"),
        pytest.param(b"\0\0", id="no list of topics"),
        pytest.param(b"\xff" * 200_000, id="a size without end"),
    ],
)
def test_invalid_sizes_are_unusual(topics: bytes) -> None:
    with pytest.raises(UnusualAnswerError):
        held_replicas._read_answer(memoryview(bytes(4) + topics))
    with pytest.raises(DAMAGED):
        asked(held_replicas.held_offsets, [], held_replicas.HeldOffset.LOG_END).decode(bytes(4) + topics)


def test_reading_ends_if_the_topic_count_exceeds_the_data() -> None:
    with pytest.raises(IndexError):
        held_replicas._read_answer(memoryview(bytes(4) + FOUR_BILLION + ONE_TOPIC * 40))
