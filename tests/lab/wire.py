# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One request to one node over plaintext, so that the lab can ask one specific broker."""

from __future__ import annotations

import socket
import struct
import time
from typing import Any

from confluent_kafka.admin import AclBinding
from kafka.protocol.admin import (
    DescribeAclsRequest,
    DescribeAclsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafka.protocol.consumer import ListOffsetsRequest, ListOffsetsResponse
from kafka.protocol.metadata import MetadataRequest, MetadataResponse
from kafka.protocol.producer import ProduceRequest, ProduceResponse
from kafka.record.default_records import DefaultRecordBatchBuilder

_CORRELATION_ID = 1
_METADATA_VERSION = 9
_DESCRIBE_ACLS_VERSION = 2
_DESCRIBE_CONFIGS_VERSION = 4
_INCREMENTAL_ALTER_CONFIGS_VERSION = 1
_LIST_OFFSETS_VERSION = 7
_PRODUCE_VERSION = 9
_ACKS_ALL = -1
_UNLIMITED = 2**31 - 1
_DEBUGGING_REPLICA = -2
_LATEST = -1
_BROKER_RESOURCE = 4
_DYNAMIC_BROKER, _DYNAMIC_DEFAULT = 2, 3
_DELETE = 1
_SET_BY_KAFKA = "min.insync.replicas"
"""With ELR, the controller itself sets this cluster default, and refuses to delete it (KIP-966)."""
_PARTITIONS_PER_PAGE = 2000


def ask(host: str, port: int, request: Any, response_class: Any, *, timeout: float = 5.0) -> Any:
    """Send ``request`` (a kafka-python message with its version set) and return the decoded answer.

    Raises OSError (TimeoutError included) when the node does not answer within ``timeout`` seconds, or wrongly.
    """
    request.with_header(correlation_id=_CORRELATION_ID, client_id="lab")
    with socket.create_connection((host, port), timeout=timeout) as connection:
        connection.sendall(request.encode(header=True, framed=True))
        (size,) = struct.unpack(">i", read_exactly(connection, 4))
        answer = read_exactly(connection, size)
    (correlation_id,) = struct.unpack_from(">i", answer)
    if correlation_id != _CORRELATION_ID:
        raise ConnectionError(f"the answer has correlation id {correlation_id}, the request had {_CORRELATION_ID}")
    return response_class.decode(answer, version=request.API_VERSION, header=True)


def unregister_broker(host: str, port: int, broker_id: int, *, timeout: float = 5.0) -> None:
    """Unregister an offline broker (UnregisterBroker, API key 64, version 0).

    Raises OSError, and RuntimeError with the code of a refusal.
    """
    client = b"lab"
    header = struct.pack(f">hhih{len(client)}sx", 64, 0, _CORRELATION_ID, len(client), client)
    request = header + struct.pack(">ix", broker_id)
    with socket.create_connection((host, port), timeout=timeout) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        (size,) = struct.unpack(">i", read_exactly(connection, 4))
        answer = read_exactly(connection, size)
    # Correlation id, no tagged fields, throttle time, error code.
    _correlation_id, _throttle_ms, code = struct.unpack_from(">ixih", answer)
    if code:
        raise RuntimeError(f"broker {broker_id} was not unregistered: error {code}")


def metadata(host: str, port: int, *, timeout: float = 5.0) -> Any:
    """Return the Metadata response, without topics, of one broker: its view of who is unfenced."""
    request = MetadataRequest[_METADATA_VERSION](topics=[], allow_auto_topic_creation=False)
    return ask(host, port, request, MetadataResponse, timeout=timeout)


def topic_partitions(host: str, port: int, topic: str, *, timeout: float = 5.0) -> list[Any]:
    """Return the partitions of one topic from a broker's DescribeTopicPartitions, all pages; [] when it is unknown."""
    partitions: list[Any] = []
    cursor = None
    while True:
        request = DescribeTopicPartitionsRequest[0](
            topics=[DescribeTopicPartitionsRequest.TopicRequest(name=topic)],
            response_partition_limit=_PARTITIONS_PER_PAGE,
            cursor=cursor,
        )
        response = ask(host, port, request, DescribeTopicPartitionsResponse, timeout=timeout)
        for described in response.topics:
            partitions.extend(described.partitions)
        if response.next_cursor is None:
            return partitions
        cursor = DescribeTopicPartitionsRequest.Cursor(
            topic_name=response.next_cursor.topic_name, partition_index=response.next_cursor.partition_index
        )


def topics(host: str, port: int, *, timeout: float = 5.0) -> list[str]:
    """Return the names of all topics that one broker knows, internal ones included."""
    request = MetadataRequest[_METADATA_VERSION](topics=None, allow_auto_topic_creation=False)
    return [each.name for each in ask(host, port, request, MetadataResponse, timeout=timeout).topics]


def broker_configs(host: str, port: int, resource: str, *, timeout: float = 5.0) -> list[str]:
    """Return the names of the dynamic configs of a broker, by its id, or of the cluster default, "", as a broker knows.

    Not the one that Kafka sets by itself. A broker's own configs have to be asked of that broker.
    """
    wanted = DescribeConfigsRequest.DescribeConfigsResource
    request = DescribeConfigsRequest[_DESCRIBE_CONFIGS_VERSION](
        resources=[wanted(resource_type=_BROKER_RESOURCE, resource_name=resource, configuration_keys=None)],
        include_synonyms=False,
        include_documentation=False,
    )
    response = ask(host, port, request, DescribeConfigsResponse, timeout=timeout)
    source = _DYNAMIC_BROKER if resource else _DYNAMIC_DEFAULT
    return [
        each.name
        for result in response.results
        for each in result.configs
        if each.config_source == source and each.name != _SET_BY_KAFKA
    ]


def delete_broker_configs(host: str, port: int, resource: str, *, timeout: float = 30.0) -> None:
    """Delete all of ``broker_configs``. Raises ConnectionError when the broker refuses."""
    names = broker_configs(host, port, resource, timeout=timeout)
    if not names:
        return
    wanted = IncrementalAlterConfigsRequest.AlterConfigsResource
    request = IncrementalAlterConfigsRequest[_INCREMENTAL_ALTER_CONFIGS_VERSION](
        resources=[
            wanted(
                resource_type=_BROKER_RESOURCE,
                resource_name=resource,
                configs=[wanted.AlterableConfig(name=name, config_operation=_DELETE, value=None) for name in names],
            )
        ],
        validate_only=False,
    )
    response = ask(host, port, request, IncrementalAlterConfigsResponse, timeout=timeout)
    for answer in response.responses:
        if answer.error_code:
            raise ConnectionError(f"configs of {resource or 'the cluster default'}: error code {answer.error_code}")


def log_end_offsets(
    host: str, port: int, topic: str, partitions: list[int], *, timeout: float = 5.0
) -> dict[int, int | None]:
    """Return the log end offsets that a broker holds as leader or follower; None if it answered with an error."""
    wanted = ListOffsetsRequest.ListOffsetsTopic
    request = ListOffsetsRequest[_LIST_OFFSETS_VERSION](
        replica_id=_DEBUGGING_REPLICA,
        isolation_level=0,
        topics=[
            wanted(
                name=topic,
                partitions=[
                    wanted.ListOffsetsPartition(partition_index=partition, current_leader_epoch=-1, timestamp=_LATEST)
                    for partition in partitions
                ],
            )
        ],
    )
    response = ask(host, port, request, ListOffsetsResponse, timeout=timeout)
    return {
        answer.partition_index: answer.offset if answer.error_code == 0 else None
        for answered in response.topics
        for answer in answered.partitions
    }


def knows_acl(host: str, port: int, acl: AclBinding, *, timeout: float = 5.0) -> bool:
    """Whether a broker's authorizer has this ACL."""
    request = DescribeAclsRequest[_DESCRIBE_ACLS_VERSION](
        resource_type_filter=acl.restype_int,
        resource_name_filter=acl.name,
        pattern_type_filter=acl.resource_pattern_type_int,
        principal_filter=acl.principal,
        host_filter=acl.host,
        operation=acl.operation_int,
        permission_type=acl.permission_type_int,
    )
    return bool(ask(host, port, request, DescribeAclsResponse, timeout=timeout).resources)


def produce(
    host: str, port: int, topic: str, partitions: list[int], values: list[str], *, timeout: float = 60.0
) -> dict[int, int]:
    """Write the same records to each of the partitions a broker leads, acks=all; returns error codes other than 0."""
    topic_data = ProduceRequest.TopicProduceData
    batch = _record_batch(values)
    request = ProduceRequest[_PRODUCE_VERSION](
        transactional_id=None,
        acks=_ACKS_ALL,
        timeout_ms=int(timeout * 1000),
        topic_data=[
            topic_data(
                name=topic,
                partition_data=[
                    topic_data.PartitionProduceData(index=partition, records=batch) for partition in partitions
                ],
            )
        ],
    )
    response = ask(host, port, request, ProduceResponse, timeout=timeout)
    return {
        answer.index: answer.error_code
        for answered in response.responses
        for answer in answered.partition_responses
        if answer.error_code
    }


def _record_batch(values: list[str]) -> bytes:
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=False,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=_UNLIMITED,
    )
    for offset, value in enumerate(values):
        builder.append(offset, int(time.time() * 1000), None, value.encode(), [])
    return bytes(builder.build())


def read_exactly(connection: socket.socket, size: int) -> bytes:
    """Read ``size`` bytes. Raises ConnectionError when the other side ends before that."""
    received = bytearray()
    while len(received) < size:
        chunk = connection.recv(size - len(received))
        if not chunk:
            raise ConnectionError(f"connection closed after {len(received)} of {size} bytes")
        received += chunk
    return bytes(received)


def accepts(host: str, port: int) -> bool:
    """Return whether a process listens on the port."""
    try:
        socket.create_connection((host, port), timeout=1.0).close()
    except OSError:
        return False
    return True
