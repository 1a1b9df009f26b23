# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask for log end offsets by the proposal's own RPC (GetReplicaLogInfo, KIP-966 with the changes of KAFKA-20098).

No released Kafka has it. On Kafka's trunk it was API key 93 for a while; since Kafka 4.4.0, 93 is another RPC
(StreamsGroupTopologyDescriptionUpdate). So ApiVersions does not show whether a broker has GetReplicaLogInfo, and it is
only sent with an API key that the operator gives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from .._model.partition import Cause, TopicPartition
from .._model.run import KafkaOpsError
from .connection import Connection
from .errors import BrokerCallError
from .held_replicas import OffsetAnswer
from .messages import by_topic, parse_uuid, uuid_text

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from .messages import define_message


HIGHEST_RELEASED_KEY = 93
"""The highest API key in Apache Kafka 4.4.0. All keys up to it are other RPCs."""
_HIGHEST_KEY = 32767
_NAME = "GetReplicaLogInfo"
_VERSION = 0


class NativeSourceError(KafkaOpsError):
    """GetReplicaLogInfo cannot have this API key."""


@dataclass(frozen=True, slots=True)
class NativeSource:
    """The API key that the operator gives for GetReplicaLogInfo.

    Raises NativeSourceError for a key of another RPC.
    """

    api_key: int

    def __post_init__(self) -> None:
        if self.api_key <= HIGHEST_RELEASED_KEY:
            raise NativeSourceError(
                f"API key {self.api_key} is not GetReplicaLogInfo: Apache Kafka uses the numbers up to "
                f"{HIGHEST_RELEASED_KEY} for other RPCs (93 is StreamsGroupTopologyDescriptionUpdate since 4.4.0). Ask "
                "the vendor of these brokers for the key, or use the public RPCs"
            )
        if self.api_key > _HIGHEST_KEY:
            raise NativeSourceError(f"API key {self.api_key} is beyond {_HIGHEST_KEY}, the highest there can be")


class NotOfferedError(BrokerCallError):
    """The broker does not have the RPC. Trying again does not help."""


@dataclass(frozen=True, slots=True)
class NativeAnswer:
    """One answer. ``logs`` has a list for each partition, to detect a partition that the broker returns twice."""

    broker_epoch: int
    """Identifies the broker's registration with the controller. It changes with every restart."""
    has_more_data: bool
    """The broker answered only the first partitions. Ask for the others again."""
    logs: Mapping[TopicPartition, list[OffsetAnswer]]


def replica_log_ends(
    connection: Connection,
    source: NativeSource,
    topic_ids: Mapping[str, str],
    partitions: Sequence[TopicPartition],
    *,
    limit_ms: Callable[[], int | None] = lambda: None,
) -> NativeAnswer:
    """Return log end offset and current leader epoch of at most PARTITIONS_PER_REQUEST replicas, with the broker epoch.

    ``topic_ids`` are in Kafka's text form. If the broker answers only a part, further requests ask for the rest; all
    answers must have the same broker epoch. ``limit_ms`` is called before each request, and returns its time limit.

    Raises NotOfferedError, or BrokerCallError, with Cause.RESTARTED if the broker epoch changes in between.
    """
    request_class, _response_class = messages(source.api_key)
    if not connection.supports(request_class, _VERSION):
        raise NotOfferedError(
            str(connection.address),
            Cause.ERROR,
            f"it offers no API key {source.api_key} in version {_VERSION}",
            request=_NAME,
            hint="check replica_log_api_key, or set replica_log_source to public",
        )
    names = {topic_ids[each.topic]: each.topic for each in partitions}
    logs: dict[TopicPartition, list[OffsetAnswer]] = {}
    broker_epoch, left = None, partitions
    while True:
        answer = _ask(connection, request_class, topic_ids, left, names, limit_ms())
        check_same_broker_epoch(connection, broker_epoch, answer.broker_epoch)
        broker_epoch = answer.broker_epoch
        logs |= answer.logs
        if not answer.has_more_data:
            return NativeAnswer(broker_epoch, False, logs)
        requested, left = left, [each for each in left if each not in answer.logs]
        if len(left) in (0, len(requested)):
            raise BrokerCallError(
                str(connection.address),
                Cause.BAD_ANSWER,
                f"it announces more partitions, and {len(left)} are left",
                request=_NAME,
            )


def check_same_broker_epoch(connection: Connection, before: int | None, now: int) -> None:
    """Raise BrokerCallError with Cause.RESTARTED if the broker epoch changed. ``before`` is None for the first one."""
    if before not in (None, now):
        raise BrokerCallError(
            str(connection.address),
            Cause.RESTARTED,
            f"its broker epoch was {before} and is {now}: it registered again, and its earlier answers are void",
            request=_NAME,
        )


def _ask(  # noqa: PLR0917
    connection: Connection,
    request_class: Any,
    topic_ids: Mapping[str, str],
    partitions: Sequence[TopicPartition],
    names: Mapping[str, str],
    timeout_ms: int | None,
) -> NativeAnswer:
    request = request_class(
        topic_partitions=[
            request_class.TopicPartitions(topic_id=parse_uuid(topic_ids[topic]), partitions=numbers)
            for topic, numbers in by_topic(partitions).items()
        ]
    )
    response = connection.call(request, timeout_ms=timeout_ms)
    logs: dict[TopicPartition, list[OffsetAnswer]] = {}
    for topic in response.topic_partition_log_info_list:
        name = names.get(uuid_text(topic.topic_id))
        if name is None:  # a topic that was not requested
            continue
        for log in topic.partition_log_info:
            logs.setdefault(TopicPartition(name, log.partition), []).append(
                OffsetAnswer(log.error_code, log.log_end_offset, log.partition_leader_epoch)
            )
    return NativeAnswer(response.broker_epoch, bool(response.has_more_data), logs)


@cache
def messages(api_key: int) -> tuple[Any, Any]:
    """Return the request class and the response class for this API key."""
    request = define_message(
        api_key,
        "GetReplicaLogInfoRequest",
        """
            TopicPartitions []TopicPartitions?
              TopicId uuid, Partitions []int32
        """,
    )
    response = define_message(
        api_key,
        "GetReplicaLogInfoResponse",
        """
            ThrottleTimeMs int32
            BrokerEpoch int64
            HasMoreData bool
            TopicPartitionLogInfoList []TopicPartitionLogInfo
              TopicId uuid
              PartitionLogInfo []PartitionLogInfo
                Partition int32
                PartitionLeaderEpoch int32
                LogEndOffset int64
                ErrorCode int16
        """,
    )
    return request, response
