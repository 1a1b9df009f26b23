# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The messages that simulated brokers know, by kafka-python's schemas and by the collection's own definitions."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

from kafka.protocol import admin, consumer, metadata, producer

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.elections import (
    DesignatedElectLeadersRequest,
    DesignatedElectLeadersResponse,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.native import messages


@dataclass(frozen=True)
class Api:
    """One RPC, in the versions that the simulated brokers offer."""

    request: Any
    response: Any
    min_version: int
    max_version: int

    @property
    def key(self) -> int:
        return int(self.request.API_KEY)


def _api(module: ModuleType, name: str, min_version: int, max_version: int) -> Api:
    return Api(getattr(module, f"{name}Request"), getattr(module, f"{name}Response"), min_version, max_version)


FETCH_BY_ID_VERSION = 13
API_VERSIONS = _api(metadata, "ApiVersions", 0, 4)
LIST_OFFSETS = _api(consumer, "ListOffsets", 1, 10)
FETCH = _api(consumer, "Fetch", 4, FETCH_BY_ID_VERSION)
DESCRIBE_CONFIGS = _api(admin, "DescribeConfigs", 1, 4)
DESCRIBE_LOG_DIRS = _api(admin, "DescribeLogDirs", 1, 5)
ELECT_LEADERS = _api(admin, "ElectLeaders", 0, 2)
DESIGNATED_ELECT_LEADERS = Api(DesignatedElectLeadersRequest, DesignatedElectLeadersResponse, 0, 3)
ALTER_REASSIGNMENTS = _api(admin, "AlterPartitionReassignments", 0, 1)
LIST_REASSIGNMENTS = _api(admin, "ListPartitionReassignments", 0, 0)
DESCRIBE_CLUSTER = _api(admin, "DescribeCluster", 0, 2)
DESCRIBE_TOPIC_PARTITIONS = _api(admin, "DescribeTopicPartitions", 0, 0)
DESCRIBE_PRODUCERS = _api(admin, "DescribeProducers", 0, 0)
CREATE_TOPICS = _api(admin, "CreateTopics", 7, 7)
DELETE_TOPICS = _api(admin, "DeleteTopics", 6, 6)
PRODUCE = _api(producer, "Produce", 9, 12)
LIST_GROUPS = _api(admin, "ListGroups", 0, 5)
DESCRIBE_QUORUM = _api(admin, "DescribeQuorum", 0, 2)


def apis(native_key: int | None, *, designated_elections: bool) -> dict[int, Api]:
    """Return the RPCs by API key: those of a released broker, and the proposals' RPCs on request."""
    known = [
        API_VERSIONS,
        LIST_OFFSETS,
        FETCH,
        DESCRIBE_CONFIGS,
        DESCRIBE_LOG_DIRS,
        DESIGNATED_ELECT_LEADERS if designated_elections else ELECT_LEADERS,
        ALTER_REASSIGNMENTS,
        LIST_REASSIGNMENTS,
        DESCRIBE_CLUSTER,
        DESCRIBE_QUORUM,
        DESCRIBE_TOPIC_PARTITIONS,
        DESCRIBE_PRODUCERS,
        LIST_GROUPS,
        CREATE_TOPICS,
        DELETE_TOPICS,
        PRODUCE,
    ]
    if native_key is not None:
        known.append(Api(*messages(native_key), 0, 0))
    return {each.key: each for each in known}
