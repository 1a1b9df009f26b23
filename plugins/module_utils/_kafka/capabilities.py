# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read which operations our principal may do, and which requests and features a broker supports.

DescribeCluster (API key 60), Metadata (3) and DescribeGroups (15) return bit fields of ACL operations (KIP-430): for
the cluster, and for topics and groups, also for those that do not exist. No RPC returns a broker's release. The
requests and the newest metadata.version in ApiVersions (API key 18, KIP-584) distinguish releases.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from .._model.partition import in_batches
from . import error_codes
from .quorum import features_request
from .settings import Address
from .wire import Wire

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from kafka.protocol.admin import DescribeClusterRequest, DescribeGroupsRequest
    from kafka.protocol.metadata import MetadataRequest


_OPERATIONS = {
    3: "READ",
    4: "WRITE",
    5: "CREATE",
    6: "DELETE",
    7: "ALTER",
    8: "DESCRIBE",
    9: "CLUSTER_ACTION",
    10: "DESCRIBE_CONFIGS",
    11: "ALTER_CONFIGS",
}
"""Kafka's AclOperation codes. Operation N is bit N of a bit field."""


_GROUPS_PER_REQUEST = 100
_VERSION_FOR_ALL_TYPES = 5
"""Since version 6, a group that is no classic one is refused with GROUP_ID_NOT_FOUND."""


@dataclass(frozen=True, slots=True)
class TopicAccess:
    """The operations on one topic that our principal may do. The topic may not exist."""

    operations: frozenset[str]
    """Empty without DESCRIBE, which every other operation on a topic implies."""
    exists: bool | None
    """None if the topic is hidden from our principal."""


@dataclass(frozen=True, slots=True)
class BrokerCapabilities:
    """The requests and features that one broker supports, and the features that the cluster has finalized."""

    requests: Mapping[int, int]
    """Newest version by API key."""
    supported: Mapping[str, int]
    """Highest level of each feature."""
    finalized: Mapping[str, int]
    """Level of each feature in this cluster. Features at level 0 are left out."""


def cluster_operations(wire: Wire) -> frozenset[str]:
    """Return the operations on the cluster that our principal may do. Empty without DESCRIBE on the cluster.

    Raises NoBrokerAnswersError or RequestRefusedError.
    """
    answer, _source = wire.call_any(
        lambda: DescribeClusterRequest(include_cluster_authorized_operations=True), "DescribeCluster"
    )
    error_codes.raise_if_refused("DescribeCluster", answer)
    return _name_operations(answer.authorized_operations)


def topic_operations(wire: Wire, names: Sequence[str] | None = None) -> dict[str, TopicAccess]:
    """Return our principal's access to each of these topics, or to every topic that it may see. Creates no topic.

    Raises NoBrokerAnswersError or RequestRefusedError.
    """
    message = MetadataRequest
    answer, _source = wire.call_any(
        lambda: message(
            topics=None if names is None else [message.MetadataRequestTopic(name=each) for each in names],
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=True,
        ),
        "Metadata",
    )
    return {
        topic.name: TopicAccess(
            _name_operations(topic.authorized_operations),
            None
            if topic.error_code == error_codes.TOPIC_AUTHORIZATION_FAILED
            else topic.error_code != error_codes.UNKNOWN_TOPIC_OR_PARTITION,
        )
        for topic in answer.topics
    }


def group_operations(wire: Wire, coordinator: Address, groups: Sequence[str]) -> dict[str, frozenset[str]]:
    """Return the operations on these groups of a coordinator that our principal may do. Unknown ones are left out.

    Tried on 3.9.2 and 4.3.1: a coordinator answers it for groups of every type, and for groups that do not exist.

    Raises BrokerCallError.
    """
    found: dict[str, frozenset[str]] = {}
    for some in in_batches(groups, _GROUPS_PER_REQUEST):
        request = DescribeGroupsRequest(
            groups=[*some], include_authorized_operations=True, max_version=_VERSION_FOR_ALL_TYPES
        )
        for each in wire.call(coordinator, request).groups:
            if each.error_code == error_codes.GROUP_AUTHORIZATION_FAILED:
                found[each.group_id] = frozenset()
            elif not each.error_code and each.authorized_operations is not None:
                found[each.group_id] = _name_operations(each.authorized_operations)
    return found


def _name_operations(codes: Collection[int] | None) -> frozenset[str]:
    """Return the names of operations. kafka-python decodes a bit field to the numbers of its bits, or to None."""
    return frozenset(name for code, name in _OPERATIONS.items() if code in (codes or ()))


def read_capabilities(wire: Wire, address: Address) -> BrokerCapabilities:
    """Ask one broker which requests and features it supports.

    Raises BrokerCallError.
    """
    answer = wire.call(address, features_request())
    return BrokerCapabilities(
        {each.api_key: each.max_version for each in answer.api_keys},
        {each.name: each.max_version for each in answer.supported_features or ()},
        {each.name: each.max_version_level for each in answer.finalized_features or ()},
    )
