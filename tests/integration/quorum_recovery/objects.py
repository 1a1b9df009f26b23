# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Objects of every kind that the metadata log holds: created and read by Kafka's own tools."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lab.cluster import Cluster

_CONFIGS = "kafka.admin.ConfigCommand"
_ACLS = "kafka.admin.AclCommand"
_LEADERS = re.compile(r"(Leader: \S+|Isr: .*|Elr: .*)$")


@dataclass(frozen=True)
class Objects:
    """What clients see of the metadata, each as Kafka's tools print it. Leaders and ISRs are left out: they change."""

    topics: tuple[str, ...]
    users: tuple[str, ...]
    """SCRAM credentials and quotas."""
    brokers: tuple[str, ...]
    acls: tuple[str, ...]
    features: tuple[str, ...]


def create(cluster: Cluster) -> None:
    """Create two topics with configs, an ACL, a SCRAM credential, a quota and a cluster-wide config."""
    cluster.client.create_topic("orders", {0: [1], 1: [1]}, {"min.insync.replicas": 1, "retention.ms": 86400001})
    cluster.client.create_topic("plain", {0: [1]})
    cluster.client.produce("orders", 0, 10)
    cluster.client.allow("carol", "READ", topic="orders")
    alice = ("--entity-type", "users", "--entity-name", "alice")
    _run(cluster, _CONFIGS, "--alter", *alice, "--add-config", "SCRAM-SHA-256=[iterations=4096,password=s3cret]")
    _run(cluster, _CONFIGS, "--alter", *alice, "--add-config", "producer_byte_rate=104857")
    everywhere = ("--entity-type", "brokers", "--entity-default")
    _run(cluster, _CONFIGS, "--alter", *everywhere, "--add-config", "log.cleaner.backoff.ms=15001")


def read(cluster: Cluster) -> Objects:
    topics = _run(cluster, "org.apache.kafka.tools.TopicCommand", "--describe")
    return Objects(
        topics=tuple(sorted(" ".join(_LEADERS.sub("", _without_leader(each)).split()) for each in topics)),
        users=tuple(sorted(_run(cluster, _CONFIGS, "--describe", "--entity-type", "users"))),
        brokers=tuple(_run(cluster, _CONFIGS, "--describe", "--entity-type", "brokers", "--entity-default")),
        acls=tuple(_run(cluster, _ACLS, "--list")),
        features=tuple(re.sub(r"\s+Epoch: .*", "", each) for each in _run(cluster, _FEATURES, "describe")),
    )


_FEATURES = "org.apache.kafka.tools.FeatureCommand"


def _without_leader(line: str) -> str:
    return re.sub(r"Leader: \S+", "", line)


def _run(cluster: Cluster, tool: str, *arguments: str) -> list[str]:
    where = ("--bootstrap-server", cluster.bootstrap("INTERNAL"))
    done = cluster.client.run_tool(tool, *where, *arguments)
    assert done.returncode == 0, (tool, done.stdout, done.stderr)
    return [line for line in done.stdout.splitlines() if line.strip()]
