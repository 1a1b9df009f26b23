# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Make requests about the KRaft quorum, and decode their answers. No I/O.

Controllers answer these requests on their own listeners. Brokers forward DescribeQuorum to the leader, and wait while
there is none. A controller that does not lead answers at once with an error.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from .._model.partition import METADATA_TOPIC, TopicPartition
from .._model.quorum import Endpoint, QuorumReplica, QuorumState
from .._model.setting import BROKER_RESOURCE
from . import error_codes
from .messages import describe_configs_request, fetch_request, uuid_text
from .settings import Address, parse_addresses, split_list

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from kafka.protocol.admin import DescribeClusterRequest, DescribeQuorumRequest
    from kafka.protocol.metadata import ApiVersionsRequest


METADATA_PARTITION = TopicPartition(METADATA_TOPIC, 0)
METADATA_TOPIC_ID = uuid_text(uuid.UUID(int=1))
_UNKNOWN = -1

_VOTE = 52
_PRE_VOTE_VERSION = 2
_DESCRIBE_CLUSTER = 60
_FENCED_BROKERS_VERSION = 2
_KRAFT_VERSION = "kraft.version"
METADATA_VERSION = "metadata.version"

_LONG_PAST_EPOCH = 1

_CONTROLLERS = 2
"""DescribeCluster's endpoint type."""
_FETCH_TIMEOUT = "controller.quorum.fetch.timeout.ms"
_ELECTION_TIMEOUT = "controller.quorum.election.timeout.ms"
_AUTO_JOIN = "controller.quorum.auto.join.enable"
_ELECTION_BACKOFF = "controller.quorum.election.backoff.max.ms"
_RETRY_BACKOFF = "controller.quorum.retry.backoff.ms"
_VOTERS = "controller.quorum.voters"
_BOOTSTRAP = "controller.quorum.bootstrap.servers"
_LISTENERS = "controller.listener.names"
_PROTOCOLS = "listener.security.protocol.map"
_CONFIGS = (
    *(_FETCH_TIMEOUT, _ELECTION_TIMEOUT, _AUTO_JOIN, _ELECTION_BACKOFF, _RETRY_BACKOFF),
    *(_VOTERS, _BOOTSTRAP, _LISTENERS, _PROTOCOLS),
)


@dataclass(frozen=True, slots=True)
class Features:
    """The features of a node, and the levels that the cluster has finalized. None if the node does not return it."""

    kraft_version: int | None
    metadata_version: int | None
    supports_pre_vote: bool
    """Vote version 2 (KIP-996, Kafka 4.0). Only meaningful for controllers."""
    lists_fenced_brokers: bool
    """DescribeCluster version 2 (KIP-1073, Kafka 4.0)."""


@dataclass(frozen=True, slots=True)
class KnownLeader:
    """The leader that a controller follows, and the controller's own epoch. ``leader_id`` is None if it knows none."""

    leader_id: int | None
    epoch: int


@dataclass(frozen=True, slots=True)
class QuorumConfigs:
    """The settings of one node that matter to the quorum. None if they cannot be read."""

    node_id: int
    fetch_timeout_ms: int | None
    election_timeout_ms: int | None
    auto_join: bool | None
    """controller.quorum.auto.join.enable (Kafka 4.2): an observer adds itself as a voter."""
    election_backoff_ms: int | None = None
    """controller.quorum.election.backoff.max.ms"""
    retry_backoff_ms: int | None = None
    """controller.quorum.retry.backoff.ms"""
    controllers: tuple[Address, ...] = ()
    """From controller.quorum.bootstrap.servers, or else controller.quorum.voters."""
    voters: frozenset[int] = frozenset()
    """The ids in controller.quorum.voters. Kafka ignores them if the voters are in the log (kraft.version 1)."""
    controller_protocol: str | None = None
    """The security protocol of the controllers' listeners, by which this node connects to them."""


@dataclass(frozen=True, slots=True)
class Controllers:
    """The registered controllers, as one of them lists them."""

    cluster_id: str
    addresses: dict[int, Address]


def describe_quorum_request() -> Any:
    """Return a DescribeQuorum request for the metadata log (API key 55)."""
    message = DescribeQuorumRequest
    topic = message.TopicData
    return message(
        topics=[topic(topic_name=METADATA_TOPIC, partitions=[topic.PartitionData(partition_index=0)])],
    )


def quorum_state(response: Any) -> QuorumState | None:
    """Decode the answer to describe_quorum_request. None if a controller answered that does not lead.

    Raises RequestRefusedError.
    """
    error_codes.raise_if_refused("DescribeQuorum", response)
    partition = response.topics[0].partitions[0]
    if partition.error_code == error_codes.NOT_LEADER_OR_FOLLOWER:
        return None
    error_codes.raise_if_refused("DescribeQuorum", partition)
    endpoints = {
        node.node_id: tuple(Endpoint(each.name, each.host, each.port) for each in node.listeners)
        for node in response.nodes or ()
    }
    leader = next((each for each in partition.current_voters if each.replica_id == partition.leader_id), None)
    return QuorumState(
        partition.leader_id,
        partition.leader_epoch,
        _known(partition.high_watermark),
        _convert_replicas(partition.current_voters, leader, endpoints),
        _convert_replicas(partition.observers, leader, endpoints),
    )


def leader_time_ms(response: Any) -> int | None:
    """Return the active controller's time in its answer to describe_quorum_request. None if it is not in the answer.

    POSIX time in milliseconds. The leader returns its current time as its own last caught-up time.
    """
    for topic in response.topics:
        for partition in topic.partitions:
            for each in partition.current_voters:
                if each.replica_id == partition.leader_id:
                    return _known(each.last_caught_up_timestamp)
    return None


def features_request() -> Any:
    """Return an ApiVersions request (API key 18). kafka-python sends one itself, but ignores the features."""
    return ApiVersionsRequest(client_software_name="kafkaops-recovery", client_software_version="1")


def features(response: Any) -> Features:
    """Decode the answer to features_request."""
    versions = {each.api_key: each.max_version for each in response.api_keys}
    finalized = {each.name: each.max_version_level for each in response.finalized_features or ()}
    is_known = response.finalized_features_epoch >= 0
    return Features(
        # The answer leaves out features at level 0.
        kraft_version=finalized.get(_KRAFT_VERSION, 0) if is_known else None,
        metadata_version=finalized.get(METADATA_VERSION),
        supports_pre_vote=versions.get(_VOTE, _UNKNOWN) >= _PRE_VOTE_VERSION,
        lists_fenced_brokers=versions.get(_DESCRIBE_CLUSTER, _UNKNOWN) >= _FENCED_BROKERS_VERSION,
    )


def controllers_request() -> Any:
    """Return a DescribeCluster request for the controllers (API key 60, KIP-919). Send it to a controller.

    It needs ALTER on the cluster. A controller that has read no metadata since its start, because there is no quorum,
    refuses it: it does not know yet whether controllers register themselves (metadata.version 3.7).
    """
    return DescribeClusterRequest(endpoint_type=_CONTROLLERS, min_version=1)


def controllers(response: Any) -> Controllers:
    """Decode the answer to controllers_request.

    Raises RequestRefusedError.
    """
    error_codes.raise_if_refused("DescribeCluster", response)
    return Controllers(
        response.cluster_id, {each.broker_id: Address(each.host, each.port) for each in response.brokers}
    )


def known_leader_request(cluster_id: str | None = None) -> Any:
    """Return a consumer's Fetch request (replica id -1) with an old epoch. It needs CLUSTER_ACTION on the cluster.

    No RPC returns a controller's epoch. But the answer to a Fetch with a wrong epoch has the current one (KIP-595). A
    controller of another cluster than ``cluster_id`` refuses it.
    """
    return fetch_request(
        METADATA_PARTITION,
        offset=0,
        max_bytes=1,
        topic_id=METADATA_TOPIC_ID,
        current_leader_epoch=_LONG_PAST_EPOCH,
        last_fetched_epoch=0,
        cluster_id=cluster_id,
    )


def known_leader(response: Any) -> KnownLeader | None:
    """Decode the answer to known_leader_request. None if our principal may not ask."""
    if response.error_code or not response.responses:
        return None
    current = response.responses[0].partitions[0].current_leader
    if current is None or current.leader_epoch < 0:
        return None
    return KnownLeader(_known(current.leader_id), current.leader_epoch)


def is_of_cluster(response: Any) -> bool | None:
    """Decode the answer to known_leader_request with a cluster id. None if our principal may not ask."""
    if response.error_code == error_codes.INCONSISTENT_CLUSTER_ID:
        return False
    return None if response.error_code else True


def configs_request(candidates: Collection[int]) -> Any:
    """Return a DescribeConfigs request (API key 32) for several candidate node ids.

    A node answers for its own id only, which reveals the id.
    """
    return describe_configs_request(BROKER_RESOURCE, map(str, sorted(candidates)), _CONFIGS)


def configs(response: Any) -> QuorumConfigs | None:
    """Decode the answer to configs_request. None if the node is no candidate, or our principal may not ask."""
    for result in response.results:
        if result.error_code == error_codes.NONE:
            values = {each.name: each.value for each in result.configs}
            auto_join = values.get(_AUTO_JOIN)
            return QuorumConfigs(
                int(result.resource_name),
                _parse_number(values.get(_FETCH_TIMEOUT)),
                _parse_number(values.get(_ELECTION_TIMEOUT)),
                auto_join == "true" if auto_join is not None else None,
                _parse_number(values.get(_ELECTION_BACKOFF)),
                _parse_number(values.get(_RETRY_BACKOFF)),
                _parse_addresses(values.get(_BOOTSTRAP) or values.get(_VOTERS) or ""),
                _parse_ids(values.get(_VOTERS) or ""),
                _find_protocol(values.get(_LISTENERS) or "", values.get(_PROTOCOLS) or ""),
            )
    return None


def _convert_replicas(
    states: Any, leader: Any, endpoints: Mapping[int, tuple[Endpoint, ...]]
) -> tuple[QuorumReplica, ...]:
    return tuple(_convert_replica(each, leader, endpoints) for each in sorted(states, key=lambda each: each.replica_id))


def _convert_replica(state: Any, leader: Any, endpoints: Mapping[int, tuple[Endpoint, ...]]) -> QuorumReplica:
    is_leader = leader is not None and state.replica_id == leader.replica_id
    # The leader returns its current time as its own last caught-up time.
    now = leader.last_caught_up_timestamp if leader is not None else _UNKNOWN
    end = leader.log_end_offset if leader is not None else _UNKNOWN
    return QuorumReplica(
        state.replica_id,
        # kafka-python reads Kafka's zero Uuid as None.
        uuid_text(state.replica_directory_id) if state.replica_directory_id is not None else None,
        _known(state.log_end_offset),
        lag_records=_difference(state.log_end_offset, end),
        lag_ms=_difference(state.last_caught_up_timestamp, now),
        since_fetch_ms=None if is_leader else _difference(state.last_fetch_timestamp, now),
        endpoints=endpoints.get(state.replica_id, ()),
    )


def _difference(value: int, end: int) -> int | None:
    return max(0, end - value) if value >= 0 and end >= 0 else None


def _known(value: int) -> int | None:
    return value if value >= 0 else None


def _parse_addresses(text: str) -> tuple[Address, ...]:
    """Parse a list of ``host:port`` or ``id@host:port``. Return nothing if it is invalid."""
    try:
        return tuple(address for each in split_list(text) for address in parse_addresses(each.rpartition("@")[2]))
    except ValueError:
        return ()


def _parse_ids(text: str) -> frozenset[int]:
    """Parse the ids in a list of ``id@host:port``."""
    ids = (each.partition("@")[0] for each in split_list(text))
    return frozenset(int(each) for each in ids if each.isdecimal())


def _find_protocol(controller_listeners: str, protocols: str) -> str | None:
    """Return the protocol of the first controller listener, by which a node connects. None if the configs are hidden.

    Kafka starts with a controller listener that is not in the map only if it adds it as PLAINTEXT (KafkaConfig), and
    does not return what it added.
    """
    name = controller_listeners.partition(",")[0].strip().upper()
    pairs = (each.partition(":") for each in protocols.upper().split(","))
    mapped = {listener.strip(): protocol.strip() for listener, _colon, protocol in pairs}
    return mapped.get(name, "PLAINTEXT") if name and protocols else None


def _parse_number(value: str | None) -> int | None:
    return int(value) if value is not None else None
