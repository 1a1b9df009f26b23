# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""client.properties: read as the Java clients read it, and never quoted back."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import javaproperties
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.client_properties import with_command_config
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.errors import SettingsError

SECRET = "t0p-s3cret"
PLAIN_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def read(directory: Path, content: str | bytes, **explicit: Any) -> dict[str, Any]:
    """Options out of a file with this content, and those given outright."""
    path = directory / "client.properties"
    path.write_bytes(content if isinstance(content, bytes) else content.encode("latin-1"))
    return with_command_config({"command_config": str(path), **explicit})


def faults(directory: Path, content: str | bytes, **explicit: Any) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        read(directory, content, **explicit)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    return caught.value.faults


def test_without_a_file_only_given_options_count() -> None:
    assert with_command_config({"command_config": None, "ssl_cafile": None, "security_protocol": "SSL"}) == {
        "security_protocol": "SSL"
    }


def test_every_connection_property_is_taken_over(tmp_path: Path) -> None:
    content = """
        # what an operator has for Kafka's own tools
        bootstrap.servers=one:9093,two:9093
        security.protocol=SASL_SSL
        sasl.mechanism=OAUTHBEARER
        sasl.kerberos.service.name=brokers
        sasl.oauthbearer.token.endpoint.url=https://issuer.example/token
        sasl.oauthbearer.client.credentials.client.id=us
        sasl.oauthbearer.client.credentials.client.secret=hidden
        sasl.oauthbearer.scope=kafka
        ssl.key.password=key secret
        request.timeout.ms=1500
        default.api.timeout.ms=60000
    """
    assert read(tmp_path, content) == {
        "bootstrap_servers": "one:9093,two:9093",
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_kerberos_service_name": "brokers",
        "sasl_oauthbearer_token_endpoint_url": "https://issuer.example/token",
        "sasl_oauthbearer_client_id": "us",
        "sasl_oauthbearer_client_secret": "hidden",
        "sasl_oauthbearer_scope": "kafka",
        "ssl_key_password": "key secret",
        "request_timeout_ms": 1500,
    }


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("bootstrap.servers = one:1,\\\n    two:2\n", "one:1,two:2"),
        ("bootstrap.servers: one\\:1\r\n", "one:1"),
        ("bootstrap.servers one:1", "one:1"),
        ("! a comment\nbootstrap.servers=one:1 \t\n", "one:1"),
        ("bootstrap.servers=caf\\u00e9:1", "café:1"),
        ("bootstrap.servers=café:1", "café:1"),
        ("bootstrap.servers=first:1\nbootstrap.servers=last:1", "last:1"),
    ],
)
def test_the_file_has_javas_escapes(tmp_path: Path, content: str, expected: str) -> None:
    assert read(tmp_path, content) == {"bootstrap_servers": expected}


def test_the_protocol_is_read_in_either_case(tmp_path: Path) -> None:
    assert read(tmp_path, "security.protocol=sasl_ssl") == {"security_protocol": "SASL_SSL"}


@pytest.mark.parametrize(
    ("jaas", "expected"),
    [
        (
            f'{PLAIN_LOGIN} username="alice" password="{SECRET}";',
            {"sasl_username": "alice", "sasl_password": SECRET},
        ),
        (
            "org.apache.kafka.common.security.scram.ScramLoginModule required \\\n"
            '    username="alice" \\\n    password="se cret; username=eve";',
            {"sasl_username": "alice", "sasl_password": "se cret; username=eve"},
        ),
        (f"{PLAIN_LOGIN} username='o\"x' password = abc-1$.d ;", {"sasl_username": 'o"x', "sasl_password": "abc-1$.d"}),
        # In a properties file each of JAAS's backslashes is written twice.
        (f'{PLAIN_LOGIN} password="q\\\\"b\\\\\\\\s";', {"sasl_password": 'q"b\\s'}),
        (f'{PLAIN_LOGIN} username="" password="{SECRET}";', {"sasl_username": "", "sasl_password": SECRET}),
        (
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
            f'clientId="us" clientSecret="{SECRET}" scope="kafka" oauth.scope="theirs" extension_logicalCluster="x";',
            {
                "sasl_oauthbearer_client_id": "us",
                "sasl_oauthbearer_client_secret": SECRET,
                "sasl_oauthbearer_scope": "kafka",
            },
        ),
        (
            "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true "
            'keyTab="/etc/kafka.keytab" principal="us@EXAMPLE.COM" serviceName="brokers";',
            {"sasl_kerberos_service_name": "brokers"},
        ),
    ],
    ids=["PLAIN", "SCRAM", "single quotes and bare", "escapes", "empty", "OAUTHBEARER", "GSSAPI"],
)
def test_the_jaas_line_gives_the_credentials(tmp_path: Path, jaas: str, expected: dict[str, str]) -> None:
    assert read(tmp_path, f"sasl.jaas.config={jaas}\n") == expected


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1))
def test_any_password_survives_jaas_and_properties(tmp_path_factory: pytest.TempPathFactory, password: str) -> None:
    quoted = password.replace("\\", "\\\\").replace('"', '\\"')
    jaas = javaproperties.dumps({"sasl.jaas.config": f'{PLAIN_LOGIN} username="alice" password="{quoted}";'})
    assert read(tmp_path_factory.mktemp("properties"), jaas) == {"sasl_username": "alice", "sasl_password": password}


def test_options_given_outright_win(tmp_path: Path) -> None:
    content = f'security.protocol=SSL\nsasl.jaas.config={PLAIN_LOGIN} username="alice" password="theirs";'
    options = read(tmp_path, content, security_protocol="SASL_SSL", sasl_username="bob", sasl_password=None)
    assert options == {"security_protocol": "SASL_SSL", "sasl_username": "bob", "sasl_password": "theirs"}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("ssl.endpoint.identification.algorithm=", {"ssl_check_hostname": False}),
        ("ssl.endpoint.identification.algorithm= ", {"ssl_check_hostname": False}),
        ("ssl.endpoint.identification.algorithm=https", {}),
        ("", {}),
    ],
)
def test_an_empty_identification_algorithm_means_no_check(
    tmp_path: Path, content: str, expected: dict[str, Any]
) -> None:
    assert read(tmp_path, content) == expected


def test_pem_stores_are_taken_over(tmp_path: Path) -> None:
    content = """
        ssl.truststore.type=PEM
        ssl.truststore.location=/etc/kafka/ca.pem
        ssl.keystore.type=pem
        ssl.keystore.location=/etc/kafka/client.pem
    """
    assert read(tmp_path, content) == {"ssl_cafile": "/etc/kafka/ca.pem", "ssl_certfile": "/etc/kafka/client.pem"}


STORES = f"""
    ssl.truststore.location=/etc/kafka/trust.jks
    ssl.truststore.password={SECRET}
    ssl.keystore.type=PKCS12
    ssl.keystore.location=/etc/kafka/key.p12
    ssl.keystore.password={SECRET}
"""


def test_stores_that_only_java_reads_are_told_all_at_once_with_the_option_to_use(tmp_path: Path) -> None:
    trust, key, timeout = sorted(
        faults(tmp_path, STORES + "request.timeout.ms=5s"), key=lambda fault: "ssl" not in fault
    )
    assert "ssl.truststore.location /etc/kafka/trust.jks is a JKS store" in trust
    assert trust.endswith("name the file with ssl_cafile")
    assert "ssl.keystore.location /etc/kafka/key.p12 is a PKCS12 store" in key
    assert key.endswith("name the file with ssl_certfile")
    assert timeout == "request.timeout.ms is '5s', which is no number of milliseconds"


def test_pem_options_replace_such_stores(tmp_path: Path) -> None:
    explicit = {"ssl_cafile": "/etc/ca.pem", "ssl_certfile": "/etc/client.pem"}
    assert read(tmp_path, STORES, **explicit) == explicit


@pytest.mark.parametrize("name", ["ssl.truststore.certificates", "ssl.keystore.certificate.chain", "ssl.keystore.key"])
def test_inline_pem_is_refused_and_not_repeated(tmp_path: Path, name: str) -> None:
    (fault,) = faults(tmp_path, f"{name}=-----BEGIN PRIVATE KEY----- {SECRET}")
    assert f"{name} holds PEM text inline" in fault


@pytest.mark.parametrize(
    "content", [f"sasl.jaas.config={SECRET}\\u12", f"\\uXYZW={SECRET}"], ids=["short escape", "no escape"]
)
def test_a_file_that_is_no_properties_file_is_not_quoted(tmp_path: Path, content: str) -> None:
    (fault,) = faults(tmp_path, content)
    assert fault == f"command_config {tmp_path}/client.properties cannot be read: it is no Java properties file"


def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path) -> None:
    for path, why in (tmp_path / "absent", "No such file or directory"), (tmp_path, "Is a directory"):
        with pytest.raises(SettingsError) as caught:
            with_command_config({"command_config": str(path)})
        assert caught.value.faults == (f"command_config {path} cannot be read: {why}",)
