# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the cleaner's metrics with one request to each broker's endpoint, and define the options for it.

A template in the options makes the URL of each broker's endpoint.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from .._kafka.cluster import Cluster
from .._model.partition import grouped
from .._model.reasons import name_brokers
from .._model.urls import without_secrets
from .._module.connection import Arguments
from .._module.http_client import HttpClient, HttpRequestError
from .facts import CleanerMetrics
from .metrics import Gauge, MetricsError, jolokia_request, parse_jolokia, parse_prometheus

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

_CHECK = "Check metrics_url and metrics_timeout_ms, and that the exporter listens there for this host"


@dataclass(frozen=True, slots=True)
class MetricsSource:
    """The metrics endpoints of all brokers."""

    kind: str
    template: str
    names: Mapping[Gauge, str]
    client: HttpClient
    shared: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """URLs of several brokers, and these. Such a URL shows the metrics of one of them, nobody knows of which."""

    def for_cluster(self, cluster: Cluster) -> MetricsSource:
        """Return the source for the brokers of a cluster. It refuses URLs that several of them have."""
        hosts = {each.broker_id: each.address.host for each in cluster.registrations}
        urls = grouped((url_for(self.template, *each), each[0]) for each in hosts.items())
        return replace(self, shared={url: brokers for url, brokers in urls.items() if len(brokers) > 1})

    def __call__(self, broker_id: int, host: str) -> CleanerMetrics:
        """Return the metrics of one broker's cleaner.

        Raises MetricsError, which names the broker's URL without secrets.
        """
        url = url_for(self.template, broker_id, host)
        if brokers := self.shared.get(url):
            raise MetricsError(
                f"{without_secrets(url)} is the URL of {name_brokers(brokers)}, and shows the metrics of one of them: "
                "put {broker_id} into metrics_url"
            )
        try:
            if self.kind == "jolokia":
                return parse_jolokia(self.client.fetch(url, jolokia_request(), "application/json"))
            return parse_prometheus(self.client.fetch(url, None, "text/plain;version=0.0.4"), self.names)
        except HttpRequestError as error:
            raise MetricsError(f"{without_secrets(url)}: {error}. {_CHECK}") from None
        except MetricsError as error:
            raise MetricsError(f"{without_secrets(url)}: {error}") from None


def metrics_source(params: Mapping[str, Any]) -> MetricsSource | None:
    """Return the metrics source of a module's parameters; None if they name none. Opens no connection.

    Raises MetricsError.
    """
    kind, template = params["metrics_source"], params["metrics_url"]
    if kind == "none":
        if template:
            raise MetricsError("metrics_url is given, and metrics_source is none: set it to prometheus or jolokia")
        return None
    if not template:
        raise MetricsError(f"metrics_source is {kind}: set metrics_url too, for example http://{{host}}:7071/metrics")
    if params["metrics_timeout_ms"] < 1:
        raise MetricsError(f"metrics_timeout_ms is {params['metrics_timeout_ms']}, and must be at least 1")
    names = {Gauge(name): own for name, own in (params["metrics_names"] or {}).items() if own}
    if names and kind == "jolokia":
        raise MetricsError("metrics_names is given, but Jolokia uses Kafka's own names: remove it")
    return MetricsSource(
        kind,
        check_template(template),
        names,
        HttpClient(
            params["metrics_timeout_ms"] / 1000,
            params["metrics_username"],
            params["metrics_password"],
            params["metrics_validate_certs"],
            params["metrics_ca_file"],
        ),
    )


_PLACE = re.compile(r"\{([^{}]*)\}")
_KNOWN = frozenset({"broker_id", "host"})


def check_template(template: str) -> str:
    """Return the template if it is valid.

    Raises MetricsError.
    """
    unknown = sorted(set(_PLACE.findall(template)) - _KNOWN)
    if unknown:
        raise MetricsError(
            f"the metrics URL {without_secrets(template)} has {{{unknown[0]}}} in it: only {{broker_id}} "
            "and {host} are replaced"
        )
    if "@" in urlsplit(url_for(template, 1, "localhost")).netloc:
        raise MetricsError(
            f"the metrics URL {without_secrets(template)} has a user or a password in it, which Ansible shows with "
            "-vvv: set metrics_username and metrics_password instead"
        )
    return template


def url_for(template: str, broker_id: int, host: str) -> str:
    """Return a broker's URL. An IPv6 address gets brackets.

    Raises MetricsError if the result is not an http or https URL.
    """
    shown_host = f"[{host}]" if ":" in host else host
    url = template.replace("{broker_id}", str(broker_id)).replace("{host}", shown_host)
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable or any(character.isspace() for character in url):
        raise MetricsError(
            f"the metrics URL {without_secrets(url)} is not valid: set one like http://{{host}}:7071/metrics"
        )
    return url
