# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define the settings of a log cleaner (KIP-226), the edits that restart its threads, and its metrics.

Standard library only. An unknown value is None, never 0.

A broker restarts all cleaner threads if a setting in ``DYNAMIC`` gets a new value. It refuses a number of threads below
half or above double of the current one (LogCleaner.validateReconfiguration).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from .._model.fields import INT64_MAX, Count, Meta, SizeBytes
from .._model.run import KafkaOpsError
from .._model.setting import CLEANER_BACKOFF_MS, CLEANER_THREADS, Setting, number_of, same_value

ENABLE = "log.cleaner.enable"
THREADS, BACKOFF_MS = CLEANER_THREADS, CLEANER_BACKOFF_MS
IO_BUFFER_SIZE = "log.cleaner.io.buffer.size"
DEDUPE_BUFFER_SIZE = "log.cleaner.dedupe.buffer.size"
IO_MAX_BYTES_PER_SECOND = "log.cleaner.io.max.bytes.per.second"
LOAD_FACTOR = "log.cleaner.io.buffer.load.factor"

DYNAMIC = (BACKOFF_MS, THREADS, IO_BUFFER_SIZE, DEDUPE_BUFFER_SIZE, LOAD_FACTOR, IO_MAX_BYTES_PER_SECOND)
"""Settings that can be changed in a running broker. Each change restarts all its cleaner threads."""
SHOWN = (
    ENABLE,
    *DYNAMIC,
    "log.cleaner.min.cleanable.ratio",
    "log.cleaner.min.compaction.lag.ms",
    "log.cleaner.max.compaction.lag.ms",
    "log.cleaner.delete.retention.ms",
)


class EditError(KafkaOpsError):
    """Kafka would refuse the edit, or no edit is possible. Nothing was changed."""


@dataclass(frozen=True, slots=True)
class Edit:
    """The broker's own value of one setting before and after; None is "not set"."""

    name: str
    before: str | None
    after: str | None


def thread_range(current: int) -> range:
    """Return the numbers of threads that a broker with ``current`` threads accepts: half (rounded down) to double."""
    return range(max(1, current // 2), current * 2 + 1)


def restart_edit(settings: Mapping[str, Setting]) -> Edit:
    """Return the least intrusive edit that restarts the threads. The caller restores the value at once.

    It makes the pause between passes one millisecond longer, which changes nothing else. If the pause is unknown, it
    adds one thread, which divides the buffers among more threads.

    Raises EditError if the broker returns neither value.
    """
    backoff = number_of(settings.get(BACKOFF_MS))
    if backoff is not None:
        changed = backoff + 1 if backoff < INT64_MAX else backoff - 1
        return Edit(BACKOFF_MS, settings[BACKOFF_MS].own, str(changed))
    threads = number_of(settings.get(THREADS))
    if threads is not None and threads + 1 in thread_range(threads):
        return Edit(THREADS, settings[THREADS].own, str(threads + 1))
    raise EditError(
        f"the broker returns neither {BACKOFF_MS} nor {THREADS}, so there is nothing to change and restore: our "
        "principal needs DESCRIBE_CONFIGS on the cluster"
    )


def lasting_edits(settings: Mapping[str, Setting], wanted: Mapping[str, str | None]) -> tuple[Edit, ...]:
    """Return the edits that change a broker's own settings to the wanted ones; None means "not set".

    Raises EditError, which names all errors.
    """
    errors = [f"{name} is none of {', '.join(DYNAMIC)}" for name in wanted if name not in DYNAMIC]
    errors += _thread_errors(settings.get(THREADS), wanted.get(THREADS))
    if errors:
        raise EditError("; ".join(errors))
    edits = []
    for name, after in wanted.items():
        setting = settings.get(name)
        before = setting.own if setting is not None else None
        if not same_value(before, after):
            edits.append(Edit(name, before, after))
    return tuple(edits)


def _thread_errors(current: Setting | None, wanted: str | None) -> list[str]:
    threads = number_of(current)
    if wanted is None or threads is None:
        return []
    if not wanted.isdecimal():
        return [f"the wanted {THREADS}, {wanted!r}, is not a number of threads"]
    allowed = thread_range(threads)
    if int(wanted) in allowed:
        return []
    return [
        f"{THREADS} is {threads}, and the wanted value is {wanted}: Kafka takes {allowed[0]} to {allowed[-1]}, half to "
        "double, in one change. Change it in steps"
    ]


@dataclass(frozen=True, slots=True)
class LogDirMetrics:
    """The uncleanable partitions of one log directory (KIP-346)."""

    log_dir: Annotated[str, Meta("a log directory")]
    uncleanable_partitions: Count | None
    """The number of marked partitions. No metric and no RPC returns which partitions these are."""
    uncleanable_bytes: SizeBytes | None
    """Unknown for a partition that was never cleaned, because Kafka's own gauge fails."""


@dataclass(frozen=True, slots=True)
class CleanerMetrics:
    """The cleaner's gauges."""

    dead_threads: int | None = None
    time_since_last_run_ms: int | None = None
    """The time since any thread last looked for a log to clean."""
    max_dirty_percent: int | None = None
    """The dirty percentage of the dirtiest cleanable log. Logs of marked partitions do not count."""
    log_dirs: tuple[LogDirMetrics, ...] = ()

    @property
    def uncleanable_partitions(self) -> int | None:
        """The number of marked partitions in all log directories; None if one of them is unknown."""
        counts = [each.uncleanable_partitions for each in self.log_dirs]
        known = [each for each in counts if each is not None]
        return sum(known) if counts and len(known) == len(counts) else None


@dataclass(frozen=True, slots=True)
class Suspect:
    """A copy of a compacted partition that seems not to be compacted, with the reason."""

    topic: str
    partition: int
    broker_id: int
    log_dir: str
    size_bytes: int
    smallest_copy_bytes: int | None
    """The size of the partition's smallest other copy; None if there is none."""
    reason: str


@dataclass(frozen=True, slots=True)
class CleanerFacts:
    """The settings and metrics of one broker's cleaner."""

    broker_id: int
    host: str | None
    metrics: CleanerMetrics | None
    """None without a metrics source, or if it failed."""
    metrics_error: str
    settings: Mapping[str, Setting] = field(default_factory=dict)
    settings_error: str = ""

    @property
    def is_switched_off(self) -> bool:
        return ENABLE in self.settings and self.settings[ENABLE].value == "false"

    @property
    def marks(self) -> dict[str, int]:
        """Return the number of marked partitions in each log directory that has marks."""
        dirs = self.metrics.log_dirs if self.metrics is not None else ()
        return {each.log_dir: each.uncleanable_partitions for each in dirs if each.uncleanable_partitions}
