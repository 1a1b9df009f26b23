# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""GSSAPI against a real KDC: the same files for Kafka's own tool and for this collection, and each cause in words."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.client_properties import with_command_config
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.cluster import describe_cluster
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import NoBrokerAnswersError, SettingsError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from lab import Cluster, settings
from lab.kdc import REALM, Kdc

pytestmark = pytest.mark.on_any_version

LOGIN = "com.sun.security.auth.module.Krb5LoginModule required"


@pytest.fixture(scope="module")
def kdc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kdc]:
    with Kdc(tmp_path_factory.mktemp("kerberos") / "kdc") as started:
        yield started


@pytest.fixture(scope="module")
def keytab(kdc: Kdc) -> Path:
    return kdc.keytab("alice")


@pytest.fixture(scope="module")
def cluster(kafka_version: str, kdc: Kdc) -> Iterator[Cluster]:
    broker = kdc.keytab("kafka/localhost")
    jaas = f'{LOGIN} useKeyTab=true storeKey=true keyTab="{broker}" principal="kafka/localhost@{REALM}";'
    properties = {
        "sasl.enabled.mechanisms": ",".join([*settings.SASL_MECHANISMS, "GSSAPI"]),
        "sasl.kerberos.service.name": "kafka",
        "listener.name.sasl_plaintext.gssapi.sasl.jaas.config": jaas,
    }
    arguments = {1: [f"-Djava.security.krb5.conf={kdc.krb5_conf}"]}
    listeners = ("SASL_PLAINTEXT",)
    with Cluster(kafka_version, brokers=1, listeners=listeners, properties=properties, jvm_args=arguments) as started:
        started.client.create_topic("orders", {0: [1]})
        yield started


@pytest.fixture(autouse=True)
def as_a_client(kdc: Kdc, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in kdc.environment.items():
        monkeypatch.setenv(name, value)


def written(directory: Path, jaas: str) -> Path:
    """Return a file as operators have it. Kafka's default mechanism is GSSAPI, so none is named."""
    path = directory / "client.properties"
    path.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.kerberos.service.name=kafka\nsasl.jaas.config={LOGIN} {jaas};\n"
    )
    return path


def cluster_id(cluster: Cluster, file: Path) -> str:
    options = {"command_config": str(file), "bootstrap_servers": cluster.bootstrap(), "request_timeout_ms": 5000}
    with Wire(settings_from(with_command_config(options))) as wire:
        return describe_cluster(wire).cluster_id


def works_with_both(cluster: Cluster, file: Path) -> None:
    where = ("--bootstrap-server", cluster.bootstrap(), "--command-config", str(file))
    tool = cluster.client.run_tool("org.apache.kafka.tools.TopicCommand", *where, "--list", timeout=60)
    assert "orders" in tool.stdout.splitlines(), tool.stderr[-2000:]
    assert cluster_id(cluster, file) == cluster.cluster_id


def refusal(cluster: Cluster, file: Path) -> str:
    with pytest.raises(NoBrokerAnswersError) as refused:
        cluster_id(cluster, file)
    return str(refused.value)


def test_a_keytab(cluster: Cluster, keytab: Path, tmp_path: Path) -> None:
    jaas = f'useKeyTab=true storeKey=true keyTab="{keytab}" principal="alice@{REALM}"'
    works_with_both(cluster, written(tmp_path, jaas))


def test_the_ticket_cache(cluster: Cluster, kdc: Kdc, keytab: Path, tmp_path: Path) -> None:
    kdc.kinit("alice", keytab)
    ticket_cache = os.environ["KRB5CCNAME"].removeprefix("FILE:")
    for principal in "", "principal=alice":
        jaas = f'useTicketCache=true ticketCache="{ticket_cache}" {principal}'
        works_with_both(cluster, written(tmp_path, jaas))
    assert cluster_id(cluster, written(tmp_path, "useTicketCache=true")) == cluster.cluster_id


def test_no_ticket(cluster: Cluster, tmp_path: Path) -> None:
    file = written(tmp_path, f'useTicketCache=true ticketCache="{tmp_path}/none"')
    assert "run kinit, or give a keytab and principal" in refusal(cluster, file)


def test_a_keytab_without_the_principal(cluster: Cluster, keytab: Path, tmp_path: Path) -> None:
    file = written(tmp_path, f'useKeyTab=true keyTab="{keytab}" principal="bob@{REALM}"')
    assert f"the keytab {keytab} has no key of bob@{REALM}" in refusal(cluster, file)


def test_a_keytab_that_cannot_be_read(cluster: Cluster, tmp_path: Path) -> None:
    file = written(tmp_path, f'useKeyTab=true keyTab="{tmp_path}/none" principal="alice@{REALM}"')
    with pytest.raises(SettingsError, match=f"the keytab {tmp_path}/none cannot be read here"):
        cluster_id(cluster, file)


def test_a_key_that_was_renewed(cluster: Cluster, kdc: Kdc, tmp_path: Path) -> None:
    stale = kdc.keytab("carol")
    kdc.renew_key("carol")
    file = written(tmp_path, f'useKeyTab=true keyTab="{stale}" principal="carol@{REALM}"')
    assert "the keytab's key is not the one that the KDC has" in refusal(cluster, file)


def test_another_realm(cluster: Cluster, kdc: Kdc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keytab = kdc.keytab("dave")
    monkeypatch.setenv("KRB5_CONFIG", str(kdc.other_realm()))
    file = written(tmp_path, f'useKeyTab=true keyTab="{keytab}" principal="dave@{REALM}"')
    assert "check the principal's realm, and krb5.conf" in refusal(cluster, file)


def test_another_service_name(cluster: Cluster, keytab: Path, tmp_path: Path) -> None:
    file = written(tmp_path, f'useKeyTab=true keyTab="{keytab}" principal="alice@{REALM}"')
    file.write_text(file.read_text().replace("service.name=kafka", "service.name=brokers"))
    assert "check the principal, sasl_kerberos_service_name and the broker's host name" in refusal(cluster, file)


def test_a_kdc_that_is_down(cluster: Cluster, kdc: Kdc, tmp_path: Path) -> None:
    keytab = kdc.keytab("erin")
    file = written(tmp_path, f'useKeyTab=true keyTab="{keytab}" principal="erin@{REALM}"')
    kdc.stop()
    try:
        assert "the KDC does not answer" in refusal(cluster, file)
    finally:
        kdc.start()
    assert cluster_id(cluster, file) == cluster.cluster_id
