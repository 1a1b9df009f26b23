# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controllers that answer, and do not list the others: after a restart without a quorum, and without ALTER."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lab import settings, wait_until
from lab.cluster import Cluster
from lab.module_process import run_module
from lab.ports import HeldPorts

pytestmark = [pytest.mark.timeout(600), pytest.mark.wide]

_CANNOT = "Direct-to-controller communication is not supported with the current MetadataVersion"


@pytest.fixture(params=[True, False], ids=["dynamic", "static"])
def cluster(kafka_version: str, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with Cluster(kafka_version, brokers=1, controllers=3, dynamic_quorum=request.param) as cluster:
        yield cluster


def test_a_restart_without_a_quorum(cluster: Cluster) -> None:
    """The controllers run, and cannot elect: a static one finds no other, and of the dynamic ones only one runs."""
    dead = HeldPorts(cluster.host)
    controllers = [*cluster.controllers.values()]
    for each in controllers:
        each.kill()
    running = controllers if cluster.has_static_voters else controllers[:1]
    for node in running:
        voters = {each.node_id: each.port if each is node else dead.take() for each in controllers}
        if cluster.has_static_voters:
            named = ",".join(f"{voter}@{cluster.host}:{port}" for voter, port in voters.items())
            node.properties["controller.quorum.voters"] = named
        node.start()
    addresses = [f"{each.host}:{each.port}" for each in running]

    seen = look(cluster, bootstrap_controllers=addresses)
    assert [each["cause"] for each in seen["controllers"]] == [None] * len(running)
    assert all(_CANNOT in each["unlisted"] for each in seen["controllers"])
    remedy = remedy_of(seen)
    if cluster.has_static_voters:
        assert "101, 102 and 103 of 3 answered, and 2 are a majority: wait a minute for an election" in remedy
    else:
        assert f"{addresses[0]} answered, and no controller says how many voters there are" in remedy
    assert "recover_quorum" not in remedy

    unnamed = look(cluster)
    assert {each["address"] for each in unnamed["controllers"] if each["cause"] is None} == {*addresses}, unnamed
    assert "recover_quorum" not in remedy_of(unnamed)


def look(cluster: Cluster, **options: Any) -> dict[str, Any]:
    servers = {"bootstrap_servers": [cluster.bootstrap()], "request_timeout_ms": 3000, "window_ms": 1000}
    found = run_module("quorum_info", servers | options)
    assert not found.get("failed"), found
    return found


def remedy_of(found: dict[str, Any]) -> str:
    (remedy,) = [each["remedy"] for each in found["findings"] if each["kind"] == "no_leader"]
    return str(remedy)


def test_without_alter_on_the_cluster(kafka_version: str) -> None:
    with Cluster(
        kafka_version, brokers=1, controllers=3, dynamic_quorum=True, listeners=("SASL_PLAINTEXT",), super_users=[]
    ) as cluster:
        ports = HeldPorts(cluster.host)
        addresses = []
        for each in cluster.controllers.values():
            addresses.append(f"{each.host}:{(port := ports.take())}")
            each.properties |= settings.sasl(("SASL_PLAINTEXT",), {"alice": "alice-secret"}) | {
                "listeners": f"{each.properties['listeners']},SASL_PLAINTEXT://{each.host}:{port}",
                "controller.listener.names": "CONTROLLER,SASL_PLAINTEXT",
                "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT",
            }
            each.restart()
            wait_until(cluster.has_whole_quorum, 60, what="the controller is back")
        for right in ("DESCRIBE", "DESCRIBE_CONFIGS", "CLUSTER_ACTION"):
            cluster.client.allow("alice", right)
        person = {
            "bootstrap_servers": [cluster.bootstrap("SASL_PLAINTEXT")],
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "SCRAM-SHA-256",
            "sasl_username": "alice",
            "sasl_password": "alice-secret",
        }
        found = look(cluster, **person, bootstrap_controllers=addresses)
        assert [each["cause"] for each in found["controllers"]] == [None] * 3
        assert all("our principal needs ALTER on the cluster" in each["unlisted"] for each in found["controllers"])
        assert found["verdicts"]["elections"]["allowed"]
        assert {each["kind"] for each in found["findings"]} <= {"pre_vote_missing"}

        cluster.client.allow("alice", "ALTER")
        found = look(cluster, **person, bootstrap_controllers=addresses[:1])
        assert [each["node_id"] for each in found["controllers"]] == [101, 102, 103]
