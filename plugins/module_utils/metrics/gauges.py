# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The log cleaner's gauges, by the names that Kafka gives them, whoever tells them. Standard library only.

JMX: ``kafka.log:type=LogCleaner,name=DeadThreadCount`` and
``kafka.log:type=LogCleanerManager,name=uncleanable-partitions-count,logDirectory=...`` and so on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from ansible_collections.kafkaops.recovery.plugins.module_utils.cleaner.facts import CleanerMetrics, LogDirMetrics
from ansible_collections.kafkaops.recovery.plugins.module_utils.metrics.errors import MetricsError


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
    """The readings together; what is not among them is None.

    Raises MetricsError when there is none at all, and when two readings contradict each other.
    """
    values: dict[tuple[Gauge, str], int | None] = {}
    for each in readings:
        value = int(each.value) if math.isfinite(each.value) and each.value >= 0 else None
        key = (each.gauge, each.log_dir)
        if values.setdefault(key, value) != value:
            raise MetricsError(f"it tells {each.gauge.value} twice, as {values[key]} and as {value}")
    if not values:
        raise MetricsError("it tells no metric of the log cleaner: let it export kafka.log, or name them as it does")
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
