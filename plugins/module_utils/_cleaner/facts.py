# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The settings of the log cleaner (KIP-226), as a broker names them. Standard library only.

What is known of a broker's log cleaner. Standard library only. What is unknown is None, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from .._model.fields import Count, Meta, SizeBytes
from .._model.setting import Setting

ENABLE = "log.cleaner.enable"
THREADS = "log.cleaner.threads"
BACKOFF_MS = "log.cleaner.backoff.ms"
IO_BUFFER_SIZE = "log.cleaner.io.buffer.size"
DEDUPE_BUFFER_SIZE = "log.cleaner.dedupe.buffer.size"
IO_MAX_BYTES_PER_SECOND = "log.cleaner.io.max.bytes.per.second"
LOAD_FACTOR = "log.cleaner.io.buffer.load.factor"

DYNAMIC = (BACKOFF_MS, THREADS, IO_BUFFER_SIZE, DEDUPE_BUFFER_SIZE, LOAD_FACTOR, IO_MAX_BYTES_PER_SECOND)
"""Those that can be changed in a running broker. A change of any of them restarts all its cleaner threads."""
SHOWN = (
    ENABLE,
    *DYNAMIC,
    "log.cleaner.min.cleanable.ratio",
    "log.cleaner.min.compaction.lag.ms",
    "log.cleaner.max.compaction.lag.ms",
    "log.cleaner.delete.retention.ms",
)


@dataclass(frozen=True, slots=True)
class LogDirMetrics:
    """What the cleaner cannot clean in one log directory (KIP-346)."""

    log_dir: Annotated[str, Meta("a log directory")]
    uncleanable_partitions: Count | None
    """How many partitions are marked. No metric and no RPC returns the marks themselves."""
    uncleanable_bytes: SizeBytes | None
    """Unknown for a partition that was never cleaned: Kafka's own gauge fails then."""


@dataclass(frozen=True, slots=True)
class CleanerMetrics:
    """The cleaner's gauges at one moment."""

    dead_threads: int | None = None
    time_since_last_run_ms: int | None = None
    """Since any thread last looked for a log to clean."""
    max_dirty_percent: int | None = None
    """Of the dirtiest log that can be cleaned. Marked ones do not count."""
    log_dirs: tuple[LogDirMetrics, ...] = ()

    @property
    def uncleanable_partitions(self) -> int | None:
        """In all log directories together; None when any of them is unknown."""
        counts = [each.uncleanable_partitions for each in self.log_dirs]
        known = [each for each in counts if each is not None]
        return sum(known) if counts and len(known) == len(counts) else None


@dataclass(frozen=True, slots=True)
class Suspect:
    """A copy of a compacted partition that seems not to be compacted, and why."""

    topic: str
    partition: int
    broker_id: int
    log_dir: str
    size_bytes: int
    smallest_copy_bytes: int | None
    """The smallest of the partition's other copies; None when there is none."""
    reason: str
    is_proven: bool = False
    """True when the copy itself was read, and is damaged. Otherwise it is an inference from sizes."""


@dataclass(frozen=True, slots=True)
class CleanerFacts:
    """All that was found out of one broker's cleaner."""

    broker_id: int
    host: str | None
    metrics: CleanerMetrics | None
    """None without a metrics source, and when it failed."""
    metrics_error: str
    settings: Mapping[str, Setting] = field(default_factory=dict)
    settings_error: str = ""
