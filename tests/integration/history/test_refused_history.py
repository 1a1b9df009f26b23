# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What keeps the history from being read is named, and the plan is as without it. Controllers that write snapshots."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.metadata_log import (
    MetadataLogError,
    SnapshotId,
    open_metadata_log,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import parse_addresses, settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from integration.history.alone import break_down, controllers_at, without_elr
from lab import Cluster, wait_until
from lab.module_process import run_module

pytestmark = pytest.mark.wide

_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_ADMIN = 'username="admin" password="admin-secret"'
_USERS = 'user_admin="admin-secret" user_alice="alice-secret"'
_SASL = {
    "sasl.mechanism.controller.protocol": "PLAIN",
    "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.controller.plain.sasl.jaas.config": f"{_LOGIN} {_ADMIN} {_USERS};",
}
_SNAPSHOT_MS = 5_000
_TIMEOUT_S = 240.0


@pytest.fixture
def authenticated(kafka_version: str) -> Iterator[Cluster]:
    """Yield a cluster whose controllers know who asks: all nodes are admin there."""
    of_brokers = {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:SASL_PLAINTEXT"}
    of_controllers = {
        "listener.security.protocol.map": "CONTROLLER:SASL_PLAINTEXT",
        "metadata.log.max.snapshot.interval.ms": _SNAPSHOT_MS,
    }
    with Cluster(
        kafka_version,
        super_users=["admin"],
        features=without_elr(kafka_version),
        properties={**_SASL, **of_brokers},
        controller_properties={**_SASL, **of_controllers},
    ) as cluster:
        yield cluster


@pytest.fixture
def forgetful(kafka_version: str) -> Iterator[Cluster]:
    """Yield a cluster whose controller soon removes what its snapshots cover."""
    forgetting = {
        "metadata.log.max.snapshot.interval.ms": _SNAPSHOT_MS,
        "metadata.log.segment.ms": _SNAPSHOT_MS,
        "metadata.max.retention.ms": 1_000,
    }
    with Cluster(kafka_version, features=without_elr(kafka_version), controller_properties=forgetting) as cluster:
        yield cluster


def options_of(cluster: Cluster, topic: str, **more: Any) -> dict[str, Any]:
    return {
        "bootstrap_servers": [cluster.bootstrap()],
        "bootstrap_controllers": [controllers_at(cluster)],
        "partitions": [{"topic": topic, "partition": 0}],
        **more,
    }


def plan_of(cluster: Cluster, topic: str, **more: Any) -> dict[str, Any]:
    """Return what a plan says of the one partition, without its history."""
    options = options_of(cluster, topic, recovery_duration_ms=2_000, engine="process", **more)
    (row,) = run_module("leader_candidate_info", options)["partitions"]
    return {name: value for name, value in row.items() if name != "history"}


def wait_for_snapshot(cluster: Cluster, since: float) -> None:
    """Return when the controller has written a snapshot that covers all that happened until then."""
    (controller,) = cluster.controllers.values()
    log = controller.data_dirs[0] / "__cluster_metadata-0"
    wait_until(
        lambda: any(each.stat().st_mtime * 1000 > since + _SNAPSHOT_MS for each in log.glob("*.checkpoint")),
        _TIMEOUT_S,
        what="there is a snapshot of the outage",
    )


def test_cluster_action_opens_the_history_and_without_it_the_plan_is_as_before(
    authenticated: Cluster, tmp_path: Path
) -> None:
    cluster, topic = authenticated, "guarded"
    _left, lost = break_down(cluster, topic, min_isr=2)
    wait_for_snapshot(cluster, lost)
    command_config = tmp_path / "controllers.properties"
    login = f'{_LOGIN} username="alice" password="alice-secret";'
    command_config.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={login}\n", encoding="utf-8"
    )
    as_alice = {"controllers_command_config": str(command_config)}
    refused = run_module("partition_history_info", options_of(cluster, topic, **as_alice))
    assert "grant CLUSTER_ACTION on the cluster" in refused["missing"], refused
    assert [each["keeps_acks_all"] for each in refused["partitions"][0]["survivors"]] == [None, None]
    blind = plan_of(cluster, topic, bootstrap_controllers=[])
    without = plan_of(cluster, topic, **as_alice)
    assert (without["status"], without["candidates"]) == (blind["status"], blind["candidates"])
    assert without["losses"] == blind["losses"]

    cluster.client.allow("alice", "CLUSTER_ACTION")
    allowed = run_module("partition_history_info", options_of(cluster, topic, **as_alice))
    assert allowed["missing"] == ""
    (partition,) = allowed["partitions"]
    assert [(each["broker_id"], each["keeps_acks_all"]) for each in partition["survivors"]] == [(2, None), (3, True)]
    assert [each["isr"] for each in partition["isr_changes"]][-1] == [1]


def test_what_retention_removed_is_named_and_a_missing_snapshot_too(forgetful: Cluster) -> None:
    cluster, topic = forgetful, "forgotten"
    break_down(cluster, topic, min_isr=2)
    found: dict[str, Any] = {}

    def is_removed() -> bool:
        found.update(run_module("partition_history_info", options_of(cluster, topic)))
        return "removed by its retention" in found["missing"]

    wait_until(is_removed, _TIMEOUT_S, what="the controller has removed the log of the outage", interval=5)
    (partition,) = found["partitions"]
    assert (partition["leader_lost_at"], partition["alone_since"]) == (None, None)
    assert [each["keeps_acks_all"] for each in partition["survivors"]] == [None, None]
    blind, seen = plan_of(cluster, topic, bootstrap_controllers=[]), plan_of(cluster, topic)
    assert (seen["status"], seen["candidates"]) == (blind["status"], blind["candidates"])

    at = controllers_at(cluster)
    with Wire(settings_from({"bootstrap_servers": at, "request_timeout_ms": 5000})) as wire:
        log = open_metadata_log(wire, parse_addresses(at), cluster.cluster_id)
        with pytest.raises(MetadataLogError, match="does not return its metadata log"):
            log.snapshot(SnapshotId(1, 1), 1_000_000)
