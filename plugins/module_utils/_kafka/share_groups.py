# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the start offsets of share groups (KIP-932; DescribeShareGroupOffsets, API key 90, KIP-1000).

kafka-python lacks this request.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from .._model.partition import TopicPartition, in_batches
from .._model.run import Clock
from . import error_codes
from .groups import SHARE_GROUP, list_groups
from .messages import defined, field
from .settings import Address
from .wire import Wire

# pylint sees no kafka-python in ansible-test, and so no metaclass. pylint: disable=invalid-metaclass,unused-import

_API_KEY = 90
_GROUPS_PER_REQUEST = 10
_NOT_INITIALIZED = -1

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from kafka.protocol.api_message import ApiMessage

    from .messages import DefinedMessage

    class DescribeShareGroupOffsetsRequest(ApiMessage, metaclass=DefinedMessage):
        """Version 0. Without topics, all partitions of a group are described."""

        definition = defined(
            _API_KEY,
            "DescribeShareGroupOffsetsRequest",
            [
                field(
                    "Groups",
                    "[]DescribeShareGroupOffsetsRequestGroup",
                    fields=[
                        field("GroupId", "string"),
                        field(
                            "Topics",
                            "[]DescribeShareGroupOffsetsRequestTopic",
                            nullableVersions="0+",
                            fields=[field("TopicName", "string"), field("Partitions", "[]int32")],
                        ),
                    ],
                )
            ],
        )

    class DescribeShareGroupOffsetsResponse(ApiMessage, metaclass=DefinedMessage):
        """Version 0."""

        definition = defined(
            _API_KEY,
            "DescribeShareGroupOffsetsResponse",
            [
                field("ThrottleTimeMs", "int32"),
                field(
                    "Groups",
                    "[]DescribeShareGroupOffsetsResponseGroup",
                    fields=[
                        field("GroupId", "string"),
                        field(
                            "Topics",
                            "[]DescribeShareGroupOffsetsResponseTopic",
                            fields=[
                                field("TopicName", "string"),
                                field("TopicId", "uuid"),
                                field(
                                    "Partitions",
                                    "[]DescribeShareGroupOffsetsResponsePartition",
                                    fields=[
                                        field("PartitionIndex", "int32"),
                                        field("StartOffset", "int64"),
                                        field("LeaderEpoch", "int32"),
                                        field("ErrorCode", "int16"),
                                        field("ErrorMessage", "string", nullableVersions="0+"),
                                    ],
                                ),
                            ],
                        ),
                        field("ErrorCode", "int16"),
                        field("ErrorMessage", "string", nullableVersions="0+"),
                    ],
                ),
            ],
        )


def coordinated_share_groups(wire: Wire, address: Address, *, clock: Clock = time) -> list[str]:
    """Return the share groups that this broker coordinates and that our principal may see.

    Raises BrokerCallError or RequestRefusedError.
    """
    listed = list_groups(wire, address, clock=clock)
    return sorted(each.group_id for each in listed if getattr(each, "group_type", "").lower() == SHARE_GROUP)


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
