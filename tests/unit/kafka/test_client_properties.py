# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""client.properties: read as the Java clients read it, and never quoted back."""

from __future__ import annotations

import os
import re
import traceback
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.client_properties import with_command_config
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import SettingsError

SECRET = "t0p-s3cret"
PLAIN_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def read(directory: Path, content: str | bytes, **explicit: Any) -> dict[str, Any]:
    """Return the options of a file with this content, together with given options."""
    path = directory / "client.properties"
    path.write_bytes(content if isinstance(content, bytes) else content.encode("latin-1"))
    return with_command_config({"command_config": str(path), **explicit})


def faults(directory: Path, content: str | bytes, **explicit: Any) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        read(directory, content, **explicit)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    return caught.value.problems


def test_without_a_file_only_given_options_count() -> None:
    assert with_command_config({"command_config": None, "ssl_cafile": None, "security_protocol": "SSL"}) == {
        "security_protocol": "SSL"
    }


def test_every_connection_property_is_taken_over(tmp_path: Path) -> None:
    content = """
        # an operator's file for Kafka's own tools
        bootstrap.servers=one:9093,two:9093
        security.protocol=SASL_SSL
        sasl.mechanism=OAUTHBEARER
        sasl.kerberos.service.name=brokers
        sasl.oauthbearer.token.endpoint.url=https://issuer.example/token
        sasl.oauthbearer.client.credentials.client.id=us
        sasl.oauthbearer.client.credentials.client.secret=hidden
        sasl.oauthbearer.scope=kafka
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
        ("bootstrap.servers : one:1\r\n#\r\n", "one:1"),
        ("bootstrap.servers=one:1\racks=all\r", "one:1"),
        ("security.protocol=PLAIN\\\r\n  TEXT\r\nbootstrap.servers=one:1", "one:1"),
        ("admin.security.protocol=SSL\nbootstrap.servers=one:1", "one:1"),
        ("bootstrap.servers=\\u006fne:1 ", "one:1"),
    ],
)
def test_the_file_has_javas_escapes(tmp_path: Path, content: str, expected: str) -> None:
    assert read(tmp_path, content) == {"security_protocol": "PLAINTEXT", "bootstrap_servers": expected}


@pytest.mark.parametrize("content", ["", "# nothing\n! more\n", "\r\n\r\n"])
def test_an_empty_file_says_nothing(tmp_path: Path, content: str) -> None:
    assert read(tmp_path, content) == {"security_protocol": "PLAINTEXT"}


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ('{"security.protocol": "SSL"}', "it is JSON, YAML or a shell script"),
        ('{\n  "security.protocol": "SSL"\n}', "it is JSON, YAML or a shell script"),
        ("- security.protocol: SSL", "it is JSON, YAML or a shell script"),
        ("export security.protocol=SSL", "it is JSON, YAML or a shell script"),
        ("Security.Protocol=SSL", "Security.Protocol is not read by Kafka's tools, because names are in lower case"),
        ("security.protocol=", "security.protocol is empty"),
        (
            f"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN_LOGIN}\n  username=a",
            "; and each of",
        ),
    ],
)
def test_a_file_with_which_kafka_s_tools_would_connect_without_tls_or_sasl_is_refused(
    tmp_path: Path, content: str, named: str
) -> None:
    (fault,) = faults(tmp_path, content)
    assert named in fault
    assert "\n" not in fault


def test_the_protocol_is_read_in_either_case(tmp_path: Path) -> None:
    assert read(tmp_path, "security.protocol=ssl") == {"security_protocol": "SSL"}


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("security.protocol=SASL", "security.protocol is SASL: one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        (
            'security.protocol="SSL"',
            'security.protocol is "SSL": one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL, without quotes',
        ),
        ("request.timeout.ms=0", "request.timeout.ms is 0, which is not above 0"),
        (
            'bootstrap.servers="127.0.0.1:1"',
            "bootstrap.servers: '\"127.0.0.1:1\"' has no port from 1 to 65535, without quotes",
        ),
        (
            "security.protocol=SASL_SSL\nsasl.mechanism=plain",
            "sasl.mechanism is plain: one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, GSSAPI, AWS_MSK_IAM",
        ),
    ],
)
def test_a_value_that_cannot_be_is_named_as_it_is_in_the_file(tmp_path: Path, content: str, fault: str) -> None:
    assert faults(tmp_path, content) == (f"{tmp_path}/client.properties: {fault}",)
    given = {"bootstrap_servers": "one:1", "security_protocol": "PLAINTEXT", "request_timeout_ms": 1}
    assert read(tmp_path, content, **given).items() >= given.items()


def test_a_secret_in_the_url_of_a_token_endpoint_is_refused(tmp_path: Path) -> None:
    content = f"""
        security.protocol=SASL_SSL
        sasl.mechanism=OAUTHBEARER
        sasl.oauthbearer.token.endpoint.url=https://us:{SECRET}@issuer.example/token
        sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;
    """
    (fault,) = faults(tmp_path, content)
    assert "sasl.oauthbearer.token.endpoint.url has a user or a password in it" in fault


def test_options_override_the_file(tmp_path: Path) -> None:
    content = f'security.protocol=SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN_LOGIN} username="a" password="b";'
    options = read(tmp_path, content, security_protocol="SASL_SSL", sasl_username="bob", sasl_password=None)
    assert options == {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_username": "bob",
        "sasl_password": "b",
    }


def test_properties_of_other_protocols_are_ignored(tmp_path: Path) -> None:
    content = f"sasl.mechanism=PLAIN\nsasl.jaas.config={SECRET}\nssl.truststore.location=/absent\n"
    assert read(tmp_path, content) == {"security_protocol": "PLAINTEXT"}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("ssl.endpoint.identification.algorithm=", {"ssl_check_hostname": False}),
        ("ssl.endpoint.identification.algorithm= ", {"ssl_check_hostname": False}),
        ("ssl.endpoint.identification.algorithm=https", {"ssl_check_hostname": True}),
        ("", {}),
    ],
)
def test_an_empty_identification_algorithm_means_no_check(
    tmp_path: Path, content: str, expected: dict[str, Any]
) -> None:
    assert read(tmp_path, f"security.protocol=SSL\n{content}") == {"security_protocol": "SSL", **expected}


def test_pem_stores_are_taken_over(tmp_path: Path) -> None:
    trusted, own = tmp_path / "ca.pem", tmp_path / "client.pem"
    content = f"""
        security.protocol=SSL
        ssl.truststore.type=PEM
        ssl.truststore.location={trusted}
        ssl.keystore.type=pem
        ssl.keystore.location={own}
    """
    with pytest.raises(SettingsError, match=f"ssl.truststore.location: {trusted} cannot be read: No such file"):
        read(tmp_path, content)
    trusted.touch()
    own.touch()
    options = read(tmp_path, content)
    assert (options["ssl_cafile"], options["ssl_certfile"]) == (str(trusted), str(own))


def test_options_replace_stores_which_are_not_read_then(tmp_path: Path) -> None:
    explicit = {"ssl_cafile": "/etc/ca.pem", "ssl_certfile": "/etc/client.pem"}
    content = "security.protocol=SSL\nssl.truststore.location=/absent.jks\nssl.keystore.location=/absent.p12"
    assert read(tmp_path, content, **explicit) == {"security_protocol": "SSL", **explicit}


@pytest.mark.parametrize(
    "line",
    [
        "ssl.engine.factory.class=a.b.C",
        "ssl.provider=BCJSSE",
        "security.providers=a.b.C",
        "ssl.trustore.location=/typo.jks",
        "sasl.oauthbearer.assertion.file=/a",
        "ssl.keymanager.algorithm=Own",
        "sasl.oauthbearer.jwt.retriever.class=org.apache.kafka.common.security.oauthbearer.FileJwtRetriever",
        "client.dns.lookup=resolve_canonical_bootstrap_servers_only",
    ],
)
def test_an_unknown_property_that_says_how_to_connect_is_refused_by_name(tmp_path: Path, line: str) -> None:
    (fault,) = faults(tmp_path, line)
    assert line.partition("=")[0] in fault


def test_properties_that_do_not_concern_the_connection_are_ignored(tmp_path: Path) -> None:
    content = """
        acks=all
        default.api.timeout.ms=60000
        metadata.recovery.strategy=none
        sasl.login.refresh.window.factor=0.9
        ssl.client.auth=required
        ssl.provider=
        client.dns.lookup=use_all_dns_ips
        sasl.oauthbearer.jwt.validator.class=org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator
    """
    assert read(tmp_path, content) == {"security_protocol": "PLAINTEXT"}


def test_all_unsupported_properties_are_reported_at_once(tmp_path: Path) -> None:
    content = f"""
        security.protocol=SASL_SSL
        ssl.provider=BCJSSE
        ssl.enabled.protocols=TLSv1.1
        ssl.cipher.suites=TLS_AES_256_GCM_SHA384
        ssl.endpoint.identification.algorithm=ldaps
        ssl.truststore.location=/absent.jks
        ssl.keystore.key={SECRET}
        sasl.jaas.config={SECRET}
        request.timeout.ms=5s
        bootstrap.servers=${{vault:x:y}}
    """
    named = [
        fault.removeprefix(f"{tmp_path}/client.properties: ").split()[0].rstrip(":")
        for fault in faults(tmp_path, content)
    ]
    assert named == [
        "bootstrap.servers",
        "ssl.provider",
        "request.timeout.ms",
        "ssl.endpoint.identification.algorithm",
        "ssl.enabled.protocols",
        "ssl.cipher.suites",
        "ssl.truststore.location",
        "ssl.keystore.certificate.chain",
        "sasl.jaas.config",
    ]


@pytest.mark.parametrize(
    ("protocols", "oldest", "newest"),
    [
        ("TLSv1.2,TLSv1.1,TLSv1", "TLSv1.2", "TLSv1.2"),
        ("SSLv2Hello, SSLv3 ,TLSv1.3", "TLSv1.3", "TLSv1.3"),
        ("TLSv1,TLSv1.3,TLSv1.2", "TLSv1.2", "TLSv1.3"),
    ],
)
def test_old_versions_of_tls_are_left_out(tmp_path: Path, protocols: str, oldest: str, newest: str) -> None:
    options = read(tmp_path, f"security.protocol=SSL\nssl.enabled.protocols={protocols}\n")
    assert (options["ssl_min_version"], options["ssl_max_version"]) == (oldest, newest)


@pytest.mark.parametrize(
    ("protocols", "named"), [("TLSv1.1,TLSv1", "TLSv1.1, TLSv1"), ("TLSv1.2,TLS1.3", "TLS1.3"), ("SSLv3", "SSLv3")]
)
def test_versions_that_leave_nothing_or_are_unknown_are_refused(tmp_path: Path, protocols: str, named: str) -> None:
    (fault,) = faults(tmp_path, f"security.protocol=SSL\nssl.enabled.protocols={protocols}\n")
    assert f"ssl.enabled.protocols names {named}: only" in fault


def test_each_property_of_librdkafka_is_named_with_that_of_java(tmp_path: Path) -> None:
    content = f"""
        security.protocol=sasl_ssl
        sasl.mechanisms=SCRAM-SHA-512
        sasl.username=me
        sasl.password={SECRET}
        ssl.ca.location=/etc/ca.pem
    """
    given = faults(tmp_path, content)
    for name, java in (
        ("sasl.mechanisms", "sasl.mechanism"),
        ("sasl.username", "sasl.jaas.config"),
        ("sasl.password", "sasl.jaas.config"),
        ("ssl.ca.location", "ssl.truststore.location"),
    ):
        assert any(f": {name} is a property of librdkafka" in each and f"use {java}" in each for each in given), name


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_named(tmp_path: Path, encoding: str) -> None:
    (fault,) = faults(tmp_path, f"security.protocol=SSL\nssl.key.password={SECRET}\n".encode(encoding))
    assert "byte order mark" in fault
    assert "save it as UTF-8 without a BOM" in fault


@pytest.mark.parametrize(
    "content", [f"sasl.jaas.config={SECRET}\\u12", f"\\uXYZW={SECRET}"], ids=["short escape", "no escape"]
)
def test_a_file_that_is_no_properties_file_is_not_quoted(tmp_path: Path, content: str) -> None:
    (fault,) = faults(tmp_path, content)
    named = f"command_config {tmp_path}/client.properties cannot be read: it is not a Java properties file"
    assert fault.startswith(f"{named}: in one, \\u begins a character")


def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    no_file = "it is no regular file; save its content in one, and name that"
    for path, why in (
        (tmp_path / "absent", "No such file or directory"),
        (tmp_path, "Is a directory"),
        (pipe, no_file),
        ("/dev/zero", no_file),
    ):
        with pytest.raises(SettingsError) as caught:
            with_command_config({"command_config": str(path)})
        assert caught.value.problems == (f"command_config {path} cannot be read: {why}",)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("request.timeout.ms=30000", f"ssl.keystore.password={SECRET}"),
        ("ssl.keystore.location=/etc/kafka/client.p12 ", f"ssl.keystore.password: {SECRET}"),
        ("security.protocol=SASL_SSL", f'sasl.jaas.config={PLAIN_LOGIN} username="a" password="{SECRET}";'),
        ("bootstrap.servers=one:9092,two:9092", f"sasl.password {SECRET}"),
    ],
)
def test_a_line_that_is_joined_to_the_one_before_is_not_shown(tmp_path: Path, first: str, second: str) -> None:
    """A backslash at the end of a line, left over from sasl.jaas.config, makes one value of both lines."""
    name = re.split("[=: ]", second)[0]
    (fault,) = faults(tmp_path, f"{first}\\\n  {second}\n")
    assert f"{first.partition('=')[0]} has {name} in its value: remove the backslash" in fault


def test_a_module_may_have_options_for_tls_in_the_value_of_sasl_jaas_config(tmp_path: Path) -> None:
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required clientId=a clientSecret=b"
    value = f"sasl.jaas.config={module} ssl.key.password=c;"
    content = (
        f"security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\n{value}\nlistener.name.external.oauthbearer.{value}\n"
    )
    assert read(tmp_path, content)["sasl_oauthbearer_client_id"] == "a"


@pytest.mark.parametrize("escape", ["\\ud800", "\\u0000"])
def test_what_is_no_text_is_refused(tmp_path: Path, escape: str) -> None:
    (fault,) = faults(tmp_path, f"security.protocol=SSL\nssl.keystore.location=/etc/{escape}\n")
    assert "ssl.keystore.location has a character that no text has" in fault


def test_a_password_keeps_a_space_that_java_does_not_trim(tmp_path: Path) -> None:
    content = (
        "security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\nsasl.jaas.config=OAuthBearerLoginModule required;\n"
    )
    secret = read(tmp_path, f"{content}sasl.oauthbearer.client.credentials.client.secret= a\\u00a0\\u0001 \n")
    assert secret["sasl_oauthbearer_client_secret"] == "a\u00a0"
