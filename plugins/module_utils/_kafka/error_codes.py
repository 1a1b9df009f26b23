# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kafka's error codes, by kafka-python's table. Decides nothing."""

from __future__ import annotations

import re
from contextlib import suppress

from .errors import RequestRefusedError

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    import kafka.errors as kafka_errors


UNKNOWN_SERVER_ERROR = -1
NONE = 0
OFFSET_OUT_OF_RANGE = 1
UNKNOWN_TOPIC_OR_PARTITION = 3
NOT_LEADER_OR_FOLLOWER = 6
REQUEST_TIMED_OUT = 7
COORDINATOR_LOAD_IN_PROGRESS = 14
INVALID_TOPIC = 17
TOPIC_AUTHORIZATION_FAILED = 29
GROUP_AUTHORIZATION_FAILED = 30
CLUSTER_AUTHORIZATION_FAILED = 31
TOPIC_ALREADY_EXISTS = 36
INVALID_REPLICA_ASSIGNMENT = 39
NOT_CONTROLLER = 41
KAFKA_STORAGE_ERROR = 56
ELECTION_NOT_NEEDED = 84
NO_REASSIGNMENT_IN_PROGRESS = 85
UNKNOWN_TOPIC_ID = 100

# kafka-python has other names for these; ours are those of Kafka's own Errors, whatever a log or a tool shows.
_RENAMED = {
    UNKNOWN_SERVER_ERROR: "UNKNOWN_SERVER_ERROR",
    NOT_LEADER_OR_FOLLOWER: "NOT_LEADER_OR_FOLLOWER",
    INVALID_TOPIC: "INVALID_TOPIC_EXCEPTION",
    INVALID_REPLICA_ASSIGNMENT: "INVALID_REPLICA_ASSIGNMENT",
}
_ALTER_CLUSTER = "our principal needs ALTER on the cluster"
_DESCRIBE_CLUSTER = "our principal needs DESCRIBE on the cluster"
_HINTS = {
    ("AlterPartitionReassignments", CLUSTER_AUTHORIZATION_FAILED): _ALTER_CLUSTER,
    ("ElectLeaders", CLUSTER_AUTHORIZATION_FAILED): _ALTER_CLUSTER,
    ("AddRaftVoter", CLUSTER_AUTHORIZATION_FAILED): _ALTER_CLUSTER,
    ("RemoveRaftVoter", CLUSTER_AUTHORIZATION_FAILED): _ALTER_CLUSTER,
    ("ListPartitionReassignments", CLUSTER_AUTHORIZATION_FAILED): _DESCRIBE_CLUSTER,
    ("DescribeQuorum", CLUSTER_AUTHORIZATION_FAILED): _DESCRIBE_CLUSTER,
    ("IncrementalAlterConfigs", CLUSTER_AUTHORIZATION_FAILED): "our principal needs ALTER_CONFIGS on the cluster",
    ("DescribeConfigs", CLUSTER_AUTHORIZATION_FAILED): "our principal needs DESCRIBE_CONFIGS on the cluster",
    ("IncrementalAlterConfigs", TOPIC_AUTHORIZATION_FAILED): "our principal needs ALTER_CONFIGS on the topic",
    ("DescribeConfigs", TOPIC_AUTHORIZATION_FAILED): "our principal needs DESCRIBE_CONFIGS on the topic",
    ("DescribeLogDirs", CLUSTER_AUTHORIZATION_FAILED): _DESCRIBE_CLUSTER,
    ("ListOffsets", TOPIC_AUTHORIZATION_FAILED): "our principal needs DESCRIBE on the topic",
    ("DescribeTopicPartitions", TOPIC_AUTHORIZATION_FAILED): "our principal needs DESCRIBE on the topic",
    ("CreateTopics", TOPIC_AUTHORIZATION_FAILED): "our principal needs CREATE on the topic, or on the cluster",
    ("DeleteTopics", TOPIC_AUTHORIZATION_FAILED): "our principal needs DELETE on the topic",
    ("Produce", TOPIC_AUTHORIZATION_FAILED): "our principal needs WRITE on the topic",
    ("Fetch", TOPIC_AUTHORIZATION_FAILED): "our principal needs READ on the topic",
    ("OffsetFetch", GROUP_AUTHORIZATION_FAILED): "our principal needs DESCRIBE on the group",
}
_PRINTED_REQUEST = "Request Request("
"""A controller that refuses a principal prints its own request object: 700 characters without a cause."""
_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def error_name(code: int) -> str:
    """Return the name of a code, as NOT_LEADER_OR_FOLLOWER for 6; an unknown code keeps its number."""
    known = kafka_errors.kafka_errors.get(code)
    if known is None:
        return f"UNKNOWN_ERROR_CODE_{code}"
    name = getattr(known, "message", None) or _BOUNDARY.sub("_", known.__name__.removesuffix("Error")).upper()
    return _RENAMED.get(code, str(name))


def described(code: int, message: str | None = None) -> str:
    """Describe an error for a person: name, number, and the broker's message."""
    has_cause = message and not message.startswith(_PRINTED_REQUEST)
    return f"{error_name(code)} (error {code})" + (f": {message}" if has_cause else "")


def explained(request: str, code: int) -> str:
    """Describe the error of one object of a request, with the ACL that it means."""
    hint = _HINTS.get((request, code))
    return described(code) + (f" ({hint})" if hint else "")


def refusal(request: str, code: int, message: str | None = None) -> RequestRefusedError:
    """Return the error for a request that was refused completely. Kafka's own clients retry the transient ones."""
    return RequestRefusedError(
        request,
        code,
        described(code, message),
        is_transient=bool(getattr(kafka_errors.for_code(code), "retriable", False)),
        is_outcome_unknown=code == REQUEST_TIMED_OUT,
        hint=_HINTS.get((request, code), ""),
    )
