# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fetch and renew OAUTHBEARER tokens (KIP-255, KIP-768: client credentials grant, RFC 6749 section 4.4)."""

from __future__ import annotations

import base64
import http
import http.client
import json
import math
import ssl
import threading
import time
import urllib.parse
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from .._model.run import Clock, KafkaOpsError
from .._model.urls import without_secrets
from .errors import CredentialsError
from .settings import ConnectionSettings

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from kafka.errors import SaslAuthenticationFailedError
    from kafka.net.sasl.oauth import AbstractTokenProvider

_RENEW_AFTER = 0.8
"""Fraction of a token's lifetime. Connections authenticate again at 85 to 95 % (KIP-368), so renew before that."""
_DEFAULT_LIFETIME_S = 300.0
_GIVEN_LIFETIME_S = 3600.0
"""Lifetime to return for a token in the settings, whose expiry is unknown."""
_FILE_LIFETIME_S = 60.0
_FIRST_WAIT_S = 0.2
_MAX_ANSWER_BYTES = 1_000_000
_BUSY_STATUSES = frozenset({http.HTTPStatus.TOO_MANY_REQUESTS, *range(500, 600)})


class OAuthCredentials:
    """The token of one process: from the settings, a file, or the token endpoint. Thread-safe."""

    def __init__(self, settings: ConnectionSettings, *, clock: Clock = time) -> None:
        self._settings = settings
        self._clock = clock
        self._lock = threading.Lock()
        self._token = settings.sasl_oauthbearer_token
        self._renew_at = float("inf") if self._token else 0.0
        self._ends_at = self._renew_at
        self._failed: tuple[float, CredentialsError] | None = None

    def prepare(self, host: str, timeout_s: float, *, is_connected: bool) -> None:
        """Fetch a token if there is none, or if _RENEW_AFTER of its lifetime is over. Raises CredentialsError."""
        began = self._clock.monotonic()
        if began < self._renew_at:
            return
        with self._lock:
            if self._clock.monotonic() < self._renew_at:
                return
            if self._failed is not None and self._failed[0] > began:
                raise self._failed[1]  # another thread has just tried, while this one waited for the lock
            try:
                self._token, lifetime_s = self._fetch(began + timeout_s)
            except CredentialsError as error:
                now = self._clock.monotonic()
                if now < self._ends_at:
                    return  # the old token is still valid
                self._failed = (now, error)
                raise
            now = self._clock.monotonic()
            self._renew_at, self._ends_at = now + lifetime_s * _RENEW_AFTER, now + lifetime_s

    def kafka_python_config(self) -> dict[str, Any]:
        """Return the configuration with a token provider that never waits."""
        return {"sasl_oauth_token_provider": _Provider(self, self._settings.sasl_oauthbearer_extensions)}

    def librdkafka_token(self, _config: str) -> tuple[str, float]:
        """Return the token and its expiry in seconds since 1970, as confluent-kafka's ``oauth_cb``."""
        self.prepare("", self._settings.request_timeout_ms / 1000, is_connected=False)
        left_s = min(self._ends_at - self._clock.monotonic(), _GIVEN_LIFETIME_S)
        return self._token or "", time.time() + left_s

    @property
    def token(self) -> str | None:
        """The token that was fetched last."""
        return self._token

    def _fetch(self, deadline: float) -> tuple[str, float]:
        """Return a token and its lifetime in seconds. Asks a busy server again until the deadline."""
        url = str(self._settings.sasl_oauthbearer_token_endpoint_url)
        if url.startswith("file:"):
            return _read_token(urllib.parse.urlsplit(url).path), _FILE_LIFETIME_S
        wait_s = _FIRST_WAIT_S
        while True:
            try:
                return _request_token(self._settings, max(0.1, deadline - self._clock.monotonic()))
            except _BusyError as error:
                wait_s = max(wait_s, error.retry_after_s)
                if self._clock.monotonic() + wait_s >= deadline:
                    raise _no_token_error(url, str(error)) from None
                self._clock.sleep(wait_s)
                wait_s *= 2
            except _RefusedError as error:
                raise _no_token_error(url, str(error)) from None
            except ssl.SSLCertVerificationError as error:
                raise _no_token_error(url, f"its certificate was not accepted: {error.verify_message}") from None
            except OSError as error:
                raise _no_token_error(url, error.strerror or str(error) or type(error).__name__) from None
            except (http.client.HTTPException, ValueError, KeyError, TypeError) as error:
                # The answer may contain a token, so only the type of the error is shown.
                raise _no_token_error(url, f"its answer has no token ({type(error).__name__})") from None


with suppress(NameError):

    class _Provider(AbstractTokenProvider):
        """Passes the fetched token to kafka-python."""

        def __init__(self, credentials: OAuthCredentials, extensions: str | None) -> None:
            super().__init__()
            self._credentials = credentials
            self._extensions = dict(pair.split("=", 1) for pair in (extensions or "").split(",") if "=" in pair)

        def token(self) -> str:
            if self._credentials.token is None:
                raise SaslAuthenticationFailedError("no token has been fetched")
            return self._credentials.token

        def extensions(self) -> dict[str, str]:
            return self._extensions


class _RefusedError(KafkaOpsError):
    """The endpoint answered without a token. The message has no part of its answer."""


class _BusyError(_RefusedError):
    """The endpoint is busy and may return a token later."""

    def __init__(self, text: str, retry_after_s: float) -> None:
        super().__init__(text)
        self.retry_after_s = retry_after_s


def _no_token_error(url: str, cause: str) -> CredentialsError:
    return CredentialsError(f"no OAUTHBEARER token from {without_secrets(url)}: {cause}")


def _read_token(path: str) -> str:
    try:
        token = Path(urllib.parse.unquote(path)).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise _no_token_error(
            path, (error.strerror if isinstance(error, OSError) else None) or "it is not text"
        ) from None
    if not token:
        raise _no_token_error(path, "the file is empty")
    return token


def _request_token(settings: ConnectionSettings, timeout_s: float) -> tuple[str, float]:
    """Return the token and its lifetime in seconds."""
    url = urllib.parse.urlsplit(str(settings.sasl_oauthbearer_token_endpoint_url))
    credentials = f"{settings.sasl_oauthbearer_client_id}:{settings.sasl_oauthbearer_client_secret}"
    form = {"grant_type": "client_credentials"}
    if settings.sasl_oauthbearer_scope:
        form["scope"] = settings.sasl_oauthbearer_scope
    with closing(_connect(settings, url, timeout_s)) as connection:
        connection.request(
            "POST",
            urllib.parse.urlunsplit(("", "", url.path or "/", url.query, "")),
            urllib.parse.urlencode(form),
            {
                "Authorization": "Basic " + base64.b64encode(credentials.encode()).decode(),
                "Content-Type": "application/x-www-form-urlencoded",
                "Accept": "application/json",
            },
        )
        response = connection.getresponse()
        if response.status in _BUSY_STATUSES:
            raise _BusyError(f"HTTP status {response.status}", _parse_seconds(response.getheader("Retry-After")))
        if response.status != http.HTTPStatus.OK:
            hint = " (check the client's id and secret)" if response.status in (400, 401, 403) else ""
            raise _RefusedError(f"HTTP status {response.status}{hint}")
        answer = json.loads(response.read(_MAX_ANSWER_BYTES))
    token, lifetime = answer["access_token"], answer.get("expires_in")
    lifetime_s = _DEFAULT_LIFETIME_S if lifetime is None else float(lifetime)
    if not isinstance(token, str) or not token or not math.isfinite(lifetime_s):
        raise ValueError("no token, or no lifetime")
    return token, lifetime_s


def _connect(
    settings: ConnectionSettings, url: urllib.parse.SplitResult, timeout_s: float
) -> http.client.HTTPConnection:
    if url.scheme != "https":
        return http.client.HTTPConnection(url.netloc, timeout=timeout_s)
    context = ssl.create_default_context(
        cafile=settings.sasl_oauthbearer_cafile, cadata=settings.sasl_oauthbearer_ca_pem
    )
    return http.client.HTTPSConnection(url.netloc, timeout=timeout_s, context=context)


def _parse_seconds(retry_after: str | None) -> float:
    return float(retry_after) if retry_after and retry_after.isascii() and retry_after.isdecimal() else 0.0
