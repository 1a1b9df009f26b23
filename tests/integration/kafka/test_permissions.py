# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The documented ACLs are those that readiness checks: some are revoked, and it names them.

READ, WRITE, DELETE and ALTER imply DESCRIBE, ALTER_CONFIGS implies DESCRIBE_CONFIGS, and CREATE on the cluster implies
CREATE on a topic: those that imply what is taken away go too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal_reader import JournalOptions
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.stop_ticket import TICKET_TOPIC
from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.check import Check, CheckName, CheckStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.inspection import (
    ReadinessOptions,
    check_readiness,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.permissions import NEEDS, Resource
from lab import Cluster, settings, wait_until

TOPIC, GROUP = "lost", "billing"
JOURNAL, MEMORY = "_kafkaops_run", "_kafkaops_leadership"
PROGRESS, TRANSACTION = "_kafkaops_salvage", "kafkaops.recovery._kafkaops_salvage"
PLACES: Mapping[Resource, tuple[dict[str, str], ...]] = {
    Resource.CLUSTER: ({},),
    Resource.TOPICS: ({"topic": TOPIC}, {"topic": PROGRESS}),
    Resource.JOURNAL: ({"topic": JOURNAL},),
    Resource.MEMORY: ({"topic": MEMORY},),
    Resource.TICKETS: ({"topic": TICKET_TOPIC},),
    Resource.GROUPS: ({"group": GROUP},),
    Resource.SALVAGE_TRANSACTION: ({"transactional_id": TRANSACTION},),
}
IMPLIED_BY = {"DESCRIBE": ("READ", "WRITE", "DELETE", "ALTER"), "DESCRIBE_CONFIGS": ("ALTER_CONFIGS",)}
Grant = tuple[str, Resource]


def grants(playbook: str, *, optional: bool = True) -> list[Grant]:
    """Return the ACLs that a playbook needs, one for each operation. ACLs at controllers are those on the cluster."""
    return [
        (operation, need.resource)
        for need in NEEDS[playbook]
        for operation in need.operations
        if need.resource in PLACES and (need.is_required or optional)
    ]


EVERY_GRANT: tuple[Grant, ...] = tuple(
    sorted(
        {
            grant
            for playbook in NEEDS
            for grant in grants(playbook)
            # This cannot be checked without a write.
            if grant[1] is not Resource.SALVAGE_TRANSACTION
        }
    )
)


@dataclass
class Alice:
    """A principal that has only the granted ACLs."""

    cluster: Cluster
    granted: set[Grant]

    def have(self, wanted: set[Grant]) -> None:
        """Grant and revoke until the principal has exactly these ACLs."""
        for operation, resource in sorted(self.granted - wanted):
            for place in PLACES[resource]:
                self.cluster.client.revoke("alice", operation, **place)
        for operation, resource in sorted(wanted - self.granted):
            for place in PLACES[resource]:
                self.cluster.client.allow("alice", operation, **place)
        self.granted = set(wanted)

    @contextmanager
    def lacking(self, grant: Grant) -> Iterator[set[Grant]]:
        """Revoke one operation, and those that imply it. Yields all revoked ACLs."""
        before, (operation, resource) = set(self.granted), grant
        taken = {grant, *((other, resource) for other in IMPLIED_BY.get(operation, ()))}
        if operation == "CREATE":
            taken.add((operation, Resource.CLUSTER))
        self.have(before - taken)
        try:
            yield taken
        finally:
            self.have(before)

    @property
    def variables(self) -> dict[str, object]:
        """Return the principal's connection settings."""
        return {
            "kafka_bootstrap_servers": self.cluster.bootstrap("SASL_PLAINTEXT"),
            "kafka_security_protocol": "SASL_PLAINTEXT",
            "kafka_sasl_mechanism": "SCRAM-SHA-256",
            "kafka_sasl_username": "alice",
            "kafka_sasl_password": "alice-secret",
            "kafka_request_timeout_ms": 5000,
        }


@pytest.fixture(scope="module")
def alice(kafka_version: str) -> Iterator[Alice]:
    with Cluster(kafka_version, brokers=3, listeners=("SASL_PLAINTEXT",), super_users=[]) as cluster:
        cluster.client.allow("alice", "ALL", topic="__consumer_offsets")
        yield Alice(cluster, set())


def permissions(alice: Alice, directory: Path) -> dict[str, Check]:
    """Return readiness' result for each playbook."""
    given = {name.removeprefix("kafka_"): value for name, value in alice.variables.items()}
    options = ReadinessOptions(journal=JournalOptions(), memory_topic=MEMORY, uses_local_spark=False)
    with Wire(settings_from(given)) as wire:
        found = check_readiness(Kafka(wire), options)
    return {each.subject: each for each in found.checks if each.name is CheckName.PERMISSIONS}


def commit(cluster: Cluster, offset: int = 0) -> None:
    """Commit an offset for the group: a group without one does not exist."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap(settings.INTERNAL), "group.id": GROUP, "log_level": 0})
    try:
        wait_until(lambda: _is_committed(consumer, offset), 30, what=f"group {GROUP} has committed an offset")
    finally:
        consumer.close()


def _is_committed(consumer: Consumer, offset: int) -> bool:
    with suppress(KafkaException):
        consumer.commit(offsets=[TopicPartition(TOPIC, 0, offset)], asynchronous=False)
        return True
    return False


@pytest.mark.wide
@pytest.mark.parametrize("grant", EVERY_GRANT, ids=lambda grant: f"{grant[0]} on {grant[1].value}")
def test_each_acl_is_named_for_every_playbook_that_needs_it(alice: Alice, tmp_path: Path, grant: Grant) -> None:
    alice.cluster.client.create_topic(TOPIC, {0: [1, 2, 3]})
    commit(alice.cluster)
    alice.have(set(EVERY_GRANT))
    assert {subject: each.found for subject, each in permissions(alice, tmp_path).items() if each.remedy} == {}
    operation = grant[0]
    with alice.lacking(grant) as taken:
        found = permissions(alice, tmp_path)
    alice.cluster.client.delete_topic(TOPIC)
    for playbook in NEEDS:
        check = found[f"playbook {playbook}"]
        needs_it = any(each in taken and each[0] == operation for each in grants(playbook))
        assert (f"{operation} on " in check.found) == needs_it, (playbook, check.found)
        if grant in grants(playbook, optional=False):
            assert check.status is CheckStatus.FAILED, (playbook, check.found)
            assert f"--operation {operation.title().replace('_', '')}" in check.remedy


def test_readiness_names_what_is_missing(alice: Alice, tmp_path: Path) -> None:
    alice.cluster.client.create_topic("seen", {0: [1, 2, 3]})
    alice.cluster.client.create_topic(TOPIC, {0: [1, 2, 3]})
    alice.have(set(EVERY_GRANT))
    hidden = permissions(alice, tmp_path)
    assert {each.status for each in hidden.values()} >= {CheckStatus.FAILED}
    assert "DESCRIBE on topic seen is missing" in hidden["playbook salvage_logs"].found
    alice.cluster.client.allow("alice", "ALL", topic="seen")
    assert {subject: each.found for subject, each in permissions(alice, tmp_path).items() if each.remedy} == {}
    for operation, resource in (("ALTER", Resource.CLUSTER), ("DELETE", Resource.JOURNAL), ("READ", Resource.TOPICS)):
        with alice.lacking((operation, resource)):
            found = permissions(alice, tmp_path)["playbook recover_offline_partitions"]
            assert found.status is CheckStatus.FAILED
            assert f"{operation} on " in found.found
    alice.cluster.client.revoke("alice", "ALL", topic="seen")
    for topic in (TOPIC, "seen"):
        alice.cluster.client.delete_topic(topic)
