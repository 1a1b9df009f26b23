# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""List groups, and read the committed offsets of those that are no share groups.

ListGroups has API key 16, OffsetFetch 9 (with KIP-709).
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from .._model.partition import TopicPartition, in_batches
from .._model.run import Clock, looks
from . import error_codes
from .messages import by_topic
from .settings import Address
from .wire import Wire

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from kafka.protocol.admin import ListGroupsRequest
    from kafka.protocol.consumer import OffsetFetchRequest


_GROUPS_PER_REQUEST = 100
_GROUPS_PER_UNLIMITED_REQUEST = 10
"""For requests about all partitions: it is unknown for how many partitions a group has committed."""
_MAX_NAMED_PARTITIONS = 1000
"""A request with partitions repeats them for each group, and so does its answer."""
FIRST_VERSION_WITH_SEVERAL_GROUPS = 8
LAST_VERSION_WITH_TOPIC_NAMES = 9
_SHARE_GROUP = "share"
"""The type of a share group in ListGroups."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A committed offset."""

    offset: int
    """The next record to read."""
    leader_epoch: int = -1
    """Leader epoch of the record before it (KIP-320). -1 if the consumer did not commit it."""
    metadata: str = ""
    topic_id: str | None = field(default=None, compare=False)
    """Of a saved commit: the id of its topic (Kafka's text), if the consumer named it. None is not known."""


@dataclass(frozen=True, slots=True)
class GroupCommits:
    """The committed offsets of one group."""

    commits: dict[TopicPartition, Commit]
    """Only the partitions with a committed offset."""
    error: str = ""
    """Why commits may be missing. Empty if none is."""

    @property
    def offsets(self) -> dict[TopicPartition, int]:
        """Return the offsets alone."""
        return {partition: each.offset for partition, each in self.commits.items()}


def group_states(wire: Wire, address: Address, *, is_share: bool = False, clock: Clock = time) -> dict[str, str]:
    """Return the state of each group that this broker coordinates and that our principal may see, in order of name.

    Share groups have no committed offsets. These or all others are returned. A coordinator that has just been elected
    is still loading its groups: it is asked again, for one request_timeout_ms.

    Raises BrokerCallError or RequestRefusedError.
    """
    response = call_until_loaded(wire, address, ListGroupsRequest(), clock)
    error_codes.raise_if_refused("ListGroups", response)
    return {
        each.group_id: each.group_state
        for each in sorted(response.groups, key=lambda each: str(each.group_id))
        if (getattr(each, "group_type", "").lower() == _SHARE_GROUP) is is_share  # since Kafka 3.8, groups have a type
    }


def call_until_loaded(wire: Wire, address: Address, request: Any, clock: Clock) -> Any:
    """Send a request to a coordinator, and send it again while it loads its state, for one request_timeout_ms.

    Raises BrokerCallError.
    """
    for _look in looks(clock, wire.settings.request_timeout_ms / 1000):
        response = wire.call(address, request)
        if response.error_code != error_codes.COORDINATOR_LOAD_IN_PROGRESS:
            break
    return response


def read_commits(
    wire: Wire, coordinator: Address, groups: Sequence[str], partitions: Collection[TopicPartition] | None = None
) -> dict[str, GroupCommits]:
    """Return what each group committed for these partitions, or for all.

    For many partitions, the request asks for all partitions of each group. Then the broker leaves out topics that our
    principal may not describe. So pass only partitions that a broker has described.

    Raises BrokerCallError.
    """
    found = {group: GroupCommits({}, "it is not in the answer") for group in groups}
    message = OffsetFetchRequest
    group_message = message.OffsetFetchRequestGroup
    wanted = None if partitions is None else {*partitions}
    topics = None
    if wanted is not None and len(wanted) <= _MAX_NAMED_PARTITIONS:
        topics = [
            group_message.OffsetFetchRequestTopics(name=topic, partition_indexes=numbers)
            for topic, numbers in by_topic(wanted).items()
        ]
    for some in in_batches(groups, _GROUPS_PER_UNLIMITED_REQUEST if topics is None else _GROUPS_PER_REQUEST):
        request = message(
            groups=[group_message(group_id=group, topics=topics) for group in some],
            require_stable=False,
            min_version=FIRST_VERSION_WITH_SEVERAL_GROUPS,
            max_version=LAST_VERSION_WITH_TOPIC_NAMES,
        )
        for group in wire.call(coordinator, request).groups:
            found[group.group_id] = _convert_group(group, wanted)
    return found


def _convert_group(group: Any, wanted: Collection[TopicPartition] | None) -> GroupCommits:
    answers = [
        (partition, each)
        for topic in group.topics
        for each in topic.partitions
        for partition in [TopicPartition(topic.name, each.partition_index)]
        if wanted is None or partition in wanted
    ]
    code = next((code for code in (group.error_code, *(each.error_code for _partition, each in answers)) if code), 0)
    return GroupCommits(
        {
            partition: Commit(each.committed_offset, each.committed_leader_epoch, each.metadata or "")
            for partition, each in answers
            if not each.error_code and each.committed_offset >= 0
        },
        error_codes.explain_error("OffsetFetch", code) if code else "",
    )
