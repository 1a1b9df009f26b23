# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Brokers that report more data are asked for the rest, within the limit, and not endlessly."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Sequence
from typing import Any, cast

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.connection import Connection
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.native import (
    NativeSource,
    messages,
    replica_log_ends,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause, TopicPartition
from unit.kafka.fake_connection import FakeConnection

KEY = 1020
TOPIC_ID = "4L6g3nShT-eMCtK--X86sw"
PARTITIONS = [TopicPartition("orders", number) for number in range(3)]
_MOST_REQUESTS = 10


class Broker(FakeConnection):
    """Reports the next list of partitions in each answer, and then always the last list."""

    def __init__(self, *reported: Sequence[int]) -> None:
        super().__init__(self._next)
        self._replies = list(reported)
        self.limits: list[int | None] = []

    def supports(self, _request_class: Any, _version: int) -> bool:
        return True

    def call(self, request: Any, *, timeout_ms: int | None = None) -> Any:
        self.limits.append(timeout_ms)
        assert len(self.limits) <= _MOST_REQUESTS, "asked for ever"
        return super().call(request, timeout_ms=timeout_ms)

    def _next(self, request: Any) -> Any:
        _request_class, response = messages(KEY)
        topic = response.TopicPartitionLogInfo
        reported = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        return response(
            throttle_time_ms=0,
            broker_epoch=7,
            has_more_data=2 not in reported,
            topic_partition_log_info_list=[
                topic(
                    topic_id=request.topic_partitions[0].topic_id,
                    partition_log_info=[
                        topic.PartitionLogInfo(
                            partition=number, partition_leader_epoch=5, log_end_offset=100 + number, error_code=0
                        )
                        for number in reported
                    ],
                )
            ],
        )


def asked(broker: Broker) -> list[list[int]]:
    return [list(each.topic_partitions[0].partitions) for each in broker.requests]


def test_remaining_partitions_are_requested_within_the_remaining_time() -> None:
    broker = Broker([0], [1], [2])
    limits = iter([300, 200, 100])
    answer = replica_log_ends(
        cast(Connection, broker), NativeSource(KEY), {"orders": TOPIC_ID}, PARTITIONS, limit_ms=lambda: next(limits)
    )
    assert asked(broker) == [[0, 1, 2], [1, 2], [2]]
    assert broker.limits == [300, 200, 100]
    assert {each: [reported.offset for reported in logs] for each, logs in answer.logs.items()} == {
        each: [100 + each.partition] for each in PARTITIONS
    }


@pytest.mark.parametrize(
    "reported", [[[0], [0]], [[0], [99]], [[0], []], [[]]], ids=["again", "unasked", "none", "never"]
)
def test_answer_without_progress_is_a_bad_answer(reported: list[list[int]]) -> None:
    with pytest.raises(BrokerCallError, match="it announces more partitions, and") as refusal:
        replica_log_ends(cast(Connection, Broker(*reported)), NativeSource(KEY), {"orders": TOPIC_ID}, PARTITIONS)
    assert refusal.value.cause is Cause.BAD_ANSWER


def test_the_fields_come_in_the_order_of_the_proposal() -> None:
    """Compare with bytes that are written by hand: the simulator uses the definition of the code under test."""
    request_class, response_class = messages(KEY)
    topic_id = uuid.UUID(int=77)
    request = request_class(
        topic_partitions=[request_class.TopicPartitions(topic_id=topic_id, partitions=[1])], version=0
    )
    # A compact array has its length + 1; each structure ends with its number of tagged fields.
    assert bytes(request.encode()) == b"\x02" + topic_id.bytes + b"\x02" + struct.pack(">i", 1) + b"\x00\x00"
    log = struct.pack(">iiqh", 1, 5, 1234, 6)  # partition, partition leader epoch, log end offset, error code
    payload = struct.pack(">iq?", 0, 9, False) + b"\x02" + topic_id.bytes + b"\x02" + log + b"\x00\x00\x00"
    response = response_class.decode(payload, version=0)
    assert (response.broker_epoch, response.has_more_data) == (9, False)
    (found,) = response.topic_partition_log_info_list[0].partition_log_info
    assert (found.partition, found.partition_leader_epoch, found.log_end_offset, found.error_code) == (1, 5, 1234, 6)
