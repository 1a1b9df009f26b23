# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A properties file that Kafka's own tool accepts works unchanged: each goes to TopicCommand and to this collection."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.client_properties import with_command_config
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.cluster import describe_cluster
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import SettingsError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from lab import Cluster

PASSWORD = r"""al1ce's "secret" \o/"""
IN_JAAS = PASSWORD.replace("\\", "\\\\").replace('"', '\\"')
KEY_PASSWORD = "key-secret"
PROVIDERS = "org.apache.kafka.common.config.provider."
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"

Properties = dict[str, object]


@pytest.fixture(scope="module")
def cluster(kafka_version: str) -> Iterator[Cluster]:
    plain = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    jaas = {"listener.name.sasl_ssl.plain.sasl.jaas.config": f'{plain} user_alice="{IN_JAAS}";'}
    listeners = ("SSL", "SASL_SSL")
    with Cluster(kafka_version, brokers=1, listeners=listeners, properties=jaas, tls_client_auth="required") as started:
        started.client.create_topic("orders", {0: [1]})
        yield started


def keytool(*arguments: str) -> None:
    subprocess.run(["keytool", *arguments], check=True, capture_output=True, timeout=60)


def true_jks(cluster: Cluster, directory: Path) -> Properties:
    """Return the client's key in a real JKS, with its own key password, and a trust store without one."""
    path, store_password = directory / "client.jks", cluster.certificates.store_password
    source = ["-srckeystore", str(cluster.certificates.client_keystore_p12), "-srcstorepass", store_password]
    target = ["-destkeystore", str(path), "-deststoretype", "JKS", "-deststorepass", store_password]
    keytool("-importkeystore", "-noprompt", *source, *target)
    password = ["-storepass", store_password, "-keypass", store_password, "-new", KEY_PASSWORD]
    keytool("-keypasswd", "-alias", "client", "-keystore", str(path), *password)
    assert path.read_bytes().startswith(bytes.fromhex("feedfeed"))
    return {
        "ssl.truststore.location": cluster.certificates.truststore_jks,
        "ssl.keystore.location": path,
        "ssl.keystore.password": store_password,
        "ssl.key.password": KEY_PASSWORD,
    }


def one_line(*files: Path) -> str:
    return "".join(file.read_text() for file in files).replace("\n", " ")


def pkcs12(cluster: Cluster, directory: Path) -> Properties:
    certificates = cluster.certificates
    return {
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": certificates.truststore_p12,
        "ssl.truststore.password": certificates.store_password,
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": certificates.client_keystore_p12,
        "ssl.keystore.password": certificates.store_password,
    }


def pkcs12_named_jks(cluster: Cluster, directory: Path) -> Properties:
    key_store = directory / "client.jks"
    key_store.write_bytes(cluster.certificates.client_keystore_p12.read_bytes())
    properties = pkcs12(cluster, directory) | {"ssl.keystore.location": key_store, "ssl.truststore.type": "JKS"}
    del properties["ssl.keystore.type"]
    return properties


def java_17_key(cluster: Cluster, directory: Path) -> Path:
    """Return the client's key, encrypted in the only way that Java 17's PEM reader supports (JDK-8076999)."""
    certificates, path = cluster.certificates, directory / "client.key"
    password = f"pass:{certificates.client_key_password}"
    command = [
        "openssl",
        "pkcs8",
        "-topk8",
        "-v1",
        "PBE-SHA1-3DES",
        "-in",
        str(certificates.client_key),
        "-out",
        str(path),
    ]
    subprocess.run([*command, "-passin", password, "-passout", password], check=True, capture_output=True, timeout=60)
    return path


def pem_files(cluster: Cluster, directory: Path) -> Properties:
    certificates = cluster.certificates
    both = directory / "client.pem"
    both.write_text(java_17_key(cluster, directory).read_text() + certificates.client_certificate.read_text())
    return {
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": certificates.ca,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": both,
        "ssl.key.password": certificates.client_key_password,
    }


def inline_pem(cluster: Cluster, directory: Path) -> Properties:
    certificates = cluster.certificates
    return {
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": one_line(certificates.ca),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": one_line(certificates.client_certificate),
        "ssl.keystore.key": one_line(java_17_key(cluster, directory)),
        "ssl.key.password": certificates.client_key_password,
    }


def tls_1_2(cluster: Cluster, directory: Path) -> Properties:
    suite = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
    return pkcs12(cluster, directory) | {"ssl.enabled.protocols": "TLSv1.2,TLSv1.1,TLSv1", "ssl.cipher.suites": suite}


def tls_1_3(cluster: Cluster, directory: Path) -> Properties:
    # Java's own names of algorithms, and properties that only brokers have.
    return pkcs12(cluster, directory) | {
        "ssl.enabled.protocols": "TLSv1.3",
        "ssl.protocol": "TLSv1.3",
        "ssl.keymanager.algorithm": "SunX509",
        "ssl.endpoint.identification.algorithm": "",
        "ssl.client.auth": "required",
        "acks": "all",
    }


_STORES: list[Callable[[Cluster, Path], Properties]] = [pkcs12, pem_files, true_jks]
_VARIANTS: list[Callable[[Cluster, Path], Properties]] = [pkcs12_named_jks, inline_pem, tls_1_2, tls_1_3]
TLS = [*_STORES, *_VARIANTS]


def sasl(cluster: Cluster, mechanism: str, jaas: str) -> Properties:
    return {
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": jaas,
        "ssl.truststore.location": cluster.certificates.truststore_p12,
        "ssl.truststore.password": cluster.certificates.store_password,
    }


def written(path: Path, protocol: str, properties: Properties) -> Path:
    lines = [f"security.protocol={protocol}", *(f"{name}={_escaped(value)}" for name, value in properties.items())]
    path.write_text("\n".join(lines) + "\n")
    return path


def _escaped(value: object) -> str:
    return str(value).replace("\\", "\\\\")


def kafka_s_own_tool(cluster: Cluster, listener: str, file: Path) -> subprocess.CompletedProcess[str]:
    where = ("--bootstrap-server", cluster.bootstrap(listener), "--command-config", str(file))
    return cluster.client.run_tool("org.apache.kafka.tools.TopicCommand", *where, "--list", timeout=60)


def cluster_id(cluster: Cluster, listener: str, file: Path) -> str:
    options = {
        "command_config": str(file),
        "bootstrap_servers": cluster.bootstrap(listener),
        "request_timeout_ms": 9000,
    }
    with Wire(settings_from(with_command_config(options))) as wire:
        return describe_cluster(wire).cluster_id


def works_with_both(cluster: Cluster, listener: str, file: Path) -> None:
    tool = kafka_s_own_tool(cluster, listener, file)
    assert "orders" in tool.stdout.splitlines(), tool.stderr[-2000:]
    assert cluster_id(cluster, listener, file) == cluster.cluster_id


@pytest.mark.parametrize(
    "properties",
    [*_STORES, *(pytest.param(each, marks=pytest.mark.wide) for each in _VARIANTS)],
    ids=lambda each: each.__name__,
)
def test_tls(cluster: Cluster, tmp_path: Path, properties: Callable[[Cluster, Path], Properties]) -> None:
    works_with_both(cluster, "SSL", written(tmp_path / "client.properties", "SSL", properties(cluster, tmp_path)))


@pytest.mark.parametrize("password", ["wrong store password", "wrong key password"])
def test_a_wrong_password_of_a_jks_is_refused_by_name(cluster: Cluster, tmp_path: Path, password: str) -> None:
    wrong = {"wrong store password": "ssl.keystore.password", "wrong key password": "ssl.key.password"}[password]
    properties = true_jks(cluster, tmp_path) | {wrong: "n0t-the-password"}
    file = written(tmp_path / "client.properties", "SSL", properties)
    assert kafka_s_own_tool(cluster, "SSL", file).returncode != 0
    with pytest.raises(SettingsError, match=rf"ssl\.keystore\.location: {tmp_path}/client.jks .*password") as refused:
        cluster_id(cluster, "SSL", file)
    assert "n0t-the-password" not in str(refused.value)


def test_a_wrong_password_of_a_pkcs12_is_refused_by_name(cluster: Cluster, tmp_path: Path) -> None:
    properties = pkcs12(cluster, tmp_path) | {"ssl.truststore.password": "n0t-the-password"}
    file = written(tmp_path / "client.properties", "SSL", properties)
    assert kafka_s_own_tool(cluster, "SSL", file).returncode != 0
    with pytest.raises(SettingsError, match=r"ssl\.truststore\.location: .*its password is wrong"):
        cluster_id(cluster, "SSL", file)


def test_sasl_plain_with_every_quote(cluster: Cluster, tmp_path: Path) -> None:
    jaas = (
        "org.apache.kafka.common.security.plain.PlainLoginModule required // a comment\\n"
        f"  username='alice' /* another */ password=\"{IN_JAAS}\";"
    )
    file = tmp_path / "client.properties"
    written(file, "SASL_SSL", sasl(cluster, "PLAIN", jaas.replace("\\n", "\n")))
    file.write_text(file.read_text().replace("comment\n", "comment\\n"))
    works_with_both(cluster, "SASL_SSL", file)


def provided(cluster: Cluster, directory: Path) -> Properties:
    """Return secrets by all three config providers. The name of the user is in the environment."""
    (directory / "store-password").write_text(cluster.certificates.store_password)
    secrets = directory / "secrets.properties"
    secrets.write_text(f"password={_escaped(IN_JAAS)}\n")
    plain = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    jaas = f'{plain} username="${{env:KAFKAOPS_TEST_USER}}" password="${{file:{secrets}:password}}";'
    return sasl(cluster, "PLAIN", jaas) | {
        "ssl.truststore.password": f"${{dir:{directory}:store-password}}",
        "config.providers": "file,env,dir",
        "config.providers.file.class": f"{PROVIDERS}FileConfigProvider",
        "config.providers.file.param.allowed.paths": directory,
        "config.providers.env.class": f"{PROVIDERS}EnvVarConfigProvider",
        "config.providers.env.param.allowlist.pattern": "KAFKAOPS_.*",
        "config.providers.dir.class": f"{PROVIDERS}DirectoryConfigProvider",
    }


def test_config_providers(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKAOPS_TEST_USER", "alice")
    file = written(tmp_path / "client.properties", "SASL_SSL", provided(cluster, tmp_path))
    works_with_both(cluster, "SASL_SSL", file)
