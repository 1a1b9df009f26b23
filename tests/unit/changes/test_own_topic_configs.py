# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Records of our own topics, decoded with each codec, and configs that an earlier run did not set."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from crc32c import crc32c
from kafka.record.memory_records import MemoryRecordsBuilder

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.topic_by_name import (
    TopicByName,
    TopicUnavailableError,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.topics import (
    OWN_TOPIC_CONFIG,
    UnreadableRecordsError,
    decode_content,
)
from unit.fakes.topics import TOPIC_AUTHORIZATION_FAILED, FakeTopics

ADDRESS = Address("broker-1.invalid", 9092)
HEADER_BYTES = 61
GZIP, SNAPPY, LZ4, ZSTD = range(1, 5)


def batch(codec: int) -> bytes:
    """Two records as a broker stores them that compresses with this codec."""
    builder: Any = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1 << 20)
    for number in range(2):
        builder.append(timestamp=1, key=b"key", value=b"value-%d" % number)
    builder.close()
    plain = bytes(builder.buffer())
    records = plain[HEADER_BYTES:]
    compressed: dict[int, Callable[[], bytes]] = {
        GZIP: lambda: gzip.compress(records),
        SNAPPY: lambda: pa.compress(records, codec="snappy", asbytes=True),
        LZ4: lambda: pa.compress(records, codec="lz4", asbytes=True),
        ZSTD: lambda: pa.compress(records, codec="zstd", asbytes=True),
    }
    payload = compressed.get(codec, lambda: records)()
    rest = struct.pack(">h", codec) + plain[23:HEADER_BYTES] + payload
    head = plain[:8] + struct.pack(">i", 9 + len(rest)) + plain[12:17] + struct.pack(">I", crc32c(rest))
    return head + rest


@pytest.mark.parametrize("codec", [0, GZIP, SNAPPY, LZ4, ZSTD])
def test_records_are_decoded_with_each_codec_that_a_broker_can_choose(codec: int) -> None:
    assert decode_content(ADDRESS, batch(codec)) == (
        [(0, (b"key", b"value-0")), (1, (b"key", b"value-1"))],
        2,
    )


def test_an_incomplete_last_batch_is_left_out() -> None:
    content = batch(ZSTD)
    assert decode_content(ADDRESS, content + content[:-1])[1] == 2


@pytest.mark.parametrize("codec", [5, 7])
def test_a_codec_that_no_release_has_is_an_error_and_not_a_traceback(codec: int) -> None:
    with pytest.raises(UnreadableRecordsError, match="offset 0"):
        decode_content(ADDRESS, batch(codec))


def own_topics(topics: FakeTopics) -> TopicByName:
    return TopicByName(topics, {1: ADDRESS}, {1: ADDRESS}, "t", "CREATE", 1.0)


def test_only_configs_that_differ_are_set() -> None:
    topics = FakeTopics()
    topics.create_topic(ADDRESS, "t", [1], {**OWN_TOPIC_CONFIG, "compression.type": "zstd"})
    own_topics(topics).repair(OWN_TOPIC_CONFIG)
    assert topics.topics["t"].configs == {**OWN_TOPIC_CONFIG}
    topics.sent.clear()
    own_topics(topics).repair(OWN_TOPIC_CONFIG)
    assert topics.sent == ["DescribeConfigs"]


def test_who_may_not_set_them_gets_the_command_for_an_administrator() -> None:
    topics = FakeTopics()
    topics.create_topic(ADDRESS, "t", [1], {**OWN_TOPIC_CONFIG, "retention.ms": "1"})
    topics.errors["IncrementalAlterConfigs"] = TOPIC_AUTHORIZATION_FAILED
    with pytest.raises(
        TopicUnavailableError, match=r"kafka-configs\.sh .* --entity-name t --add-config retention.ms=-1"
    ):
        own_topics(topics).repair(OWN_TOPIC_CONFIG)


@pytest.mark.parametrize("exists", [True, False])
def test_who_may_not_read_them_uses_the_topic_as_it_is(exists: bool) -> None:
    topics = FakeTopics()
    if exists:
        topics.create_topic(ADDRESS, "t", [1], {})
        topics.errors["DescribeConfigs"] = TOPIC_AUTHORIZATION_FAILED
    own_topics(topics).repair(OWN_TOPIC_CONFIG)
    assert "IncrementalAlterConfigs" not in topics.sent
