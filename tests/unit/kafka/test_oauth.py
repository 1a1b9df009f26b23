# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""OAUTHBEARER tokens: fetched when needed, kept while they are valid, and never printed."""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
import urllib.parse
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import CredentialsError, SettingsError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.oauth import OAuthCredentials
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import ConnectionSettings, settings_from
from lab.tls import Certificates
from unit.fakes.clock import FakeClock

SECRET = "t0p-s3cret"


class TokenEndpoint(HTTPServer):
    """Returns ``answer``, and records the requests."""

    answer: tuple[int, str] = (200, json.dumps({"access_token": "first", "expires_in": 300}))
    at_first: tuple[int, ...] = ()
    """The statuses of the earlier answers."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, list[str]]]] = []
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, TokenEndpoint)
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.server.asked.append((self.headers["Authorization"], form))
        status, body = self.server.answer
        if len(self.server.asked) <= len(self.server.at_first):
            status, body = self.server.at_first[len(self.server.asked) - 1], ""
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def endpoint() -> Iterator[TokenEndpoint]:
    with TokenEndpoint() as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def settings(endpoint: TokenEndpoint, **options: Any) -> ConnectionSettings:
    return settings_from(
        {
            "bootstrap_servers": "one:1",
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "OAUTHBEARER",
            "sasl_oauthbearer_token_endpoint_url": f"http://127.0.0.1:{endpoint.server_port}/token",
            "sasl_oauthbearer_client_id": "us",
            "sasl_oauthbearer_client_secret": SECRET,
            "request_timeout_ms": 2000,
            **options,
        }
    )


def token(credentials: OAuthCredentials, timeout_s: float = 2.0) -> str | None:
    credentials.prepare("one", timeout_s, is_connected=False)
    return credentials.token


def test_a_token_is_asked_for_with_the_clients_credentials(endpoint: TokenEndpoint) -> None:
    assert token(OAuthCredentials(settings(endpoint, sasl_oauthbearer_scope="kafka"))) == "first"
    ((authorization, form),) = endpoint.asked
    assert base64.b64decode(authorization.removeprefix("Basic ")).decode() == f"us:{SECRET}"
    assert form == {"grant_type": ["client_credentials"], "scope": ["kafka"]}


def test_a_token_is_renewed_when_most_of_its_life_is_over(endpoint: TokenEndpoint) -> None:
    clock = FakeClock()
    credentials = OAuthCredentials(settings(endpoint), clock=clock)
    assert token(credentials) == "first"
    endpoint.answer = (200, json.dumps({"access_token": "second"}))
    clock.now += 239
    assert token(credentials) == "first"
    clock.now += 2
    assert token(credentials) == "second"
    assert len(endpoint.asked) == 2


def test_valid_token_is_used_if_the_endpoint_fails(endpoint: TokenEndpoint) -> None:
    clock = FakeClock()
    credentials = OAuthCredentials(settings(endpoint), clock=clock)
    assert token(credentials) == "first"
    endpoint.answer = (400, "")
    clock.now += 299
    assert token(credentials) == "first"
    clock.now += 2
    with pytest.raises(CredentialsError):
        token(credentials)


def test_many_threads_fetch_one_token_and_one_failure(endpoint: TokenEndpoint) -> None:
    credentials = OAuthCredentials(settings(endpoint))
    with ThreadPoolExecutor(8) as pool:
        assert {*pool.map(lambda _each: token(credentials), range(8))} == {"first"}
        assert len(endpoint.asked) == 1
        endpoint.answer = (400, "")
        refused = OAuthCredentials(settings(endpoint))
        barrier = threading.Barrier(8)

        def fail(_each: int) -> str:
            barrier.wait()
            with pytest.raises(CredentialsError) as caught:
                token(refused)
            return str(caught.value)

        assert len({*pool.map(fail, range(8))}) == 1
    assert len(endpoint.asked) < 8


@pytest.mark.parametrize("statuses", [(503,), (429, 500)])
def test_a_busy_endpoint_is_asked_again(endpoint: TokenEndpoint, statuses: tuple[int, ...]) -> None:
    endpoint.at_first = statuses
    assert token(OAuthCredentials(settings(endpoint))) == "first"
    assert len(endpoint.asked) == len(statuses) + 1


def test_a_busy_endpoint_is_not_asked_beyond_the_limit(endpoint: TokenEndpoint) -> None:
    endpoint.answer = (503, SECRET)
    began = time.monotonic()
    with pytest.raises(CredentialsError, match="HTTP status 503"):
        token(OAuthCredentials(settings(endpoint)), 1.0)
    assert time.monotonic() - began < 10
    assert len(endpoint.asked) > 1


def test_a_given_token_is_used_as_it_is(endpoint: TokenEndpoint) -> None:
    assert token(OAuthCredentials(settings(endpoint, sasl_oauthbearer_token="given"))) == "given"
    assert endpoint.asked == []


def test_a_token_in_a_file(endpoint: TokenEndpoint, tmp_path: Path) -> None:
    path = tmp_path / "a token"
    path.write_text("of the platform\n")
    at = settings(endpoint, sasl_oauthbearer_token_endpoint_url=f"file://{tmp_path}/a%20token")
    assert token(OAuthCredentials(at)) == "of the platform"
    path.unlink()
    with pytest.raises(CredentialsError, match="a%20token: No such file"):
        token(OAuthCredentials(at))


def test_kafka_python_gets_the_token_and_the_extensions(endpoint: TokenEndpoint) -> None:
    credentials = OAuthCredentials(settings(endpoint, sasl_oauthbearer_extensions="logicalCluster=lkc-1,x=y"))
    provider = credentials.kafka_python_config()["sasl_oauth_token_provider"]
    token(credentials)
    assert (provider.token(), provider.extensions()) == ("first", {"logicalCluster": "lkc-1", "x": "y"})


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ((401, json.dumps({"error": SECRET})), "HTTP status 401 (check the client's id and secret)"),
        ((302, SECRET), "HTTP status 302"),
        ((200, f"no JSON, {SECRET}"), "its answer has no token (JSONDecodeError)"),
        ((200, json.dumps({"refresh_token": SECRET})), "its answer has no token (KeyError)"),
        ((200, json.dumps([SECRET])), "its answer has no token (TypeError)"),
        ((200, json.dumps({"access_token": None, "id_token": SECRET})), "its answer has no token (ValueError)"),
        (
            (200, json.dumps({"access_token": SECRET, "expires_in": float("inf")})),
            "its answer has no token (ValueError)",
        ),
    ],
)
def test_no_token_is_reported_with_its_kind_and_nothing_of_the_answer(
    endpoint: TokenEndpoint, answer: tuple[int, str], kind: str
) -> None:
    endpoint.answer = answer
    with pytest.raises(CredentialsError) as caught:
        token(OAuthCredentials(settings(endpoint)))
    assert str(caught.value).endswith(f"http://127.0.0.1:{endpoint.server_port}/token: {kind}")
    assert SECRET not in str(caught.value)


def test_unreachable_endpoint_is_reported(endpoint: TokenEndpoint) -> None:
    gone = settings(endpoint, sasl_oauthbearer_token_endpoint_url="http://127.0.0.1:1/token")
    with pytest.raises(CredentialsError, match=r"no OAUTHBEARER token from .*: Connection refused"):
        token(OAuthCredentials(gone))


def test_an_endpoint_is_named_without_its_query(endpoint: TokenEndpoint) -> None:
    gone = settings(endpoint, sasl_oauthbearer_token_endpoint_url=f"http://127.0.0.1:1/token?key={SECRET}")
    with pytest.raises(CredentialsError, match=r"no OAUTHBEARER token from http://127.0.0.1:1/token: Conn"):
        token(OAuthCredentials(gone))


def test_https_with_a_private_authority(endpoint: TokenEndpoint, tmp_path: Path) -> None:
    certificates = Certificates(tmp_path / "tls")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.server("valid"))
    endpoint.socket = context.wrap_socket(endpoint.socket, server_side=True)
    url = f"https://127.0.0.1:{endpoint.server_port}/token"
    for name, value in ("cafile", str(certificates.ca)), ("ca_pem", certificates.ca.read_text()):
        trusted = settings(endpoint, sasl_oauthbearer_token_endpoint_url=url, **{f"sasl_oauthbearer_{name}": value})
        assert token(OAuthCredentials(trusted)) == "first"
    with pytest.raises(CredentialsError, match="its certificate was not accepted: self-signed certificate"):
        token(OAuthCredentials(settings(endpoint, sasl_oauthbearer_token_endpoint_url=url)))


@pytest.mark.parametrize(("host", "allow", "accepted"), [("idp.example", False, False), ("idp.example", True, True)])
def test_a_secret_goes_over_plain_http_only_where_that_was_allowed(
    endpoint: TokenEndpoint, host: str, allow: bool, accepted: bool
) -> None:
    options = {"sasl_oauthbearer_token_endpoint_url": f"http://{host}/", "sasl_oauthbearer_allow_http": allow}
    if accepted:
        settings(endpoint, **options)
    else:
        with pytest.raises(SettingsError, match="use https, or set sasl_oauthbearer_allow_http"):
            settings(endpoint, **options)
