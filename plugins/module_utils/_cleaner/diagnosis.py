# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Diagnose a log cleaner: which case it is, and so which remedy helps, and which copies are suspicious by their size.

Pure functions; standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from .facts import ENABLE, THREADS, CleanerFacts, CleanerMetrics, Suspect


class Case(StrEnum):
    """How a broker's log cleaner is."""

    HEALTHY = "healthy"
    IDLE = "idle"
    """It runs, and nothing is dirty."""
    DEAD_THREADS = "dead_threads"
    UNCLEANABLE_PARTITIONS = "uncleanable_partitions"
    STALLED = "stalled"
    """Its threads live, and none has looked for work for long."""
    UNKNOWN = "unknown"


HEALTHY_CASES = frozenset({Case.HEALTHY, Case.IDLE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """From where on something is wrong."""

    stalled_after_ms: int
    """Milliseconds without a run. A thread that cleans one very large log does not run either."""
    tolerated_uncleanable_partitions: int
    suspect_ratio: float
    """A copy is suspicious that is this many times as large as the smallest copy of the same partition..."""
    suspect_bytes: int
    """...and larger by this many bytes."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The one case that a broker is in, and why, in words."""

    case: Case
    reason: str
    restart_helps: bool = False
    is_inferred: bool = False
    """True when it was concluded from sizes, without the cleaner's own metrics."""


def diagnose(facts: CleanerFacts, thresholds: Thresholds) -> Diagnosis:
    """Diagnose by the cleaner's own metrics. The most urgent case, which is repaired first, is the result."""
    if ENABLE in facts.settings and facts.settings[ENABLE].value == "false":
        return Diagnosis(
            Case.UNKNOWN, f"{ENABLE} is false: this broker has no cleaner; set it to true and restart the broker"
        )
    if facts.metrics is None:
        return Diagnosis(Case.UNKNOWN, facts.metrics_error or "there are no metrics of it")
    return _by_metrics(facts.metrics, _threads(facts), thresholds)


def _by_metrics(metrics: CleanerMetrics, threads: str, thresholds: Thresholds) -> Diagnosis:
    marked = metrics.uncleanable_partitions
    since = metrics.time_since_last_run_ms
    if metrics.dead_threads:
        also = f"; {_marked(metrics)}, which a restart does not clear" if marked else ""
        return Diagnosis(
            Case.DEAD_THREADS,
            f"{metrics.dead_threads} of {threads} cleaner threads are dead{_ago(since)}: a restart of the threads "
            f"revives them{also}",
            restart_helps=True,
        )
    known = sum(each.uncleanable_partitions for each in metrics.log_dirs if each.uncleanable_partitions is not None)
    if known > thresholds.tolerated_uncleanable_partitions:
        return Diagnosis(
            Case.UNCLEANABLE_PARTITIONS,
            f"{_marked(metrics)}. The marks are in the broker's memory: a restart of the threads keeps them, "
            f"re-creating the replica or restarting the broker drops them{_unknown_threads(metrics)}",
        )
    if since is not None and since > thresholds.stalled_after_ms:
        if metrics.dead_threads is None:
            return Diagnosis(
                Case.UNKNOWN,
                f"no thread has looked for work for {since} ms (limit {thresholds.stalled_after_ms} ms): they are "
                f"dead, or hang, or one is in the middle of a very large log{_unknown_threads(metrics)}",
            )
        return Diagnosis(
            Case.STALLED,
            f"no thread is dead, and none has looked for work for {since} ms (limit {thresholds.stalled_after_ms} ms): "
            "it may be in the middle of a very large log, or hang. A restart loses the work on a large log, and waits "
            "for a thread that hangs: look at a thread dump of kafka-log-cleaner-thread-*",
        )
    missing = [
        name
        for name, value in (
            ("DeadThreadCount", metrics.dead_threads),
            ("uncleanable-partitions-count", marked),
            ("time-since-last-run-ms", since),
        )
        if value is None
    ]
    if missing:
        return Diagnosis(
            Case.UNKNOWN,
            f"the metrics source does not have {', '.join(missing)}: export them, or set metrics_names",
        )
    if metrics.max_dirty_percent == 0:
        return Diagnosis(Case.IDLE, f"all {threads} cleaner threads live, it ran {since} ms ago, and nothing is dirty")
    dirty = (
        "max-dirty-percent is unknown"
        if metrics.max_dirty_percent is None
        else f"the dirtiest log is dirty by {metrics.max_dirty_percent}%"
    )
    return Diagnosis(Case.HEALTHY, f"all {threads} cleaner threads live, it ran {since} ms ago, and {dirty}")


@dataclass(frozen=True, slots=True)
class CopyTrend:
    """How the size of one copy of a compacted partition went, over all looks at it.

    Of a copy that was compacted once, and has grown since by as much as makes one suspicious, over those since then.
    """

    broker_id: int
    log_dir: str
    topic: str
    partition: int
    looks: int
    span_ms: int
    """From the first look to the last."""
    first_bytes: int
    last_bytes: int
    has_shrunk: bool
    """True when it was smaller in one look than in the one before: it was compacted."""
    others_shrank: bool
    """True when another copy of the partition was, after the first of these looks."""
    smallest_copy_bytes: int | None
    """The smallest of the other copies, by the last look."""

    @property
    def has_grown(self) -> bool:
        return self.last_bytes > self.first_bytes


def infer(trends: Sequence[CopyTrend], suspects: Sequence[Suspect]) -> Diagnosis:
    """Infer the case of one broker from the sizes of its replicas."""
    if not trends:
        return _inferred(
            Case.UNKNOWN,
            "no size of a compacted partition could be read: there is none, or our principal lacks DESCRIBE on the "
            "cluster or on topics",
        )
    looks = max(each.looks for each in trends)
    seen = f"by the sizes of {len(trends)} compacted copies in {looks} looks"
    named = {(each.topic, each.partition) for each in suspects}
    others = [each for each in trends if (each.topic, each.partition) not in named]
    shrunk = sum(each.has_shrunk for each in trends)
    if suspects:
        if len(suspects) > 1 and not shrunk and not any(each.last_bytes for each in others):
            return _inferred(
                Case.DEAD_THREADS,
                f"{seen}: none was compacted, and all that hold anything are suspicious. That is what dead "
                "threads look like",
                restart_helps=True,
            )
        return _inferred(
            Case.UNCLEANABLE_PARTITIONS,
            f"{seen}: {len(suspects)} are suspicious, and others are not. That is what uncleanable partitions look "
            "like",
        )
    if shrunk:
        return _inferred(Case.HEALTHY, f"{seen}: {shrunk} were compacted, and none is suspicious")
    if looks > 1 and not any(each.has_grown for each in trends):
        return _inferred(Case.IDLE, f"{seen}: none has grown; sizes do not show whether its threads are alive")
    return _inferred(
        Case.UNKNOWN,
        f"{seen}: none is suspicious, and none was compacted meanwhile: look again later, or name a metrics source",
    )


def _inferred(case: Case, reason: str, *, restart_helps: bool = False) -> Diagnosis:
    return Diagnosis(case, f"inferred: {reason}", restart_helps=restart_helps, is_inferred=True)


def _threads(facts: CleanerFacts) -> str:
    setting = facts.settings.get(THREADS)
    return setting.value if setting is not None and setting.value is not None else "?"


def _unknown_threads(metrics: CleanerMetrics) -> str:
    if metrics.dead_threads is not None:
        return ""
    return (
        "; whether its threads are alive is unknown, since the metrics source does not have DeadThreadCount: export "
        "it, or set metrics_names"
    )


def _ago(since: int | None) -> str:
    return "" if since is None else f", the last run was {since} ms ago"


def _marked(metrics: CleanerMetrics) -> str:
    counts = [
        f"{each.uncleanable_partitions} in {each.log_dir}"
        + ("" if each.uncleanable_bytes is None else f" with {each.uncleanable_bytes} bytes to clean")
        for each in metrics.log_dirs
        if each.uncleanable_partitions
    ]
    return f"partitions are marked as uncleanable: {', '.join(counts)}"


_OFFSETS = "__consumer_offsets"
_LOOKS_OF_A_TREND = 3


def find_suspects(trends: Iterable[CopyTrend], thresholds: Thresholds) -> tuple[Suspect, ...]:
    """Return the suspicious replicas, ``__consumer_offsets`` first, then the largest first."""
    found = [
        Suspect(
            each.topic,
            each.partition,
            each.broker_id,
            each.log_dir,
            each.last_bytes,
            each.smallest_copy_bytes,
            reason,
        )
        for each in trends
        if (reason := _why(each, thresholds))
    ]
    return sort_suspects(found)


def sort_suspects(suspects: Sequence[Suspect]) -> tuple[Suspect, ...]:
    """``__consumer_offsets`` first: what fails there fails every consumer group."""
    return tuple(
        sorted(
            suspects,
            key=lambda each: (each.topic != _OFFSETS, not each.is_proven, -each.size_bytes, each.topic, each.partition),
        )
    )


def _why(trend: CopyTrend, thresholds: Thresholds) -> str:
    if trend.has_shrunk:
        return ""
    smallest = trend.smallest_copy_bytes
    if (
        smallest is not None
        and trend.last_bytes >= smallest * thresholds.suspect_ratio
        and trend.last_bytes - smallest >= thresholds.suspect_bytes
    ):
        return f"it holds {trend.last_bytes} bytes where the smallest other copy holds {smallest}"
    grown = trend.last_bytes - trend.first_bytes
    if trend.looks >= _LOOKS_OF_A_TREND and trend.others_shrank and grown >= thresholds.suspect_bytes:
        return f"it grew by {grown} bytes in {trend.span_ms} ms and was not compacted, while another copy was"
    return ""
