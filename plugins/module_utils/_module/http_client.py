# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Send an HTTP request with limits to an endpoint that the operator gives."""

from __future__ import annotations

import time
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError

from ansible.module_utils.urls import SSLValidationError, open_url

from .._model.run import KafkaOpsError

_CHUNK_BYTES = 64 * 1024
_MAX_BYTES = 64 * 1024 * 1024


class HttpRequestError(KafkaOpsError):
    """An endpoint could not be read. The message has no URL and no secret."""


@dataclass(frozen=True, slots=True)
class HttpClient:
    """How to connect to an endpoint. ``timeout_s`` limits a whole request, in seconds."""

    timeout_s: float
    username: str | None
    password: str | None
    validate_certs: bool
    ca_file: str | None

    def fetch(self, url: str, body: bytes | None, accept: str) -> str:
        """Send a GET request, or, with a body, a POST request, and return the answer as text.

        Raises HttpRequestError.
        """
        deadline = time.monotonic() + self.timeout_s
        try:
            with open_url(
                url,
                data=body,
                method="GET" if body is None else "POST",
                headers={"Accept": accept, "Content-Type": "application/json"},
                timeout=self.timeout_s,
                url_username=self.username,
                url_password=self.password,
                force_basic_auth=self.username is not None,
                validate_certs=self.validate_certs,
                ca_path=self.ca_file,
                use_proxy=False,
                follow_redirects="safe",
            ) as answer:
                return self._read(answer, deadline).decode("utf-8")
        except HTTPError as error:
            raise HttpRequestError(f"it answers {error.code} ({error.reason})") from None
        except TimeoutError:
            raise self._timeout_error() from None
        except SSLValidationError as error:
            raise HttpRequestError(f"its certificate is refused: {error}") from None
        except URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise self._timeout_error() from None
            raise HttpRequestError(f"it could not be reached: {error.reason}") from None
        except UnicodeDecodeError:
            raise HttpRequestError("its answer is not UTF-8 text") from None
        except (OSError, HTTPException, ValueError) as error:
            raise HttpRequestError(f"it could not be read: {str(error) or type(error).__name__}") from None

    def _read(self, answer: Any, deadline: float) -> bytes:
        """Read a whole answer until the deadline. The socket's timeout alone would not limit the sum of many reads."""
        content = bytearray()
        while chunk := answer.read1(_CHUNK_BYTES):
            content += chunk
            if len(content) > _MAX_BYTES:
                raise HttpRequestError(f"its answer is longer than {_MAX_BYTES} bytes")
            if time.monotonic() > deadline:
                raise self._timeout_error()
        return bytes(content)

    def _timeout_error(self) -> HttpRequestError:
        return HttpRequestError(f"it did not answer within {self.timeout_s:g} s")
