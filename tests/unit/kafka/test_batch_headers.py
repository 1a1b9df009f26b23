# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask for headers of batches, as kafka-python encodes the request, and read large batches one by one."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from kafka.protocol.consumer import FetchResponse

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.batch_headers import (
    BatchEpoch,
    HeaderAnswer,
    Headers,
    headers_request,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.bulk import BulkRequest
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.header_reading import ask_batches, read_headers
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.header_search import HeaderSearch
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.lockstep import in_lockstep
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.messages import FUTURE_REPLICA, fetch_request
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Cause,
    EpochEnd,
    TopicPartition,
)

ORDERS, OTHERS, LARGE = TopicPartition("orders", 7), TopicPartition("others", 7), TopicPartition("large", 7)
_LIMIT = 2**31 - 1


def a_batch(base: int, epoch: int, last: int, magic: int = 2) -> bytes:
    return struct.pack(">qiibIhi", base, 57, epoch, magic, 0, 0, last) + bytes(42)


def an_answer(records: bytes | None, error: int = 0) -> bytes:
    partition = FetchResponse.FetchableTopicResponse.PartitionData(
        partition_index=7,
        error_code=error,
        high_watermark=3,
        last_stable_offset=3,
        log_start_offset=0,
        aborted_transactions=None,
        preferred_read_replica=-1,
        records=records,
    )
    topic = FetchResponse.FetchableTopicResponse(topic="orders", partitions=[partition])
    return bytes(FetchResponse(throttle_time_ms=0, error_code=0, session_id=0, responses=[topic]).encode(version=12))


def test_the_request_is_encoded_as_by_kafka_python() -> None:
    expected = bytes(fetch_request(ORDERS, 41, _LIMIT, FUTURE_REPLICA).encode(version=12))
    assert headers_request({"orders": {7: 41}}, _LIMIT).body == expected


def test_the_header_of_the_first_batch_is_read() -> None:
    request = headers_request({"orders": {7: 41}}, 1)
    records = a_batch(40, 6, 9) + a_batch(50, 7, 0)
    for content, header in (
        (records, BatchEpoch(6, 40, 50)),
        (a_batch(40, 6, 9, magic=1), BatchEpoch(-1, 40, 41)),
        (a_batch(40, 6, -2), None),
        (b"", None),
        (None, None),
    ):
        assert request.decode(an_answer(content)).value == {"orders": {7: HeaderAnswer(0, header, len(content or b""))}}
    assert request.decode(an_answer(None, error=6)).value == {"orders": {7: HeaderAnswer(6, None, 0)}}


def test_only_a_batch_as_its_leader_wrote_it_has_a_checksum() -> None:
    """A log cleaner removes records, and puts a time into batches with tombstones, whose checksum changes with it."""
    for attributes, count, checksum in ((0, 10, 7), (1 << 4, 10, 7), (0, 9, None), (1 << 6, 10, None)):
        batch = struct.pack(">qiibIhi30xi", 40, 57, 6, 2, 7, attributes, 9, count)
        found = headers_request({"orders": {7: 41}}, 1).decode(an_answer(batch)).value["orders"][7]
        assert found.batch == BatchEpoch(6, 40, 50, checksum)


def test_large_batches_are_asked_for_with_a_higher_limit_and_then_one_by_one() -> None:
    """The broker sends no batch above the limit, except for a request about one partition."""
    searches = {ORDERS: HeaderSearch(0, 30), OTHERS: HeaderSearch(0, 8), LARGE: HeaderSearch(0, 30)}
    answers = {ORDERS: BatchEpoch(4, 0, 30), OTHERS: BatchEpoch(1, 0, 8), LARGE: BatchEpoch(4, 0, 30)}
    sizes = {OTHERS: 90, ORDERS: 17_000, LARGE: 900_000}
    steps = []

    def call(requests: Sequence[BulkRequest[Headers]]) -> list[Headers]:
        """Answer about the first and the last offset of each log, which are in one batch."""
        asked = [[each for each in sizes if each.topic.encode() in request.body] for request in requests]
        steps.append(asked)
        limit = {1: 4096, 2: 20_480, 3: 10**6}[len(steps)]
        return [
            {each.topic: {7: HeaderAnswer(0, answers[each], sizes[each])} for each in some if sizes[each] < limit}
            for some in asked
        ]

    in_lockstep(call, [read_headers(searches)])
    assert steps == [[[OTHERS, ORDERS, LARGE]] * 2, [[ORDERS, LARGE]] * 2, [[LARGE]] * 2]
    assert searches[ORDERS].lineage == searches[LARGE].lineage == (EpochEnd(4, 30),)
    assert searches[OTHERS].lineage == (EpochEnd(1, 8),)


def test_a_broker_without_an_address_did_not_answer() -> None:
    with Wire(settings_from({"bootstrap_servers": "localhost:1"})) as wire:
        found = ask_batches(wire, {}, {2: {ORDERS: {7}}})
    assert found.at(2, ORDERS, 7) is None
    assert found.failed[2].cause is Cause.UNREACHABLE
