# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controllers with other listeners than the brokers: TLS with a client certificate, set in a separate file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import Cluster, settings
from lab.playbook import run_playbook
from lab.tls import Certificates
from lab.versions import has_pre_vote

pytestmark = pytest.mark.on_any_version

_CHECK = "kafkaops.recovery.check_quorum"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("tls") / "files")


@pytest.fixture(scope="module")
def cluster(kafka_version: str, certificates: Certificates) -> Iterator[Cluster]:
    tls = settings.tls(certificates.server("valid"), certificates.ca, "none") | {"ssl.client.auth": "required"}
    protocols = "PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:SSL"
    every_node = {**tls, "listener.security.protocol.map": protocols}
    with Cluster(kafka_version, brokers=1, properties=every_node, controller_properties=every_node) as started:
        yield started


@pytest.fixture(scope="module")
def command_config(certificates: Certificates, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("controllers") / "controllers.properties"
    path.write_text(
        "security.protocol=SSL\n"
        f"ssl.truststore.location={certificates.truststore_p12}\nssl.truststore.password={certificates.store_password}\n"
        f"ssl.keystore.location={certificates.client_keystore_p12}\nssl.keystore.password={certificates.store_password}\n"
    )
    return path


def variables(cluster: Cluster, **more: str) -> dict[str, str]:
    where = ",".join(f"{each.host}:{each.port}" for each in cluster.controllers.values())
    return {"kafka_bootstrap_servers": cluster.bootstrap(), "kafka_bootstrap_controllers": where, **more}


def test_they_are_asked_as_their_own_file_says(cluster: Cluster, command_config: Path) -> None:
    where = variables(cluster)["kafka_bootstrap_controllers"]
    options = ("--bootstrap-controller", where, "--command-config", str(command_config), "describe", "--status")
    tool = cluster.client.run_tool("org.apache.kafka.tools.MetadataQuorumCommand", *options, timeout=60)
    assert re.search(r"LeaderId:\s+101\b", tool.stdout), tool.stderr[-2000:]
    more = {"kafka_controllers_command_config": str(command_config), "quorum_preflight_fail_on": "critical"}
    run = run_playbook(_CHECK, variables(cluster, **more), "-v")
    assert run.returncode == 0, run.output
    assert f'"supports_pre_vote": {json.dumps(has_pre_vote(cluster.version))}' in run.output
    assert "not_authorized" not in run.output


def test_without_it_the_cause_is_reported(cluster: Cluster) -> None:
    run = run_playbook(_CHECK, variables(cluster, quorum_preflight_fail_on="critical"), "-v")
    assert "a port that speaks TLS closes like this" in run.output or "this port speaks TLS" in run.output


def test_it_needs_the_addresses_of_controllers(cluster: Cluster, command_config: Path) -> None:
    given = variables(cluster, kafka_controllers_command_config=str(command_config), kafka_bootstrap_controllers="")
    run = run_playbook(_CHECK, given)
    assert run.returncode != 0
    assert "kafka_controllers_command_config is given without kafka_bootstrap_controllers" in run.output
