# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read and set committed offsets of groups, with leader epoch and metadata.

ListGroups has API key 16, OffsetFetch 9 (KIP-709), OffsetCommit 8.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from .._model.partition import TopicPartition, in_batches
from .._model.run import Clock
from . import error_codes
from .groups import SHARE_GROUP, list_groups
from .messages import by_topic
from .settings import Address
from .wire import Wire

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from kafka.protocol.consumer import OffsetCommitRequest, OffsetFetchRequest

_GROUPS_PER_REQUEST = 10
_FIRST_VERSION_WITH_SEVERAL_GROUPS = 8
_LAST_VERSION_WITH_TOPIC_NAMES = 9
_NO_GENERATION = -1
_NO_EPOCH = -1
_WITHOUT_MEMBERS = frozenset({"Empty", "Dead"})
"""States of a group (classic, consumer and streams) that has no member."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A committed offset."""

    offset: int
    """The next record to read."""
    leader_epoch: int = _NO_EPOCH
    """Leader epoch of the record before it (KIP-320). -1 if the consumer did not commit it."""
    metadata: str = ""


@dataclass(frozen=True, slots=True)
class GroupCommits:
    """All committed offsets of one group."""

    commits: dict[TopicPartition, Commit]
    error: str = ""
    """Why commits may be missing. Empty if none is."""


def group_states(wire: Wire, address: Address, *, clock: Clock = time) -> dict[str, str]:
    """Return the state of each group with committed offsets that this broker coordinates (not of share groups).

    Raises BrokerCallError or RequestRefusedError.
    """
    return {
        each.group_id: each.group_state
        for each in list_groups(wire, address, clock=clock)
        if getattr(each, "group_type", "").lower() != SHARE_GROUP
    }


def has_members(state: str) -> bool:
    """Return whether a group in this state has members, or may have some."""
    return state not in _WITHOUT_MEMBERS


def partition_of(group: str, partitions: int) -> int:
    """Return the partition of __consumer_offsets with this group: GroupCoordinatorService.partitionFor.

    That is the absolute value of Java's hash code. It is 0 for the smallest integer, which has none (Utils.abs).
    """
    code = 0
    encoded = group.encode("utf-16-be")
    for index in range(0, len(encoded), 2):
        code = (31 * code + int.from_bytes(encoded[index : index + 2], "big")) & 0xFFFFFFFF
    signed = code - 2**32 if code >= 2**31 else code
    return 0 if signed == -(2**31) else abs(signed) % partitions


def read_commits_of(wire: Wire, coordinator: Address, groups: Sequence[str]) -> dict[str, GroupCommits]:
    """Return all commits of each group, except those of topics that our principal may not describe.

    Raises BrokerCallError.
    """
    found = {group: GroupCommits({}, "it is not in the answer") for group in groups}
    message = OffsetFetchRequest
    for some in in_batches(groups, _GROUPS_PER_REQUEST):
        request = message(
            groups=[message.OffsetFetchRequestGroup(group_id=group, topics=None) for group in some],
            require_stable=False,
            min_version=_FIRST_VERSION_WITH_SEVERAL_GROUPS,
            max_version=_LAST_VERSION_WITH_TOPIC_NAMES,
        )
        for group in wire.call(coordinator, request).groups:
            found[group.group_id] = _convert_commits(group)
    return found


def _convert_commits(group: Any) -> GroupCommits:
    answers = [
        (TopicPartition(topic.name, each.partition_index), each) for topic in group.topics for each in topic.partitions
    ]
    code = next((code for code in (group.error_code, *(each.error_code for _name, each in answers)) if code), 0)
    return GroupCommits(
        {
            name: Commit(each.committed_offset, each.committed_leader_epoch, each.metadata or "")
            for name, each in answers
            if not each.error_code and each.committed_offset >= 0
        },
        error_codes.explain_error("OffsetFetch", code) if code else "",
    )


def write_commits(
    wire: Wire, coordinator: Address, group: str, commits: Mapping[TopicPartition, Commit]
) -> dict[TopicPartition, str | None]:
    """Commit for a group without members, and return each partition's error text or None.

    The request is of no member. A coordinator refuses it with UNKNOWN_MEMBER_ID if the group has members
    (ClassicGroup.validateOffsetCommit, ConsumerGroup.validateOffsetCommit). So it cannot disturb a live group.

    Raises BrokerCallError.
    """
    message = OffsetCommitRequest
    topic_message = message.OffsetCommitRequestTopic
    request = message(
        group_id=group,
        generation_id_or_member_epoch=_NO_GENERATION,
        member_id="",
        group_instance_id=None,
        topics=[
            topic_message(
                name=topic,
                partitions=[
                    topic_message.OffsetCommitRequestPartition(
                        partition_index=number,
                        committed_offset=commit.offset,
                        committed_leader_epoch=commit.leader_epoch,
                        committed_metadata=commit.metadata,
                    )
                    for number in numbers
                    for commit in [commits[TopicPartition(topic, number)]]
                ],
            )
            for topic, numbers in by_topic(commits).items()
        ],
        min_version=_FIRST_VERSION_WITH_SEVERAL_GROUPS,
        max_version=_LAST_VERSION_WITH_TOPIC_NAMES,
    )
    answered = {
        TopicPartition(topic.name, each.partition_index): (
            error_codes.explain_error("OffsetCommit", each.error_code) if each.error_code else None
        )
        for topic in wire.call(coordinator, request).topics
        for each in topic.partitions
    }
    return {name: answered.get(name, "it is not in the answer") for name in commits}
