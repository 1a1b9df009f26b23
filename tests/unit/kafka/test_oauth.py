# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""OAUTHBEARER tokens: asked for when needed, kept while they last, and never shown."""

from __future__ import annotations

import base64
import json
import threading
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import pytest
from kafka.errors import SaslAuthenticationFailedError

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka import oauth
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.oauth import TokenProvider
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.settings import ConnectionSettings, settings_from

SECRET = "t0p-s3cret"


class TokenEndpoint(HTTPServer):
    """Gives what ``answer`` holds, and keeps what it was asked."""

    answer: tuple[int, str] = (200, json.dumps({"access_token": "first", "expires_in": 300}))

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, list[str]]]] = []
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, TokenEndpoint)
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.server.asked.append((self.headers["Authorization"], form))
        status, body = self.server.answer
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.fixture
def endpoint() -> Iterator[TokenEndpoint]:
    with TokenEndpoint() as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def settings(endpoint: TokenEndpoint, **options: str) -> ConnectionSettings:
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


def test_a_token_is_asked_for_with_the_clients_credentials(endpoint: TokenEndpoint) -> None:
    assert TokenProvider(settings(endpoint, sasl_oauthbearer_scope="kafka")).token() == "first"
    ((authorization, form),) = endpoint.asked
    assert base64.b64decode(authorization.removeprefix("Basic ")).decode() == f"us:{SECRET}"
    assert form == {"grant_type": ["client_credentials"], "scope": ["kafka"]}


def test_a_token_is_kept_until_shortly_before_it_expires(
    endpoint: TokenEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(oauth, "time", SimpleNamespace(monotonic=lambda: now))
    provider = TokenProvider(settings(endpoint))
    assert provider.token() == "first"
    endpoint.answer = (200, json.dumps({"access_token": "second"}))
    now += 269
    assert provider.token() == "first"
    now += 2
    assert provider.token() == "second"
    assert len(endpoint.asked) == 2


def test_a_given_token_is_used_as_it_is(endpoint: TokenEndpoint) -> None:
    assert TokenProvider(settings(endpoint, sasl_oauthbearer_token="given")).token() == "given"
    assert endpoint.asked == []


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ((401, json.dumps({"error": SECRET})), "HTTP status 401"),
        ((200, f"no JSON, {SECRET}"), "JSONDecodeError"),
        ((200, json.dumps({"refresh_token": SECRET})), "KeyError"),
        ((200, json.dumps([SECRET])), "TypeError"),
    ],
)
def test_no_token_is_told_with_its_kind_and_nothing_of_the_answer(
    endpoint: TokenEndpoint, answer: tuple[int, str], kind: str
) -> None:
    endpoint.answer = answer
    with pytest.raises(SaslAuthenticationFailedError) as caught:
        TokenProvider(settings(endpoint)).token()
    assert str(caught.value).endswith(f"http://127.0.0.1:{endpoint.server_port}/token: {kind}")
    assert SECRET not in str(caught.value)


def test_an_endpoint_that_is_not_there_is_told(endpoint: TokenEndpoint) -> None:
    gone = settings(endpoint, sasl_oauthbearer_token_endpoint_url="http://127.0.0.1:1/token")
    with pytest.raises(SaslAuthenticationFailedError, match=r"no token from .*: ConnectionRefusedError"):
        TokenProvider(gone).token()
