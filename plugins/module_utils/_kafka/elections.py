# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Request leader elections (ElectLeaders, API key 43), also of a designated leader (proposal KAFKA-20098).

No released Kafka has version 3, which designates the leaders. If a broker offers it, no reorder is needed.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

from .._model.partition import TopicPartition
from . import error_codes
from .bulk import BulkAnswer, BulkRequest, RequestVersion, UnusualAnswerError, encode_topics, read_results
from .connection import Connection
from .errors import BrokerCallError
from .messages import by_topic
from .settings import Address
from .wire import Wire

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from kafka.protocol.admin import DescribeClusterRequest, ElectLeadersRequest, ElectLeadersResponse

    from .messages import define_message

    DesignatedElectLeadersRequest = define_message(
        43,
        "ElectLeadersRequest",
        """
            ElectionType int8 1+
            TopicPartitions []TopicPartitions?
              Topic string, Partitions []int32, DesignatedLeaders []int32? 3+
            TimeoutMs int32 default=60000
        """,
        "0-3",
        "2+",
    )
    """Version 3 adds DesignatedLeaders, one for each entry of Partitions."""

    DesignatedElectLeadersResponse = define_message(
        43,
        "ElectLeadersResponse",
        """
            ThrottleTimeMs int32
            ErrorCode int16 1+
            ReplicaElectionResults []ReplicaElectionResult
              Topic string
              PartitionResult []PartitionResult
                PartitionId int32, ErrorCode int16, ErrorMessage string?
        """,
        "0-3",
        "2+",
    )
    """The same fields as Kafka's own version 2. kafka-python finds the class by its API key."""


PREFERRED = 0
UNCLEAN = 1
DESIGNATED = 2
"""The next number after UNCLEAN: the proposal does not give one."""
_DESIGNATED_VERSION = 3
_VERSION = 2
"""Offered by Kafka 3.9 to 4.4."""
_TYPE = struct.Struct(">b")
_INT32 = struct.Struct(">i")
_HEAD = struct.Struct(">ih")
"""Throttle time in ms, error code."""


class ElectionAnswer(NamedTuple):
    """The controller's answer about one partition's election. Only the metadata shows which broker leads."""

    code: int
    message: str | None

    @property
    def is_elected(self) -> bool:
        return self.code == error_codes.NONE

    @property
    def was_not_needed(self) -> bool:
        """Return whether there was a leader (UNCLEAN), or the preferred replica led (PREFERRED). May be no success."""
        return self.code == error_codes.ELECTION_NOT_NEEDED

    @property
    def error(self) -> str | None:
        """The error in words. None if a leader was elected, or was there before."""
        return None if self.is_elected or self.was_not_needed else str(self)

    def __str__(self) -> str:
        return error_codes.describe_error(self.code, self.message)


Answers: TypeAlias = "dict[TopicPartition, ElectionAnswer]"


def elect(wire: Wire, address: Address, election_type: int, partitions: Collection[TopicPartition]) -> Answers:
    """Request elections of exactly these partitions, at most PARTITIONS_PER_REQUEST of them.

    Raises ValueError for no partitions, because a null list means all partitions to Kafka. BrokerCallError: the outcome
    is unknown. RequestRefusedError: nothing was elected.
    """
    if not partitions:
        raise ValueError("an election over no partitions cannot be requested")
    wanted = {topic: [_INT32.pack(number) for number in numbers] for topic, numbers in by_topic(partitions).items()}
    timeout = _INT32.pack(wire.settings.request_timeout_ms)
    body = b"".join([_TYPE.pack(election_type), encode_topics(wanted), timeout, b"\0"])
    request: BulkRequest[Answers] = BulkRequest(
        ElectLeadersRequest, ElectLeadersResponse, {_VERSION: RequestVersion(body, _read_answer)}, election_answers
    )
    answers: Answers = wire.call(address, request).value
    return answers


def offers_designated_election(wire: Wire, addresses: Collection[Address]) -> bool:
    """Return whether all these brokers have the version with designated leaders.

    All, because during an upgrade only some have it. A broker that does not answer counts as one without it. Sends only
    ApiVersions and DescribeCluster.
    """
    try:
        return bool(addresses) and all(wire.with_connection(each, _offers_designated_election) for each in addresses)
    except BrokerCallError:
        return False


def _offers_designated_election(connection: Connection) -> bool:
    connection.call(DescribeClusterRequest())
    return connection.supports(DesignatedElectLeadersRequest, _DESIGNATED_VERSION)


def elect_designated(wire: Wire, address: Address, leaders: Mapping[TopicPartition, int]) -> Answers:
    """Request the election of the named broker for each partition, at most PARTITIONS_PER_REQUEST of them.

    Raises ValueError for no partitions. BrokerCallError: the outcome is unknown. RequestRefusedError: nothing was
    elected.
    """
    if not leaders:
        raise ValueError("an election over no partitions cannot be requested")
    message = DesignatedElectLeadersRequest
    request = message(
        election_type=DESIGNATED,
        topic_partitions=[
            message.TopicPartitions(
                topic=topic,
                partitions=numbers,
                designated_leaders=[leaders[TopicPartition(topic, number)] for number in numbers],
            )
            for topic, numbers in by_topic(leaders).items()
        ],
        timeout_ms=wire.settings.request_timeout_ms,
        min_version=_DESIGNATED_VERSION,
        max_version=_DESIGNATED_VERSION,
    )
    return election_answers(wire.call(address, request))


def _read_answer(view: memoryview) -> BulkAnswer[Answers]:
    throttle_time_ms, code = _HEAD.unpack_from(view)
    if code:
        raise UnusualAnswerError
    results = read_results(view, _HEAD.size)
    return BulkAnswer(throttle_time_ms, {each: ElectionAnswer(*result) for each, result in results.items()})


def election_answers(response: Any) -> Answers:
    """Read each partition's answer from an ElectLeaders response.

    Raises RequestRefusedError.
    """
    answers = {
        TopicPartition(topic.topic, partition.partition_id): ElectionAnswer(
            partition.error_code, partition.error_message
        )
        for topic in response.replica_election_results
        for partition in topic.partition_result
    }
    if response.error_code:
        # A broker that gives up waiting for the controller puts its error on each partition, too.
        raise error_codes.request_refused_error("ElectLeaders", response.error_code)
    return answers
