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
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import NoBrokerAnswersError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from integration.kafka.test_same_file import three_playbooks_accept
from integration.loud import first_lines
from lab import Cluster, scenarios, settings
from lab.kdc import REALM, Kdc
from lab.playbook import statuses
from lab.recovery import Recovery

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
    arguments = {broker: [f"-Djava.security.krb5.conf={kdc.krb5_conf}"] for broker in (1, 2, 3)}
    listeners = ("SASL_PLAINTEXT",)
    with Cluster(kafka_version, listeners=listeners, properties=properties, jvm_args=arguments) as started:
        started.client.create_topic("orders", {0: [1, 2, 3], 1: [2, 3, 1]}, {"min.insync.replicas": 2})
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


def first_lines_of(cluster: Cluster, file: Path, directory: Path, keytab: bytes) -> list[str]:
    """Return what playbooks say that cannot connect. No key is in what they leave: those end the keytab."""
    variables = {"kafka_bootstrap_servers": cluster.bootstrap(), "kafka_command_config": str(file)}
    return first_lines(variables, directory, keytab[-32:])


def test_a_keytab(cluster: Cluster, keytab: Path, tmp_path: Path) -> None:
    jaas = f'useKeyTab=true storeKey=true keyTab="{keytab}" principal="alice@{REALM}"'
    works_with_both(cluster, written(tmp_path, jaas))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("credentials", ["keytab", "ticket cache"])
def test_three_playbooks(cluster: Cluster, kdc: Kdc, keytab: Path, tmp_path: Path, credentials: str) -> None:
    jaas = f'useKeyTab=true storeKey=true keyTab="{keytab}" principal="alice@{REALM}"'
    if credentials == "ticket cache":
        kdc.kinit("alice", keytab)
        jaas = "useTicketCache=true"
    output = three_playbooks_accept(written(tmp_path, jaas), cluster.bootstrap(), tmp_path / "journal")
    # The drain has just worked without confluent-kafka, and readiness names the one playbook that does not.
    assert "SASL_PLAINTEXT with GSSAPI: replay_salvaged_records uses confluent-kafka" in " ".join(output.split())


@pytest.mark.timeout(600)
def test_a_recovery_sends_everything_as_the_same_principal(cluster: Cluster, keytab: Path, tmp_path: Path) -> None:
    """Spark's tasks included: no broker takes anything from somebody without a ticket."""
    offline = scenarios.diverged(cluster, "lost")
    file = written(tmp_path, f'useKeyTab=true storeKey=true keyTab="{keytab}" principal="alice@{REALM}"')
    recovery = Recovery(cluster, tmp_path)
    run = recovery.recover(kafka_command_config=str(file), unclean_recovery_spark={"master": "local[2]"})
    assert run.returncode == 0, run.output
    assert statuses(recovery.report) == [("lost", 0, "recovered")]
    assert cluster.client.describe("lost", broker=offline.best)[0].leader == offline.best
    cluster.client.delete_topic("lost")
    cluster.brokers[1].start()


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


@pytest.mark.parametrize("kind", ["absent", "a directory", "another file"])
def test_a_keytab_that_cannot_be_read(cluster: Cluster, kdc: Kdc, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "our.keytab"
    if kind == "a directory":
        path.mkdir()
    elif kind == "another file":
        path.write_bytes(b"n0t-a-keytab-but-secret-all-the-same")
    file = written(tmp_path, f'useKeyTab=true keyTab="{path}" principal="alice@{REALM}"')
    cause = {
        "absent": f"the keytab {path} cannot be read: No such file or directory",
        "a directory": f"the keytab {path} cannot be read: Is a directory",
        "another file": f"{path} is not a keytab",
    }[kind]
    for line in first_lines_of(cluster, file, tmp_path, b"n0t-a-keytab-but-secret-all-the-same"):
        assert cause in line


def test_a_key_that_was_renewed(cluster: Cluster, kdc: Kdc, tmp_path: Path) -> None:
    stale = kdc.keytab("carol")
    kdc.renew_key("carol")
    file = written(tmp_path, f'useKeyTab=true keyTab="{stale}" principal="carol@{REALM}"')
    assert "the keytab's key is not the one that the KDC has" in refusal(cluster, file)


def test_another_realm(cluster: Cluster, kdc: Kdc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keytab = kdc.keytab("dave")
    monkeypatch.setenv("KRB5_CONFIG", str(kdc.other_realm()))
    file = written(tmp_path, f'useKeyTab=true keyTab="{keytab}" principal="dave@{REALM}"')
    for line in first_lines_of(cluster, file, tmp_path, keytab.read_bytes()):
        assert f'Cannot find KDC for realm "{REALM}" (check the principal\'s realm, and krb5.conf)' in line


@pytest.mark.parametrize("is_corrected", [True, False], ids=["corrected by the client", "not corrected"])
def test_a_clock_beyond_kerberos_limit(cluster: Cluster, kdc: Kdc, tmp_path: Path, is_corrected: bool) -> None:
    """MIT's library corrects its own clock by the KDC's (kdc_timesync), and then it is the broker that refuses."""
    name = f"frank{is_corrected:d}"
    keytab = kdc.keytab(name)
    file = written(tmp_path, f'useKeyTab=true keyTab="{keytab}" principal="{name}@{REALM}"')
    config = kdc.krb5_conf.read_text()
    kdc.krb5_conf.write_text(config.replace("[libdefaults]\n", f"[libdefaults]\nkdc_timesync = {is_corrected:d}\n"))
    kdc.stop()
    kdc.start(ahead="1h")
    cause = (
        "check the clocks of this host, of the KDC and of the broker"
        if is_corrected
        else "Clock skew too great in KDC reply (set the clocks of this host and of the KDC)"
    )
    try:
        for line in first_lines_of(cluster, file, tmp_path, keytab.read_bytes()):
            assert cause in line
    finally:
        kdc.stop()
        kdc.krb5_conf.write_text(config)
        kdc.start()
    assert cluster_id(cluster, file) == cluster.cluster_id


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
