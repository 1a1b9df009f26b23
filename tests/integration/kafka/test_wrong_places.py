# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a person gets who names the wrong port or a wrong topic: what is there, and what to type, in typed names."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.kafka.test_command_config import SCRAM, Properties, kafka_s_own_tool, written
from lab import Cluster
from lab.playbook import RECOVER, PlaybookRun, typed

pytestmark = [pytest.mark.wide, pytest.mark.on_any_version, pytest.mark.timeout(600)]

OAUTH = "org.apache.kafka.common.security.oauthbearer"
_PLAYBOOKS = {
    RECOVER: (),
    "kafkaops.recovery.check_stop": ("stop_gate_brokers=1",),
    "kafkaops.recovery.restore_redundancy": ("redundancy_all_under_replicated=true",),
}


@pytest.fixture(scope="module")
def cluster(kafka_version: str) -> Iterator[Cluster]:
    with Cluster(kafka_version, brokers=1, listeners=("PLAINTEXT", "SASL_PLAINTEXT")) as started:
        started.client.create_topic("orders", {0: (1,)})
        started.client.create_topic("payments", {0: (1,)})
        yield started


def run(directory: Path, playbook: str, *variables: str, check: bool = False) -> PlaybookRun:
    options = [word for each in variables for word in ("-e", each)]
    return typed(directory, "ansible-playbook", playbook, *options, *(["--check"] if check else []))


def controllers(cluster: Cluster) -> str:
    return ",".join(f"{each.host}:{each.port}" for each in cluster.controllers.values())


@pytest.mark.parametrize("playbook", _PLAYBOOKS)
def test_a_controller_is_named_as_one(cluster: Cluster, tmp_path: Path, playbook: str) -> None:
    where = controllers(cluster)
    ran = run(tmp_path, playbook, f"kafka_bootstrap_servers={where}", *_PLAYBOOKS[playbook])
    assert ran.returncode != 0
    assert f"no broker answered DescribeCluster: {where}: error: this is a controller" in ran.words
    assert "give its address in kafka_bootstrap_controllers, and brokers in kafka_bootstrap_servers" in ran.words


def test_a_controller_among_brokers_is_passed_over(cluster: Cluster, tmp_path: Path) -> None:
    ran = run(tmp_path, RECOVER, f"kafka_bootstrap_servers={controllers(cluster)},{cluster.bootstrap()}")
    assert (ran.returncode, "No partition is offline." in ran.words) == (0, True), ran.output


def test_a_mistyped_voter_of_a_static_quorum_is_not_to_be_started(cluster: Cluster, tmp_path: Path) -> None:
    where = f"kafka_bootstrap_servers={cluster.bootstrap()}"
    ran = run(tmp_path, "kafkaops.recovery.replace_controller", where, "controller_replacement_voter_id=55")
    assert ran.returncode != 0
    assert "No voter and no observer has the id 55: the quorum knows" in ran.words
    assert "start" not in ran.words.rpartition("the quorum knows")[2]


def test_a_topic_that_no_cluster_can_have_is_refused_by_its_variable(cluster: Cluster, tmp_path: Path) -> None:
    ran = run(
        tmp_path, RECOVER, f"kafka_bootstrap_servers={cluster.bootstrap()}", "unclean_recovery_partitions=../etc:0"
    )
    assert ran.returncode != 0
    assert "unclean_recovery_partitions is refused at /" in ran.words


def test_a_client_with_sasl_at_a_listener_without(cluster: Cluster, tmp_path: Path) -> None:
    jaas = f'{SCRAM} username="alice" password="alice-secret";'
    file = written(
        tmp_path / "client.properties", "SASL_PLAINTEXT", {"sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": jaas}
    )
    ran = run(tmp_path, RECOVER, f"kafka_bootstrap_servers={cluster.bootstrap()}", f"kafka_command_config={file}")
    assert ran.returncode != 0
    assert "this listener does not use SASL (set kafka_security_protocol to PLAINTEXT, or use the port" in ran.words
    right = f"kafka_bootstrap_servers={cluster.bootstrap('SASL_PLAINTEXT')}"
    assert run(tmp_path, RECOVER, right, f"kafka_command_config={file}").returncode == 0


def test_a_topic_that_does_not_exist(cluster: Cluster, tmp_path: Path) -> None:
    servers = f"kafka_bootstrap_servers={cluster.bootstrap()}"
    ran = run(tmp_path, RECOVER, servers, "unclean_recovery_partitions=order:0")
    assert ran.returncode != 0
    assert "topic order was not found: did you mean orders?" in ran.words
    (tmp_path / "some.json").write_text(json.dumps({"partitions": [{"topic": "payment", "partition": 0}]}))
    ran = run(tmp_path, "kafkaops.recovery.restore_redundancy", servers, "redundancy_partitions_file=some.json")
    assert "topic payment was not found: did you mean payments?" in ran.words
    named = ("leadership_drain_brokers=1", "leadership_drain_topics=Order")
    ran = run(tmp_path, "kafkaops.recovery.drain_leadership", servers, *named, check=True)
    assert "topic Order was not found: did you mean orders?" in ran.words


def test_the_login_module_of_kafka_opts(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kafka's scripts pass KAFKA_OPTS to Java."""
    login = tmp_path / "jaas.conf"
    login.write_text(f'KafkaClient {{ {SCRAM} username="alice" password="alice-secret"; }};')
    file = written(tmp_path / "client.properties", "SASL_PLAINTEXT", {"sasl.mechanism": "SCRAM-SHA-512"})
    monkeypatch.setenv("KAFKA_OPTS", f"-Djava.security.auth.login.config={login}")
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", f"-Djava.security.auth.login.config={login}")
    tool = kafka_s_own_tool(cluster, "SASL_PLAINTEXT", file)
    assert "orders" in tool.stdout, tool.stderr
    ran = run(
        tmp_path,
        RECOVER,
        f"kafka_bootstrap_servers={cluster.bootstrap('SASL_PLAINTEXT')}",
        f"kafka_command_config={file}",
    )
    assert ran.returncode == 0, ran.output


def test_a_file_for_strimzi_s_handler(cluster: Cluster, tmp_path: Path) -> None:
    """The lab's listeners take unsecured tokens (RFC 7519, section 6)."""
    claims = {"sub": "alice", "iat": time.time() - 60, "exp": time.time() + 600}
    parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode() for part in ({"alg": "none"}, claims))
    (tmp_path / "token").write_text(".".join([*(part.rstrip("=") for part in parts), ""]))
    jaas = f'{OAUTH}.OAuthBearerLoginModule required oauth.access.token.location="{tmp_path}/token";'
    properties: Properties = {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": jaas,
        "sasl.login.callback.handler.class": "io.strimzi.kafka.oauth.client.JaasClientOauthLoginCallbackHandler",
    }
    file = written(tmp_path / "client.properties", "SASL_PLAINTEXT", properties)
    servers = f"kafka_bootstrap_servers={cluster.bootstrap('SASL_PLAINTEXT')}"
    ran = run(tmp_path, RECOVER, servers, f"kafka_command_config={file}")
    assert ran.returncode == 0, ran.output
