# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""AWS_MSK_IAM: the signatures of kafka-python and botocore are compared (there is no MSK broker to ask)."""

from __future__ import annotations

import base64
import json
import sys
import time
import urllib.parse
from pathlib import Path
from typing import Any

import pytest
from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from confluent_kafka import Producer
from kafka.net.sasl import get_sasl_mechanism

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.client_configs import (
    credentials_for,
    librdkafka_config,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.client_properties import with_command_config
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import CredentialsError, SettingsError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.msk_iam import AwsCredentials
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import ConnectionSettings, settings_from

HOST = "b-1.prod.abc123.c2.kafka.eu-central-1.amazonaws.com"
_EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
KEYS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}


@pytest.fixture(autouse=True)
def no_other_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_DEFAULT_REGION", "AWS_REGION", *KEYS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    credentials_for.cache_clear()


def settings(**options: Any) -> ConnectionSettings:
    secured = {"security_protocol": "SASL_SSL", "sasl_mechanism": "AWS_MSK_IAM"}
    return settings_from({"bootstrap_servers": f"{HOST}:9098", **secured, **options})


def message(given: ConnectionSettings, host: str = HOST) -> dict[str, str]:
    credentials = AwsCredentials(given)
    credentials.prepare(host, 1, is_connected=False)
    config = credentials.kafka_python_config()
    mechanism = get_sasl_mechanism("AWS_MSK_IAM")(host=host, security_protocol="SASL_SSL", **config)
    answer: dict[str, str] = json.loads(mechanism.auth_bytes())
    return answer


def botocores_message(token: str | None) -> dict[str, str]:
    request = AWSRequest("GET", f"https://{HOST}/?Action=kafka-cluster%3AConnect")
    keys = Credentials(KEYS["AWS_ACCESS_KEY_ID"], KEYS["AWS_SECRET_ACCESS_KEY"], token)
    signer = SigV4QueryAuth(keys, "kafka-cluster", "eu-central-1", expires=900)
    signer.payload = lambda _request: _EMPTY_SHA256
    signer.add_auth(request)
    return dict(pair.split("=", 1) for pair in request.prepare().url.partition("?")[2].split("&"))


@pytest.mark.parametrize("token", [None, "IQoJb3JpZ2luX2VjE//+=="])
def test_the_signature_is_botocores(monkeypatch: pytest.MonkeyPatch, token: str | None) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    if token:
        monkeypatch.setenv("AWS_SESSION_TOKEN", token)
    for _attempt in range(3):  # a signature has its second, which may end between the two
        ours, theirs = message(settings()), botocores_message(token)
        if ours["x-amz-date"] == theirs["X-Amz-Date"]:
            break
    assert ours["x-amz-signature"] == theirs["X-Amz-Signature"]
    assert ours.get("x-amz-security-token") == token
    assert ours["x-amz-credential"].split("/")[2] == "eu-central-1"


@pytest.mark.parametrize("session", [None, "IQoJb3JpZ2luX2VjE//+=="])
def test_librdkafka_gets_a_url_that_is_signed_for_the_region(
    monkeypatch: pytest.MonkeyPatch, session: str | None
) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    if session:
        monkeypatch.setenv("AWS_SESSION_TOKEN", session)
    for _attempt in range(3):  # a signature has its second, which may end between the two
        token, ends_at = librdkafka_config(settings())["oauth_cb"]("")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        kafka_python = message(settings(), "kafka.eu-central-1.amazonaws.com")
        url = urllib.parse.urlsplit(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode())
        signed = dict(urllib.parse.parse_qsl(url.query))
        if signed["X-Amz-Date"] == kafka_python["x-amz-date"]:
            break
    assert (url.scheme, url.netloc, url.path) == ("https", "kafka.eu-central-1.amazonaws.com", "/")
    assert (signed["Action"], signed["X-Amz-Expires"]) == ("kafka-cluster:Connect", "900")
    assert signed["X-Amz-Signature"] == kafka_python["x-amz-signature"]
    assert signed.get("X-Amz-Security-Token") == session
    assert time.time() + 890 < ends_at <= time.time() + 900
    assert "=" not in token


def test_librdkafka_takes_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    config = librdkafka_config(settings())
    assert config["sasl.mechanism"] == "OAUTHBEARER"
    Producer({**config, "log_level": 0})


def test_a_profile_of_the_jaas_line(tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text(
        f"[kafka]\naws_access_key_id = OTHER\naws_secret_access_key = {KEYS['AWS_SECRET_ACCESS_KEY']}\n"
    )
    file = tmp_path / "client.properties"
    file.write_text(
        "security.protocol=SASL_SSL\nsasl.mechanism=AWS_MSK_IAM\n"
        'sasl.jaas.config=software.amazon.msk.auth.iam.IAMLoginModule required awsProfileName="kafka";\n'
        "sasl.client.callback.handler.class=software.amazon.msk.auth.iam.IAMClientCallbackHandler\n"
    )
    given = settings_from(with_command_config({"command_config": str(file), "bootstrap_servers": f"{HOST}:9098"}))
    assert message(given)["x-amz-credential"].startswith("OTHER/")
    with pytest.raises(CredentialsError, match=r"no AWS credentials for AWS_MSK_IAM: .*absent"):
        message(settings(sasl_aws_profile="absent"))


def test_missing_credentials_or_region_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CredentialsError, match="set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile"):
        message(settings())
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(CredentialsError, match=r"region of broker1\.example is not known: set AWS_DEFAULT_REGION"):
        message(settings(), "broker1.example")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-west-2")
    assert "/us-west-2/" in message(settings(), "broker1.example")["x-amz-credential"]


def test_it_needs_tls() -> None:
    with pytest.raises(SettingsError, match="AWS_MSK_IAM needs security_protocol SASL_SSL"):
        settings(security_protocol="SASL_PLAINTEXT")


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore", None)  # as if it were not installed
    with pytest.raises(SettingsError, match="needs the Python library botocore"):
        AwsCredentials(settings())
