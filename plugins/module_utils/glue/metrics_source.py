# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the cleaner's metrics come from: its options, and one bounded request to each broker's endpoint."""

from __future__ import annotations

# What most runs do without is imported where it is needed.
# ruff: noqa: PLC0415
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError

from ansible.module_utils.urls import SSLValidationError, open_url

from ansible_collections.kafkaops.recovery.plugins.module_utils.cleaner.facts import CleanerMetrics
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.arguments import Arguments
from ansible_collections.kafkaops.recovery.plugins.module_utils.metrics.errors import MetricsError
from ansible_collections.kafkaops.recovery.plugins.module_utils.metrics.gauges import Gauge
from ansible_collections.kafkaops.recovery.plugins.module_utils.metrics.url import (
    check_template,
    url_for,
    without_secrets,
)

METRICS = Arguments(
    argument_spec={
        "metrics_source": {"type": "str", "choices": ["prometheus", "jolokia", "none"], "default": "none"},
        "metrics_url": {"type": "str"},
        "metrics_names": {
            "type": "dict",
            "options": {gauge.value: {"type": "str"} for gauge in Gauge},
        },
        "metrics_timeout_ms": {"type": "int", "default": 5000},
        "metrics_username": {"type": "str"},
        "metrics_password": {"type": "str", "no_log": True},
        "metrics_validate_certs": {"type": "bool", "default": True},
        "metrics_ca_file": {"type": "path"},
    }
)

_CHUNK_BYTES = 64 * 1024
_MOST_BYTES = 64 * 1024 * 1024
_CHECK_URL = "check metrics_url, and that the exporter listens there for this host"


@dataclass(frozen=True, slots=True)
class MetricsSource:
    """One endpoint for each broker."""

    kind: str
    template: str
    names: Mapping[Gauge, str]
    timeout_s: float
    username: str | None
    password: str | None
    validate_certs: bool
    ca_file: str | None

    def __call__(self, broker_id: int, host: str) -> CleanerMetrics:
        """The metrics of one broker's cleaner.

        Raises MetricsError, which names the broker's URL, without what may be secret in it.
        """
        from ansible_collections.kafkaops.recovery.plugins.module_utils.metrics import jolokia, prometheus

        url = url_for(self.template, broker_id, host)
        try:
            if self.kind == "jolokia":
                return jolokia.parse(self._fetch(url, jolokia.request_body(), "application/json"))
            return prometheus.parse(self._fetch(url, None, "text/plain;version=0.0.4"), self.names)
        except MetricsError as fault:
            raise MetricsError(f"{without_secrets(url)}: {fault}") from None

    def _fetch(self, url: str, body: bytes | None, accept: str) -> str:
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
        except HTTPError as fault:
            raise MetricsError(f"it answers {fault.code} ({fault.reason}): {_CHECK_URL}") from None
        except TimeoutError:
            raise self._too_slow() from None
        except SSLValidationError as fault:
            raise MetricsError(f"its certificate is refused: {fault}") from None
        except URLError as fault:
            if isinstance(fault.reason, TimeoutError):
                raise self._too_slow() from None
            raise MetricsError(f"it cannot be reached: {fault.reason}: {_CHECK_URL}") from None
        except UnicodeDecodeError:
            raise MetricsError("what it answers is no text: is the URL that of the metrics?") from None
        except (OSError, HTTPException, ValueError) as fault:
            raise MetricsError(f"it cannot be read: {fault or type(fault).__name__}: {_CHECK_URL}") from None

    def _read(self, answer: Any, deadline: float) -> bytes:
        """A whole answer. A timeout of the socket alone would let an endpoint drip for ever."""
        content = bytearray()
        while chunk := answer.read1(_CHUNK_BYTES):
            content += chunk
            if len(content) > _MOST_BYTES:
                raise MetricsError(f"it answers more than {_MOST_BYTES} bytes: is the URL that of the metrics?")
            if time.monotonic() > deadline:
                raise self._too_slow()
        return bytes(content)

    def _too_slow(self) -> MetricsError:
        return MetricsError(
            f"it did not answer within {self.timeout_s:g} s: raise metrics_timeout_ms, or see why it is slow"
        )


def metrics_source(params: Mapping[str, Any]) -> MetricsSource | None:
    """The source that a module's parameters describe; None for none. Opens no connection.

    Raises MetricsError.
    """
    kind, template = params["metrics_source"], params["metrics_url"]
    if kind == "none":
        if template:
            raise MetricsError("metrics_url is given and metrics_source is none: set it to prometheus or jolokia")
        return None
    if not template:
        raise MetricsError(f"metrics_source is {kind}, which needs metrics_url, such as http://{{host}}:7071/metrics")
    if params["metrics_timeout_ms"] < 1:
        raise MetricsError(f"metrics_timeout_ms is {params['metrics_timeout_ms']}, which is not above 0")
    names = {Gauge(name): own for name, own in (params["metrics_names"] or {}).items() if own}
    if names and kind == "jolokia":
        raise MetricsError("metrics_names is given, and Jolokia has Kafka's own names: leave it out")
    return MetricsSource(
        kind,
        check_template(template),
        names,
        params["metrics_timeout_ms"] / 1000,
        params["metrics_username"],
        params["metrics_password"],
        params["metrics_validate_certs"],
        params["metrics_ca_file"],
    )
