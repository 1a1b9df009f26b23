# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Set committed offsets of groups, with leader epoch and metadata. OffsetCommit has API key 8."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

from .._model.partition import TopicPartition
from . import error_codes
from .errors import ErrorTexts
from .groups import FIRST_VERSION_WITH_SEVERAL_GROUPS, LAST_VERSION_WITH_TOPIC_NAMES, Commit
from .messages import by_topic
from .settings import Address
from .wire import Wire

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from kafka.protocol.consumer import OffsetCommitRequest

_NO_GENERATION = -1
_COMMIT_BYTES = 100
"""More than the fields of a record with a commit have, without its texts."""
_MOST_BATCH_BYTES = 500_000
_WITHOUT_MEMBERS = frozenset({"Empty", "Dead"})
"""States of a group (classic, consumer and streams) that has no member."""


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


def write_commits(wire: Wire, coordinator: Address, group: str, commits: Mapping[TopicPartition, Commit]) -> ErrorTexts:
    """Commit for a group without members, and return what became of each commit.

    The request is of no member. A coordinator refuses it with UNKNOWN_MEMBER_ID if the group has members
    (ClassicGroup.validateOffsetCommit, ConsumerGroup.validateOffsetCommit). So it cannot disturb a live group. Several
    requests are sent for many commits, because the coordinator writes those of a request in one batch.

    Raises BrokerCallError.
    """
    answered: ErrorTexts = {}
    for some in _split(group, commits):
        answered |= _write(wire, coordinator, group, some)
    return {name: answered.get(name, "it is not in the answer") for name in commits}


def _split(group: str, commits: Mapping[TopicPartition, Commit]) -> Iterator[dict[TopicPartition, Commit]]:
    """Divide commits so that each part fits into a batch of the default max.message.bytes (1 MiB)."""
    part: dict[TopicPartition, Commit] = {}
    size = 0
    for name, commit in commits.items():
        own = _COMMIT_BYTES + len(f"{group}{name.topic}{commit.metadata}".encode())
        if part and size + own > _MOST_BATCH_BYTES:
            yield part
            part, size = {}, 0
        part[name] = commit
        size += own
    if part:
        yield part


def _write(wire: Wire, coordinator: Address, group: str, commits: Mapping[TopicPartition, Commit]) -> ErrorTexts:
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
        min_version=FIRST_VERSION_WITH_SEVERAL_GROUPS,
        max_version=LAST_VERSION_WITH_TOPIC_NAMES,
    )
    return {
        TopicPartition(topic.name, each.partition_index): (
            error_codes.explain_error("OffsetCommit", each.error_code) if each.error_code else None
        )
        for topic in wire.call(coordinator, request).topics
        for each in topic.partitions
    }
