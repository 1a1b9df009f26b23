# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is read of a request, and which ones count as writes."""

from __future__ import annotations

import struct

import pytest
from kafka.protocol.admin import AlterPartitionReassignmentsRequest, CreateTopicsRequest, DescribeConfigsRequest
from kafka.protocol.api_key import ApiKey
from kafka.protocol.metadata import MetadataRequest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes import run_topic
from lab.request import READ_KEYS, RUN_TOPIC, Request


def parse(payload: bytes) -> Request:
    return Request.parse(payload, broker=1, time=0.0)


def sent(message: MetadataRequest) -> Request:
    message.with_header(correlation_id=7, client_id="me")
    return parse(message.encode(header=True))


def test_the_header_is_read() -> None:
    request = sent(DescribeConfigsRequest[4](resources=[]))
    assert (request.name, request.api_version, request.correlation_id, request.client_id) == (
        "DescribeConfigs",
        4,
        7,
        "me",
    )
    assert not request.is_write


def test_a_client_without_a_name() -> None:
    assert parse(struct.pack(">hhih", 3, 0, 1, -1)).client_id is None


def test_the_body_is_decoded() -> None:
    topic = CreateTopicsRequest.CreatableTopic(name="orders", num_partitions=1, replication_factor=1)
    request = sent(CreateTopicsRequest[5](topics=[topic]))
    assert request.is_write
    assert [topic.name for topic in request.decode().topics] == ["orders"]


@pytest.mark.parametrize(
    ("names", "allowed", "is_write"), [(["orders"], True, True), (["orders"], False, False), (None, True, False)]
)
def test_metadata_writes_when_it_may_create_a_topic(names: list[str] | None, allowed: bool, is_write: bool) -> None:
    topics = None if names is None else [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
    assert sent(MetadataRequest[9](topics=topics, allow_auto_topic_creation=allowed)).is_write == is_write


def test_an_unknown_key_is_a_write() -> None:
    request = parse(struct.pack(">hhih", 1020, 0, 1, -1))
    assert (request.name, request.is_write) == ("1020", True)


@pytest.mark.parametrize("key", ["Produce", "ElectLeaders", "AlterPartitionReassignments", "IncrementalAlterConfigs"])
def test_writes_are_not_among_the_reads(key: str) -> None:
    assert ApiKey[key] not in READ_KEYS


@pytest.mark.parametrize(("topic", "is_reassignment"), [("orders", True), (run_topic.RUN_TOPIC, False)])
def test_followers_of_the_run_topic_are_no_reassignment(topic: str, is_reassignment: bool) -> None:
    message = AlterPartitionReassignmentsRequest
    wanted = message.ReassignableTopic
    partition = wanted.ReassignablePartition(partition_index=0, replicas=[1, 2])
    body = message[0](timeout_ms=1, topics=[wanted(name=topic, partitions=[partition])])
    assert sent(body).is_reassignment is is_reassignment
    assert run_topic.RUN_TOPIC == RUN_TOPIC
