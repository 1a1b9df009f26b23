# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Groups and their committed offsets (ListGroups, API key 16; OffsetFetch, 9, as of KIP-709)."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka import error_codes
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.addresses import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.batches import by_topic, in_batches
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition

with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    from kafka.protocol.admin import ListGroupsRequest
    from kafka.protocol.consumer import OffsetFetchRequest

_GROUPS_PER_REQUEST = 100
_LOOK_EVERY_S = 0.2
_SEVERAL_GROUPS = 8
_BY_TOPIC_NAME = 9


@dataclass(frozen=True, slots=True)
class Committed:
    """What one group tells of its commits."""

    offsets: dict[TopicPartition, int]
    """Without the partitions that it committed nothing for."""
    error: str = ""
    """Why it does not tell of all partitions; empty when it does."""


def coordinated_groups(wire: Wire, address: Address) -> list[str]:
    """The groups that this broker coordinates and that our principal may see.

    A coordinator that has just been elected is loading its groups: it is asked again for at most a request's limit.

    Raises BrokerCallError or RequestRefusedError.
    """
    deadline = time.monotonic() + wire.settings.request_timeout_ms / 1000
    while True:
        response = wire.call(address, ListGroupsRequest())
        if response.error_code != error_codes.COORDINATOR_LOAD_IN_PROGRESS or time.monotonic() >= deadline:
            break
        time.sleep(_LOOK_EVERY_S)
    if response.error_code:
        raise error_codes.refusal("ListGroups", response.error_code)
    return sorted(each.group_id for each in response.groups)


def committed_offsets(
    wire: Wire, coordinator: Address, groups: Sequence[str], partitions: Collection[TopicPartition]
) -> dict[str, Committed]:
    """What each group committed for these partitions.

    Raises BrokerCallError.
    """
    found = {group: Committed({}, "it is not in the answer") for group in groups}
    message = OffsetFetchRequest
    group_message = message.OffsetFetchRequestGroup
    for some in in_batches(groups, _GROUPS_PER_REQUEST):
        request = message(
            groups=[
                group_message(
                    group_id=group,
                    topics=[
                        group_message.OffsetFetchRequestTopics(name=topic, partition_indexes=numbers)
                        for topic, numbers in by_topic(partitions).items()
                    ],
                )
                for group in some
            ],
            require_stable=False,
            min_version=_SEVERAL_GROUPS,
            max_version=_BY_TOPIC_NAME,
        )
        for group in wire.call(coordinator, request).groups:
            found[group.group_id] = _committed(group)
    return found


def _committed(group: Any) -> Committed:
    told = [
        (TopicPartition(topic.name, each.partition_index), each) for topic in group.topics for each in topic.partitions
    ]
    code = next((code for code in (group.error_code, *(each.error_code for _partition, each in told)) if code), 0)
    return Committed(
        {
            partition: each.committed_offset
            for partition, each in told
            if not each.error_code and each.committed_offset >= 0
        },
        error_codes.described(code) if code else "",
    )
