# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The URL of a broker's metrics, by a template. Standard library only."""

from __future__ import annotations

import re
from urllib.parse import urlsplit, urlunsplit

from ansible_collections.kafkaops.recovery.plugins.module_utils.metrics.errors import MetricsError

_PLACE = re.compile(r"\{([^{}]*)\}")
_KNOWN = frozenset({"broker_id", "host"})


def check_template(template: str) -> str:
    """The template, when it is one.

    Raises MetricsError.
    """
    unknown = sorted(set(_PLACE.findall(template)) - _KNOWN)
    if unknown:
        raise MetricsError(
            f"the metrics URL {without_secrets(template)} has {{{unknown[0]}}} in it; only {{broker_id}} "
            "and {host} are filled in"
        )
    if "@" in urlsplit(url_for(template, 1, "localhost")).netloc:
        raise MetricsError(
            f"the metrics URL {without_secrets(template)} has a user or a password in it, which Ansible shows with "
            "-vvv: give them as metrics_username and metrics_password"
        )
    return template


def url_for(template: str, broker_id: int, host: str) -> str:
    """A broker's URL. An IPv6 address is put in brackets.

    Raises MetricsError when that is no http or https URL.
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
            f"the metrics URL {without_secrets(url)} is none: give one such as http://{{host}}:7071/metrics"
        )
    return url


def without_secrets(url: str) -> str:
    """The URL to show: without user, password and query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(not shown, since it cannot be read)"
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
