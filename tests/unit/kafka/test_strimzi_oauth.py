# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files for Strimzi's login handler, and login modules in the JAAS file of KAFKA_OPTS."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.client_properties import with_command_config
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import SettingsError
from lab.tls import Certificates

SECRET = "t0p-s3cret"
HANDLER = "io.strimzi.kafka.oauth.client.JaasClientOauthLoginCallbackHandler"
MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
CLIENT = (
    'oauth.client.id="us" oauth.client.secret="t0p-s3cret" '
    'oauth.token.endpoint.uri="https://issuer.example/token" oauth.scope="kafka"'
)


def strimzi(directory: Path, options: str) -> dict[str, Any]:
    return read(
        directory,
        "security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\n"
        f"sasl.login.callback.handler.class={HANDLER}\nsasl.jaas.config={MODULE} {options};\n",
    )


def read(directory: Path, content: str) -> dict[str, Any]:
    path = directory / "client.properties"
    path.write_text(content)
    return with_command_config({"command_config": str(path)})


def refused(directory: Path, options: str) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        strimzi(directory, options)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    return caught.value.problems


def test_the_client_credentials_grant_is_read(tmp_path: Path) -> None:
    authority = Certificates(tmp_path / "tls").ca
    more = (
        'oauth.username.claim="azp" oauth.sasl.extension.pool="one" oauth.ssl.endpoint.identification.algorithm="HTTPS"'
    )
    store = f'oauth.ssl.truststore.location="{authority}" oauth.ssl.truststore.type="PEM"'
    assert strimzi(tmp_path, f"{CLIENT} {more} {store}") == {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauthbearer_token_endpoint_url": "https://issuer.example/token",
        "sasl_oauthbearer_client_id": "us",
        "sasl_oauthbearer_client_secret": SECRET,
        "sasl_oauthbearer_scope": "kafka",
        "sasl_oauthbearer_extensions": "pool=one",
        "sasl_oauthbearer_cafile": str(authority),
    }


def test_tokens_are_read(tmp_path: Path) -> None:
    assert strimzi(tmp_path, 'oauth.access.token="abc"')["sasl_oauthbearer_token"] == "abc"
    located = strimzi(tmp_path, 'oauth.access.token.location="/run/token"')
    assert located["sasl_oauthbearer_token_endpoint_url"] == "file:/run/token"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (f'{CLIENT} oauth.audience="broker"', "oauth.audience"),
        (f'{CLIENT} oauth.refresh.token="{SECRET}"', "oauth.refresh.token"),
        (f'{CLIENT} oauth.password.grant.password="{SECRET}"', "oauth.password.grant.password"),
        (f'{CLIENT} oauth.ssl.endpoint.identification.algorithm=""', ""),
        ('oauth.client.id="us"', "oauth.token.endpoint.uri, oauth.client.secret"),
    ],
)
def test_what_cannot_be_followed_is_refused_by_name(tmp_path: Path, options: str, named: str) -> None:
    if not named:  # an empty value is none, and the check stays on
        assert "ssl_check_hostname" not in strimzi(tmp_path, options)
        return
    (problem,) = refused(tmp_path, options)
    assert named in problem


SCRAM_FILE = f"""\
// for all tools of this host
KafkaServer {{ org.example.Other required x="1"; }};
KafkaClient {{
  org.apache.kafka.common.security.scram.ScramLoginModule required
    username="alice" password="{SECRET}";
}};
"""


def with_opts(patch: pytest.MonkeyPatch, directory: Path, text: str | None, mechanism: str = "PLAIN") -> dict[str, Any]:
    path = directory / "jaas.conf"
    if text is not None:
        path.write_text(text)
    patch.setenv("KAFKA_OPTS", f"-Xmx1g '-Djava.security.auth.login.config={path}'")
    return read(directory, f"security.protocol=SASL_SSL\nsasl.mechanism={mechanism}\n")


def test_the_file_of_kafka_opts_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = with_opts(monkeypatch, tmp_path, SCRAM_FILE, "SCRAM-SHA-512")
    assert (options["sasl_username"], options["sasl_password"]) == ("alice", SECRET)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "cannot be read: No such file or directory"),
        ('KafkaServer { a.B required x="1"; };', "has no section KafkaClient"),
        (SCRAM_FILE.replace(SECRET, "${the.password}"), "password refers to a system property: write its value"),
        ("KafkaClient { };", "it names no login module"),
    ],
)
def test_a_file_of_kafka_opts_that_does_not_help(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, problem: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        with_opts(monkeypatch, tmp_path, text, "SCRAM-SHA-512")
    (found,) = caught.value.problems
    assert f"sasl.jaas.config is not set, and {tmp_path}/jaas.conf, the JAAS file in KAFKA_OPTS" in found
    assert problem in found


def test_a_broker_s_file_does_not_hinder_other_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = with_opts(monkeypatch, tmp_path, "KafkaServer { a.B required; };", "OAUTHBEARER")
    assert options == {"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER"}
