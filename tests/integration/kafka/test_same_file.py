# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The same properties file for Kafka's own tool and for three playbooks; test_command_config has the details."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from integration.kafka.test_command_config import (
    IN_JAAS,
    SCRAM,
    TLS,
    Properties,
    kafka_s_own_tool,
    provided,
    sasl,
    written,
)
from lab import Cluster
from lab.playbook import RECOVER, run_playbook

pytestmark = [pytest.mark.wide, pytest.mark.timeout(600)]

_READINESS, _DRAIN = "kafkaops.recovery.check_readiness", "kafkaops.recovery.drain_leadership"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@pytest.fixture(scope="module")
def cluster(kafka_version: str) -> Iterator[Cluster]:
    jaas = {"listener.name.sasl_ssl.plain.sasl.jaas.config": f'{_PLAIN} user_alice="{IN_JAAS}";'}
    listeners = ("SSL", "SASL_SSL")
    with Cluster(kafka_version, listeners=listeners, properties=jaas, tls_client_auth="required") as started:
        started.client.create_topic("orders", {0: [1, 2, 3], 1: [2, 3, 1]})
        yield started


def plain(cluster: Cluster, _directory: Path) -> Properties:
    return sasl(cluster, "PLAIN", f'{_PLAIN} username="alice" password="{IN_JAAS}";')


def scram(cluster: Cluster, _directory: Path) -> Properties:
    return sasl(cluster, "SCRAM-SHA-512", f'{SCRAM} username="alice" password="alice-secret";')


_KINDS: list[tuple[str, Callable[[Cluster, Path], Properties]]] = [
    *(("SSL", each) for each in TLS),
    ("SASL_SSL", plain),
    ("SASL_SSL", scram),
    ("SASL_SSL", provided),
]


def three_playbooks_accept(file: Path, bootstrap: str, journal: Path) -> str:
    """Run three playbooks, which change nothing, on a healthy cluster with a topic ``orders``. Returns their output."""
    variables = {
        "kafka_bootstrap_servers": bootstrap,
        "kafka_command_config": str(file),
        "kafka_request_timeout_ms": 9000,
    }
    ready = run_playbook(_READINESS, variables)
    assert ready.returncode == 0, ready.output
    assert "GREEN" in ready.words
    everything = {"unclean_recovery_all_offline_partitions": True, "unclean_recovery_automated_recovery": True}
    recovery = run_playbook(RECOVER, variables | everything, "--check")
    assert recovery.returncode == 0, recovery.output
    assert recovery.counts["changed"] == 0
    drain = run_playbook(_DRAIN, variables | {"leadership_drain_brokers": [1]}, "--check", "-v")
    assert drain.returncode == 0, drain.output
    assert "orders-0 would reorder 1,2,3 → 2,3,1" in drain.words
    return ready.output + recovery.output + drain.output


@pytest.mark.parametrize(("listener", "properties"), _KINDS, ids=[each.__name__ for _listener, each in _KINDS])
def test_kafka_s_own_tool_and_three_playbooks_accept_it(
    cluster: Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    listener: str,
    properties: Callable[[Cluster, Path], Properties],
) -> None:
    monkeypatch.setenv("KAFKAOPS_TEST_USER", "alice")
    given = properties(cluster, tmp_path)
    file = written(tmp_path / "client.properties", listener, given)
    tool = kafka_s_own_tool(cluster, listener, file)
    assert "orders" in tool.stdout.splitlines(), tool.stderr[-2000:]
    output = three_playbooks_accept(file, cluster.bootstrap(listener), tmp_path / "journal")
    secrets = {str(value) for name, value in given.items() if "password" in name and "${" not in str(value)}
    assert not [each for each in secrets if each in output]
