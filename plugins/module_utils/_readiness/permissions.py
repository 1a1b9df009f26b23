# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define the ACLs that each playbook needs, and find missing ones. Pure; standard library only.

docs/permissions.md shows this table as commands; tests/unit/readiness compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from .._changes.run_state import RUN_TOPIC_RIGHTS
from .._kafka.acls import grant_command
from .._kafka.settings import ConnectionSettings
from .._model.reasons import named
from .._model.stop_ticket import TICKET_TOPIC
from .check import Check, CheckName, CheckStatus, passed


class Resource(StrEnum):
    """The resource of an ACL."""

    CLUSTER = "the cluster"
    TOPICS = "every topic"
    JOURNAL = "the journal's topic"
    MEMORY = "the topic of remembered orders"
    TICKETS = "the topic of the tickets of stops"
    SALVAGE_TRANSACTION = "the transactional id of records that are given back"
    TRANSACTIONS = "every transactional id"
    GROUPS = "every group"
    CONTROLLERS = "the cluster, at the controllers"


@dataclass(frozen=True, slots=True)
class Need:
    """Operations on one resource that a playbook needs."""

    resource: Resource
    operations: tuple[str, ...]
    purpose: str
    is_required: bool = True
    """False if the playbook works without it, but can say less."""


_LOOK = Need(Resource.CLUSTER, ("DESCRIBE",), "to read the quorum, running reassignments and log directories")
_CONFIGS = Need(
    Resource.CLUSTER,
    ("DESCRIBE_CONFIGS",),
    "to make sure which broker answers at an address, and to read brokers' configs",
    is_required=False,
)
_SEE_TOPICS = Need(Resource.TOPICS, ("DESCRIBE",), "to see partitions: topics without it are hidden")
_TOPIC_CONFIGS = Need(Resource.TOPICS, ("DESCRIBE_CONFIGS",), "to read the settings of topics")
_IDENTIFY = Need(Resource.CLUSTER, ("DESCRIBE_CONFIGS",), "to make sure which broker answers at an address")
_TRANSACTION_LIMIT = Need(
    Resource.CLUSTER, ("DESCRIBE_CONFIGS",), "to read transaction.max.timeout.ms", is_required=False
)
_TRANSACTIONS = Need(
    Resource.TRANSACTIONS, ("DESCRIBE",), "to tell open transactions that end from those that hang", is_required=False
)
_JOURNAL = Need(Resource.JOURNAL, RUN_TOPIC_RIGHTS, "to keep lock and journal in the cluster")
_NAME_TICKETS = Need(
    Resource.TICKETS, ("DESCRIBE", "READ"), "to name brokers that somebody is stopping", is_required=False
)
_UNCLEAN_ELECTIONS = Need(
    Resource.CONTROLLERS,
    ("CLUSTER_ACTION",),
    "to read in the metadata log which leaders were elected uncleanly",
    is_required=False,
)
_READ_BEGINNINGS = Need(
    Resource.TOPICS, ("READ",), "to recognize a leader whose disk was replaced, by its log", is_required=False
)
_READ_COMMITS = Need(
    Resource.GROUPS,
    ("DESCRIBE",),
    "to recognize a leader whose disk was replaced, by committed offsets",
    is_required=False,
)


def _leadership_needs(memory: Need, of_configs: str) -> tuple[Need, ...]:
    return (
        _LOOK,
        Need(Resource.CLUSTER, ("ALTER",), "to change replica orders and to elect"),
        Need(Resource.CLUSTER, ("DESCRIBE_CONFIGS", "ALTER_CONFIGS"), "to keep the list of brokers"),
        _SEE_TOPICS,
        Need(Resource.TOPICS, ("DESCRIBE_CONFIGS",), of_configs, is_required=False),
        memory,
        _NAME_TICKETS,
        _JOURNAL,
    )


NEEDS: Mapping[str, tuple[Need, ...]] = {
    "check_readiness": (
        _LOOK,
        _IDENTIFY,
        _UNCLEAN_ELECTIONS,
        _SEE_TOPICS,
        _TOPIC_CONFIGS,
        _READ_BEGINNINGS,
        _READ_COMMITS,
    ),
    "check_stop": (
        _LOOK,
        _CONFIGS,
        _UNCLEAN_ELECTIONS,
        _SEE_TOPICS,
        _TOPIC_CONFIGS,
        _READ_BEGINNINGS,
        _READ_COMMITS,
        Need(Resource.TICKETS, ("READ",), "to see which brokers somebody else is stopping"),
        Need(
            Resource.TICKETS,
            ("CREATE", "DESCRIBE_CONFIGS", "WRITE"),
            "to take and to release tickets",
            is_required=False,
        ),
        replace(_JOURNAL, purpose="to take and to release tickets", is_required=False),
    ),
    "record_cluster": (
        _LOOK,
        replace(_IDENTIFY, is_required=False),
        _SEE_TOPICS,
        replace(_TOPIC_CONFIGS, is_required=False),
    ),
    "restore_redundancy": (
        _LOOK,
        Need(Resource.CLUSTER, ("ALTER",), "to replace replicas"),
        Need(Resource.CLUSTER, ("DESCRIBE_CONFIGS", "ALTER_CONFIGS"), "to throttle the copies", is_required=False),
        replace(_UNCLEAN_ELECTIONS, purpose="to clear a leader whose disk seems to have been replaced"),
        _SEE_TOPICS,
        Need(
            Resource.TOPICS,
            ("DESCRIBE_CONFIGS",),
            "to begin with partitions below min.insync.replicas",
            is_required=False,
        ),
        Need(Resource.TOPICS, ("ALTER_CONFIGS",), "to throttle the copies", is_required=False),
        _READ_BEGINNINGS,
        _READ_COMMITS,
        _NAME_TICKETS,
        _JOURNAL,
    ),
    "restore_groups": (
        _LOOK,
        _SEE_TOPICS,
        Need(Resource.TOPICS, ("READ",), "to read where leader epochs end, and to commit"),
        Need(Resource.GROUPS, ("DESCRIBE", "READ"), "to read committed offsets, and to commit"),
        Need(Resource.CONTROLLERS, ("CLUSTER_ACTION",), "to read which elections were unclean", is_required=False),
        Need(Resource.CLUSTER, ("ALTER",), "to abort hanging transactions", is_required=False),
        _TRANSACTION_LIMIT,
        Need(Resource.TOPICS, ("DESCRIBE_CONFIGS",), "to read delete.retention.ms", is_required=False),
        _TRANSACTIONS,
        _NAME_TICKETS,
        _JOURNAL,
    ),
    "check_quorum": (
        _LOOK,
        _CONFIGS,
        Need(Resource.CONTROLLERS, ("CLUSTER_ACTION",), "to read each controller's own epoch", is_required=False),
        Need(Resource.CONTROLLERS, ("ALTER",), "to have the controllers list each other", is_required=False),
    ),
    "replace_controller": (
        _LOOK,
        Need(Resource.CLUSTER, ("ALTER",), "to remove and to add a voter"),
        _CONFIGS,
        _NAME_TICKETS,
        _JOURNAL,
    ),
    "recover_quorum": (_LOOK,),
    "recover_offline_partitions": (
        _LOOK,
        Need(Resource.CLUSTER, ("ALTER",), "to put the designated leader first and to elect it"),
        _CONFIGS,
        Need(
            Resource.CONTROLLERS,
            ("CLUSTER_ACTION",),
            "to read in the metadata log since when the last leader took records alone",
            is_required=False,
        ),
        _SEE_TOPICS,
        Need(Resource.TOPICS, ("READ",), "to read the leader epochs that a replica holds"),
        Need(Resource.TOPICS, ("DESCRIBE_CONFIGS",), "to read unclean.leader.election.enable"),
        _NAME_TICKETS,
        _JOURNAL,
        Need(
            Resource.GROUPS,
            ("DESCRIBE",),
            "to name groups whose committed offsets lie beyond the new log end",
            is_required=False,
        ),
        _TRANSACTIONS,
    ),
    "drain_leadership": _leadership_needs(
        Need(
            Resource.MEMORY,
            ("CREATE", "DESCRIBE", "DESCRIBE_CONFIGS", "READ", "WRITE"),
            "to remember the original replica orders",
        ),
        "to say whether a broker may stop, and to tell a lost history from records that retention deletes",
    ),
    "restore_leadership": _leadership_needs(
        Need(
            Resource.MEMORY,
            ("DESCRIBE", "DESCRIBE_CONFIGS", "READ", "WRITE"),
            "to read the original replica orders, and to note which are restored",
        ),
        "to tell a lost history from records that retention deletes",
    ),
    "recover_log_cleaners": (
        _LOOK,
        Need(Resource.CLUSTER, ("ALTER",), "to drop and re-create a replica"),
        Need(Resource.CLUSTER, ("DESCRIBE_CONFIGS", "ALTER_CONFIGS"), "to restart cleaner threads and to throttle"),
        _SEE_TOPICS,
        Need(Resource.TOPICS, ("READ",), "to read a copy before another one is made from it"),
        Need(Resource.TOPICS, ("DESCRIBE_CONFIGS", "ALTER_CONFIGS"), "to throttle the copy of a replica"),
        _NAME_TICKETS,
        _JOURNAL,
    ),
    "salvage_logs": (
        _SEE_TOPICS,
        Need(Resource.TOPICS, ("READ",), "to read the leader epochs that a leader holds"),
    ),
    "replay_salvaged_records": (
        _LOOK,
        Need(Resource.CLUSTER, ("CREATE",), "to create side topics and the topic that keeps what was given back"),
        _TRANSACTION_LIMIT,
        _SEE_TOPICS,
        Need(Resource.TOPICS, ("READ",), "to read what was given back, and newer keys of compacted topics"),
        _TOPIC_CONFIGS,
        Need(Resource.TOPICS, ("WRITE",), "to give records back"),
        Need(Resource.SALVAGE_TRANSACTION, ("DESCRIBE", "WRITE"), "to give each record back exactly once"),
        _NAME_TICKETS,
        _JOURNAL,
    ),
}


@dataclass(frozen=True, slots=True)
class Access:
    """What our principal may do, according to the brokers."""

    cluster: frozenset[str]
    topics: Mapping[str, frozenset[str]]
    """Operations by visible topic."""
    hidden_topics: Sequence[str]
    """Topics that our principal may not see."""
    journal: frozenset[str]
    memory: frozenset[str]
    tickets: frozenset[str]
    groups: Mapping[str, frozenset[str]]
    """Operations by group, where the coordinators say them."""


@dataclass(frozen=True, slots=True)
class Missing:
    """An operation that our principal may not do."""

    need: Need
    operation: str
    where: str


def find_missing(needs: Sequence[Need], access: Access) -> Iterator[Missing]:
    """Yield all operations that are known to be missing.

    ACLs on transactional ids and at controllers are not checked: this would need a write, or knowledge of all ids.
    """
    # CREATE on the cluster allows creating any topic.
    created = access.cluster & {"CREATE"}
    one = {
        Resource.CLUSTER: access.cluster,
        Resource.JOURNAL: access.journal | created,
        Resource.MEMORY: access.memory | created,
        Resource.TICKETS: access.tickets | created,
    }
    hidden = dict.fromkeys(access.hidden_topics, frozenset[str]())
    many = {Resource.TOPICS: ("topic", {**hidden, **access.topics}), Resource.GROUPS: ("group", access.groups)}
    for need in needs:
        noun, of_each = many.get(need.resource, ("", {}))
        for operation in need.operations:
            lacking = [name for name, operations in of_each.items() if operation not in operations]
            if lacking:
                yield Missing(need, operation, named(noun, lacking))
            elif need.resource in one and operation not in one[need.resource]:
                yield Missing(need, operation, need.resource.value)


def check_permissions(
    access: Access, journal_topic: str, memory_topic: str, settings: ConnectionSettings
) -> Iterator[Check]:
    """Check the ACLs of each playbook."""
    for playbook, needs in NEEDS.items():
        found = [*find_missing(needs, access)]
        subject = f"playbook {playbook}"
        if not found:
            yield passed(CheckName.PERMISSIONS, "our principal has every ACL that can be checked", subject)
            continue
        status = CheckStatus.FAILED if any(each.need.is_required for each in found) else CheckStatus.WARNING
        lines = [f"{each.operation} on {each.where} is missing ({each.need.purpose})" for each in found]
        needs_missing = {(each.need.operations, acl_resource(each.need, journal_topic, memory_topic)) for each in found}
        commands = "; ".join(grant_command(settings, *each) for each in sorted(needs_missing))
        yield Check(CheckName.PERMISSIONS, status, subject, "; ".join(lines), f"Grant it: {commands}")


def acl_resource(need: Need, journal_topic: str, memory_topic: str) -> str:
    """Return the options of kafka-acls.sh that name the resource."""
    return {
        Resource.CLUSTER: "--cluster",
        Resource.CONTROLLERS: "--cluster",
        Resource.TOPICS: "--topic '*'",
        Resource.GROUPS: "--group '*'",
        Resource.TRANSACTIONS: "--transactional-id '*'",
        Resource.JOURNAL: f"--topic {journal_topic}",
        Resource.MEMORY: f"--topic {memory_topic}",
        Resource.TICKETS: f"--topic {TICKET_TOPIC}",
        Resource.SALVAGE_TRANSACTION: "--transactional-id kafkaops.recovery._kafkaops_salvage",
    }[need.resource]
