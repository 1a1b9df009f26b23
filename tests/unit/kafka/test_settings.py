# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connection settings: all faults are reported at once, and no secret is visible to a person or in a log."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import SettingsError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.private_files import (
    _file_on_disk,
    read_settings_reference,
    settings_json,
    temporary_settings_reference,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import (
    SASL_MECHANISMS,
    SECURITY_PROTOCOLS,
    Address,
    ConnectionSettings,
    settings_from,
)

SECRET = "t0p-s3cret"
SECRETS = ("sasl_password", "sasl_oauthbearer_token", "sasl_oauthbearer_client_secret", "ssl_key_password")
SCRAM = {"security_protocol": "SASL_SSL", "sasl_mechanism": "SCRAM-SHA-512", "sasl_username": "alice"}


def faults_of(**options: Any) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        settings_from(options)
    assert SECRET not in str(caught.value)
    return caught.value.problems


@pytest.mark.parametrize(
    "servers", ["one:1,[::1]:2", ["one:1", "[::1]:2"], ["one:1,[::1]:2"], "one:1,[::1]:2, one:1,SSL://one:1"]
)
def test_bootstrap_servers_are_a_string_or_a_list(servers: str | list[str]) -> None:
    settings = settings_from({"bootstrap_servers": servers})
    assert settings.bootstrap_servers == (Address("one", 1), Address("::1", 2))


def test_options_that_are_none_or_unknown_change_nothing() -> None:
    options = {"bootstrap_servers": "one:1", "sasl_kerberos_service_name": None, "request_timeout_ms": None, "other": 1}
    assert settings_from(options) == ConnectionSettings(bootstrap_servers=(Address("one", 1),))


def test_every_problem_is_reported_at_once(tmp_path: Path) -> None:
    absent = tmp_path / "absent.pem"
    faults = faults_of(
        bootstrap_servers=[],
        security_protocol="SASL_SSL",
        sasl_mechanism="SCRAM-SHA-512",
        sasl_password=SECRET,
        ssl_cafile=str(absent),
        ssl_keyfile=str(absent),
        ssl_key_password=SECRET,
        request_timeout_ms=0,
    )
    assert faults == (
        "bootstrap_servers is empty: name at least one broker as host:port",
        "request_timeout_ms is 0, which is not above 0",
        "SCRAM-SHA-512 needs sasl_username and sasl_password",
        f"ssl_cafile {absent} cannot be read: No such file or directory",
        f"ssl_keyfile {absent} cannot be read: No such file or directory",
        "ssl_keyfile is given without ssl_certfile",
    )


def test_invalid_addresses_are_reported_with_other_problems() -> None:
    faults = faults_of(bootstrap_servers=["one:0", "two:1", "[::1"], security_protocol="TLS")
    assert [fault.partition(":")[0] for fault in faults] == [
        "bootstrap_servers",
        "bootstrap_servers",
        "security_protocol 'TLS' is none of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL",
    ]
    assert "'one:0'" in faults[0]
    assert "'[::1'" in faults[1]


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({}, "bootstrap_servers is empty"),
        ({"bootstrap_servers": " , "}, "bootstrap_servers is empty"),
        ({"request_timeout_ms": 2**31}, "request_timeout_ms is 2147483648, which is above 2147483647"),
        ({"sasl_mechanism": "PLAIN"}, "sasl_mechanism is PLAIN, but security_protocol PLAINTEXT uses no SASL"),
        ({"security_protocol": "SASL_SSL"}, "sasl_mechanism None is none of PLAIN, SCRAM-SHA-256"),
        ({"security_protocol": "SASL_SSL", "sasl_mechanism": "plain"}, "sasl_mechanism 'plain' is none of PLAIN"),
        ({**SCRAM, "security_protocol": "SASL_PLAINTEXT"}, "SCRAM-SHA-512 needs sasl_username and sasl_password"),
        (
            {"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER", "sasl_oauthbearer_client_id": "us"},
            "OAUTHBEARER needs sasl_oauthbearer_token, or sasl_oauthbearer_token_endpoint_url with",
        ),
        ({"ssl_cafile": "/dev/null"}, "ssl_cafile given, but security_protocol PLAINTEXT uses no TLS"),
        ({"security_protocol": "SSL", "ssl_keyfile": "/dev/null"}, "ssl_keyfile is given without ssl_certfile"),
    ],
)
def test_contradictory_settings_are_refused(options: dict[str, Any], fault: str) -> None:
    assert any(
        each.startswith(fault) for each in faults_of(**({"bootstrap_servers": "one:1"} | options if options else {}))
    )


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        (f"https://us:{SECRET}@issuer/token", "sasl_oauthbearer_token_endpoint_url has a user or a password in it"),
        (f"https://{SECRET}@issuer/token", "sasl_oauthbearer_token_endpoint_url has a user or a password in it"),
        (f"https://us:{SECRET}@[issuer/token", "sasl_oauthbearer_token_endpoint_url is no URL"),
    ],
)
def test_a_secret_in_the_url_of_a_token_endpoint_is_refused_and_not_shown(url: str, fault: str) -> None:
    oauth = {"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER", "sasl_oauthbearer_client_id": "us"}
    (shown,) = faults_of(bootstrap_servers="one:1", sasl_oauthbearer_token_endpoint_url=url, **oauth)
    assert shown.startswith(fault)
    assert SECRET not in shown


@pytest.mark.parametrize(
    "options",
    [
        {**SCRAM, "sasl_password": SECRET},
        {"security_protocol": "SASL_SSL", "sasl_mechanism": "GSSAPI"},
        {"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER", "sasl_oauthbearer_token": SECRET},
        {
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": "OAUTHBEARER",
            "sasl_oauthbearer_token_endpoint_url": "https://issuer.example/token",
            "sasl_oauthbearer_client_id": "us",
            "sasl_oauthbearer_client_secret": SECRET,
        },
        {"security_protocol": "SSL", "ssl_cafile": "/dev/null", "ssl_certfile": "/dev/null"},
    ],
)
def test_each_way_to_authenticate_is_accepted(options: dict[str, Any]) -> None:
    settings = settings_from({"bootstrap_servers": "one:1"} | options)
    assert settings.uses_sasl == options["security_protocol"].startswith("SASL")
    assert settings.uses_tls == options["security_protocol"].endswith("SSL")


def test_no_secret_is_shown() -> None:
    settings = settings_from({"bootstrap_servers": "one:1", **SCRAM, **dict.fromkeys(SECRETS, SECRET)})
    assert SECRET not in repr(settings)
    assert SECRET not in str(settings)
    assert "alice" in repr(settings)


texts = st.none() | st.text(st.characters(codec="utf-8"), min_size=1, max_size=10)
described = st.fixed_dictionaries(
    {
        "bootstrap_servers": st.sampled_from(["one:1", "one:1,[::1]:2"]),
        "security_protocol": st.sampled_from(SECURITY_PROTOCOLS),
        "sasl_mechanism": st.none() | st.sampled_from(SASL_MECHANISMS),
        "ssl_cafile": st.none() | st.just("/dev/null"),
        "ssl_key_pem": texts,
        "ssl_check_hostname": st.booleans(),
        "request_timeout_ms": st.integers(-1, 60_000),
        **dict.fromkeys((*SECRETS, "sasl_username", "sasl_oauthbearer_client_id", "sasl_oauthbearer_scope"), texts),
    }
)


@given(described)
def test_settings_survive_the_way_to_a_task(options: dict[str, Any]) -> None:
    try:
        settings = settings_from(options)
    except SettingsError as error:
        assert error.problems  # noqa: PT017 - most descriptions make no sense; those must say why
        return
    with temporary_settings_reference(settings) as path:
        assert read_settings_reference(path) == settings


def test_temporary_settings_are_private_and_not_on_a_disk() -> None:
    settings = settings_from({"bootstrap_servers": "one:1", **SCRAM, "sasl_password": SECRET})
    with temporary_settings_reference(settings) as path:
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        assert os.readlink(path).startswith("/memfd:")
        # As a Spark worker does, which is another process.
        assert SECRET in subprocess.check_output([sys.executable, "-c", f"print(open({path!r}).read())"], text=True)
    assert not os.path.exists(path)


def test_without_memfd_the_next_run_removes_files_of_killed_runs(tmp_path: Path) -> None:
    dead = subprocess.check_output([sys.executable, "-c", "import os; print(os.getpid())"], text=True)
    left, other = tmp_path / f"kafkaops-private-{dead.strip()}-x", tmp_path / f"kafkaops-private-{os.getpid()}-y"
    for directory in (left, other):
        directory.mkdir()
        (directory / "content").write_text(SECRET)
    with _file_on_disk(SECRET.encode(), str(tmp_path)) as path:
        assert Path(path).read_text() == SECRET
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        assert stat.S_IMODE(os.stat(Path(path).parent).st_mode) == 0o700
    assert [*tmp_path.iterdir()] == [other]


@pytest.mark.parametrize("mode", [0o644, 0o602, 0o620, 0o601])
def test_a_reference_that_others_can_read_or_write_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "connection.json"
    path.write_text(settings_json(settings_from({"bootstrap_servers": "one:1"})))
    path.chmod(mode)
    with pytest.raises(SettingsError, match=f"has mode {mode:o}, but it contains secrets: chmod 600"):
        read_settings_reference(path)
    path.chmod(0o640)
    assert read_settings_reference(path).bootstrap_servers == (Address("one", 1),)


@pytest.mark.parametrize(
    ("text", "reported"), [(f"{{{SECRET}", "is not JSON"), (f'["{SECRET}"]', "is not a JSON object")]
)
def test_invalid_reference_is_refused_without_its_text(tmp_path: Path, text: str, reported: str) -> None:
    path = tmp_path / "connection.json"
    path.touch(mode=0o600)
    path.write_text(text)
    with pytest.raises(SettingsError, match=reported) as caught:
        read_settings_reference(path)
    assert SECRET not in str(caught.value)
    with pytest.raises(SettingsError, match="cannot be read: No such file"):
        read_settings_reference(tmp_path / "absent")
