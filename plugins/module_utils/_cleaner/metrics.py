# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What can go wrong with a source of metrics. Standard library only.

The log cleaner's gauges, by Kafka's own names. Standard library only.

JMX: ``kafka.log:type=LogCleaner,name=DeadThreadCount`` and
``kafka.log:type=LogCleanerManager,name=uncleanable-partitions-count,logDirectory=...`` and so on.

The URL of a broker's metrics, by a template. Standard library only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit, urlunsplit

from .._model.run import KafkaOpsError
from .facts import CleanerMetrics, LogDirMetrics


class MetricsError(KafkaOpsError):
    """A broker's metrics cannot be had, or are not what they should be. Never to be read as zero."""


class Gauge(StrEnum):
    """A gauge, by the option that overrides its name."""

    DEAD_THREADS = "dead_thread_count"
    TIME_SINCE_LAST_RUN_MS = "time_since_last_run_ms"
    MAX_DIRTY_PERCENT = "max_dirty_percent"
    UNCLEANABLE_PARTITIONS = "uncleanable_partitions_count"
    UNCLEANABLE_BYTES = "uncleanable_bytes"


MBEANS = {
    Gauge.DEAD_THREADS: ("LogCleaner", "DeadThreadCount"),
    Gauge.TIME_SINCE_LAST_RUN_MS: ("LogCleanerManager", "time-since-last-run-ms"),
    Gauge.MAX_DIRTY_PERCENT: ("LogCleanerManager", "max-dirty-percent"),
    Gauge.UNCLEANABLE_PARTITIONS: ("LogCleanerManager", "uncleanable-partitions-count"),
    Gauge.UNCLEANABLE_BYTES: ("LogCleanerManager", "uncleanable-bytes"),
}
"""Type and name of each in domain kafka.log."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One gauge's value; of which log directory, where it is of one."""

    gauge: Gauge
    value: float
    log_dir: str = ""


def cleaner_metrics(readings: Iterable[Reading]) -> CleanerMetrics:
    """Join the readings. A missing gauge is None.

    Raises MetricsError when there is none at all, and when two readings contradict each other.
    """
    values: dict[tuple[Gauge, str], int | None] = {}
    for each in readings:
        value = int(each.value) if math.isfinite(each.value) and each.value >= 0 else None
        key = (each.gauge, each.log_dir)
        if values.setdefault(key, value) != value:
            raise MetricsError(f"it has {each.gauge.value} twice, as {values[key]} and as {value}")
    if not values:
        raise MetricsError("it has no metric of the log cleaner: export kafka.log, or set metrics_names")
    directories = sorted({log_dir for _gauge, log_dir in values if log_dir})
    return CleanerMetrics(
        dead_threads=values.get((Gauge.DEAD_THREADS, "")),
        time_since_last_run_ms=values.get((Gauge.TIME_SINCE_LAST_RUN_MS, "")),
        max_dirty_percent=values.get((Gauge.MAX_DIRTY_PERCENT, "")),
        log_dirs=tuple(
            LogDirMetrics(
                each, values.get((Gauge.UNCLEANABLE_PARTITIONS, each)), values.get((Gauge.UNCLEANABLE_BYTES, each))
            )
            for each in directories
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
    """Return a broker's URL. An IPv6 address is put in brackets.

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
    """Return the URL without user, password and query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(not shown, since it cannot be read)"
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
