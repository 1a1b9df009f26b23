# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""OAUTHBEARER tokens for kafka-python (KIP-255, KIP-768: client credentials grant, RFC 6749 section 4.4)."""

from __future__ import annotations

import base64
import http
import http.client
import json
import time
import urllib.parse
from contextlib import closing, suppress

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.settings import ConnectionSettings

_RENEW_BEFORE_EXPIRY_S = 30
_DEFAULT_LIFETIME_S = 300

with suppress(ImportError):  # a missing library is told by name before anything is done (glue/failures.py)
    from kafka.errors import SaslAuthenticationFailedError
    from kafka.net.sasl.oauth import AbstractTokenProvider

    class TokenProvider(AbstractTokenProvider):
        """Gives the settings' token, or gets one from their token endpoint and keeps it until shortly before expiry."""

        def __init__(self, settings: ConnectionSettings) -> None:
            super().__init__()
            self._settings = settings
            self._token = settings.sasl_oauthbearer_token
            self._renew_at = float("inf") if self._token else 0.0

        def token(self) -> str:
            """Raises SaslAuthenticationFailedError when the endpoint gives none."""
            if self._token is None or time.monotonic() >= self._renew_at:
                try:
                    self._token, lifetime_s = _request_token(self._settings)
                except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError) as fault:
                    # The answer itself may hold a token, so only the kind of fault is told, or the status.
                    told = fault if isinstance(fault, _RefusedError) else type(fault).__name__
                    raise SaslAuthenticationFailedError(
                        f"no token from {self._settings.sasl_oauthbearer_token_endpoint_url}: {told}"
                    ) from None
                self._renew_at = time.monotonic() + lifetime_s - _RENEW_BEFORE_EXPIRY_S
            return self._token


class _RefusedError(OSError):
    """The endpoint answered, and not with a token. Its text is ours."""


def _request_token(settings: ConnectionSettings) -> tuple[str, float]:
    """The token and its lifetime in seconds."""
    url = urllib.parse.urlsplit(str(settings.sasl_oauthbearer_token_endpoint_url))
    connect = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    credentials = f"{settings.sasl_oauthbearer_client_id}:{settings.sasl_oauthbearer_client_secret}"
    form = {"grant_type": "client_credentials"}
    if settings.sasl_oauthbearer_scope:
        form["scope"] = settings.sasl_oauthbearer_scope
    with closing(connect(url.netloc, timeout=settings.request_timeout_ms / 1000)) as connection:
        connection.request(
            "POST",
            urllib.parse.urlunsplit(("", "", url.path or "/", url.query, "")),
            urllib.parse.urlencode(form),
            {
                "Authorization": "Basic " + base64.b64encode(credentials.encode()).decode(),
                "Content-Type": "application/x-www-form-urlencoded",
            },
        )
        response = connection.getresponse()
        if response.status != http.HTTPStatus.OK:
            raise _RefusedError(f"HTTP status {response.status}")
        answer = json.load(response)
    return str(answer["access_token"]), float(answer.get("expires_in", _DEFAULT_LIFETIME_S))
