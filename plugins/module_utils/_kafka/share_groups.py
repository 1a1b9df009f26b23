# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read and set the start offsets of share groups (KIP-932).

DescribeShareGroupOffsets has API key 90, AlterShareGroupOffsets 91 (KIP-1000). kafka-python lacks both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from .._model.partition import TopicPartition, in_batches
from . import error_codes
from .errors import ErrorTexts
from .messages import by_topic
from .settings import Address
from .wire import Wire

_API_KEY = 90
_ALTER_API_KEY = 91
_GROUPS_PER_REQUEST = 10
_NOT_INITIALIZED = -1

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from .messages import define_message

    DescribeShareGroupOffsetsRequest = define_message(
        _API_KEY,
        "DescribeShareGroupOffsetsRequest",
        """
            Groups []DescribeShareGroupOffsetsRequestGroup
              GroupId string
              Topics []DescribeShareGroupOffsetsRequestTopic?
                TopicName string, Partitions []int32
        """,
    )
    """Version 0. Without topics, all partitions of a group are described."""

    DescribeShareGroupOffsetsResponse = define_message(
        _API_KEY,
        "DescribeShareGroupOffsetsResponse",
        """
            ThrottleTimeMs int32
            Groups []DescribeShareGroupOffsetsResponseGroup
              GroupId string
              Topics []DescribeShareGroupOffsetsResponseTopic
                TopicName string
                TopicId uuid
                Partitions []DescribeShareGroupOffsetsResponsePartition
                  PartitionIndex int32
                  StartOffset int64
                  LeaderEpoch int32
                  ErrorCode int16
                  ErrorMessage string?
              ErrorCode int16
              ErrorMessage string?
        """,
    )
    """Version 0."""

    AlterShareGroupOffsetsRequest = define_message(
        _ALTER_API_KEY,
        "AlterShareGroupOffsetsRequest",
        """
            GroupId string
            Topics []AlterShareGroupOffsetsRequestTopic
              TopicName string
              Partitions []AlterShareGroupOffsetsRequestPartition
                PartitionIndex int32, StartOffset int64
        """,
    )
    """Version 0."""

    AlterShareGroupOffsetsResponse = define_message(
        _ALTER_API_KEY,
        "AlterShareGroupOffsetsResponse",
        """
            ThrottleTimeMs int32
            ErrorCode int16
            ErrorMessage string?
            Responses []AlterShareGroupOffsetsResponseTopic
              TopicName string
              TopicId uuid
              Partitions []AlterShareGroupOffsetsResponsePartition
                PartitionIndex int32, ErrorCode int16, ErrorMessage string?
        """,
    )
    """Version 0."""


@dataclass(frozen=True, slots=True)
class ShareOffsets:
    """Where one share group starts."""

    offsets: dict[TopicPartition, int]
    """The start offset of each partition with a state."""
    uninitialized: tuple[TopicPartition, ...] = ()
    """Partitions that the group reads, and of which __share_group_state has no state."""
    error: str = ""
    """Why partitions may be missing. Empty if none is."""


def share_start_offsets(wire: Wire, coordinator: Address, groups: Sequence[str]) -> dict[str, ShareOffsets]:
    """Return where each share group starts in each of its partitions: all earlier records are done.

    Raises BrokerCallError.
    """
    found = {group: ShareOffsets({}, error="it is not in the answer") for group in groups}
    message = DescribeShareGroupOffsetsRequest
    for some in in_batches(groups, _GROUPS_PER_REQUEST):
        asked = [message.DescribeShareGroupOffsetsRequestGroup(group_id=each, topics=None) for each in some]
        for group in wire.call(coordinator, message(groups=asked)).groups:
            partitions = [
                (TopicPartition(topic.topic_name, each.partition_index), each.error_code, each.start_offset)
                for topic in group.topics
                for each in topic.partitions
            ]
            code = next((each for each in (group.error_code, *(code for _key, code, _start in partitions)) if each), 0)
            found[group.group_id] = ShareOffsets(
                {key: start for key, code, start in partitions if not code and start > _NOT_INITIALIZED},
                tuple(key for key, code, start in partitions if not code and start <= _NOT_INITIALIZED),
                error_codes.explain_error("DescribeShareGroupOffsets", code) if code else "",
            )
    return found


def set_share_start_offsets(
    wire: Wire, coordinator: Address, group: str, starts: Mapping[TopicPartition, int]
) -> ErrorTexts:
    """Set where a share group without members starts, and return what became of each partition.

    All records from there on are delivered again, also acknowledged ones. A coordinator refuses it with NON_EMPTY_GROUP
    if the group has members.

    Raises BrokerCallError, also if the broker does not have this request.
    """
    message = AlterShareGroupOffsetsRequest
    of_topic = message.AlterShareGroupOffsetsRequestTopic
    request = message(
        group_id=group,
        topics=[
            of_topic(
                topic_name=topic,
                partitions=[
                    of_topic.AlterShareGroupOffsetsRequestPartition(
                        partition_index=number, start_offset=starts[TopicPartition(topic, number)]
                    )
                    for number in numbers
                ],
            )
            for topic, numbers in by_topic(starts).items()
        ],
    )
    response = wire.call(coordinator, request)
    if response.error_code:
        return dict.fromkeys(starts, error_codes.explain_error("AlterShareGroupOffsets", response.error_code))
    answered = {
        TopicPartition(topic.topic_name, each.partition_index): (
            error_codes.explain_error("AlterShareGroupOffsets", each.error_code) if each.error_code else None
        )
        for topic in response.responses
        for each in topic.partitions
    }
    return {name: answered.get(name, "it is not in the answer") for name in starts}
