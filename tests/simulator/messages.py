# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The messages that simulated brokers know, by kafka-python's schemas and by the collection's own definitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from kafka.protocol.consumer import FetchRequest, FetchResponse, ListOffsetsRequest, ListOffsetsResponse
from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse
from kafka.protocol.producer import ProduceRequest, ProduceResponse

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


FETCH_BY_ID_VERSION = 13
API_VERSIONS = Api(ApiVersionsRequest, ApiVersionsResponse, 0, 4)
LIST_OFFSETS = Api(ListOffsetsRequest, ListOffsetsResponse, 1, 10)
FETCH = Api(FetchRequest, FetchResponse, 4, FETCH_BY_ID_VERSION)
DESCRIBE_CONFIGS = Api(DescribeConfigsRequest, DescribeConfigsResponse, 1, 4)
DESCRIBE_LOG_DIRS = Api(DescribeLogDirsRequest, DescribeLogDirsResponse, 1, 5)
ELECT_LEADERS = Api(ElectLeadersRequest, ElectLeadersResponse, 0, 2)
DESIGNATED_ELECT_LEADERS = Api(DesignatedElectLeadersRequest, DesignatedElectLeadersResponse, 0, 3)
ALTER_REASSIGNMENTS = Api(AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse, 0, 1)
LIST_REASSIGNMENTS = Api(ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse, 0, 0)
DESCRIBE_CLUSTER = Api(DescribeClusterRequest, DescribeClusterResponse, 0, 2)
DESCRIBE_TOPIC_PARTITIONS = Api(DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse, 0, 0)
DESCRIBE_PRODUCERS = Api(DescribeProducersRequest, DescribeProducersResponse, 0, 0)
CREATE_TOPICS = Api(CreateTopicsRequest, CreateTopicsResponse, 7, 7)
DELETE_TOPICS = Api(DeleteTopicsRequest, DeleteTopicsResponse, 6, 6)
PRODUCE = Api(ProduceRequest, ProduceResponse, 9, 12)
LIST_GROUPS = Api(ListGroupsRequest, ListGroupsResponse, 0, 5)


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
