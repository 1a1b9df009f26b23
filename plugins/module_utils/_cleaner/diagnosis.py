# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Diagnose a log cleaner from its metrics or from the sizes of copies, and find copies of suspicious size.

Pure functions; standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from .._model.partition import OFFSETS_TOPIC
from .._model.reasons import plural
from .facts import ENABLE, THREADS, CleanerFacts, CleanerMetrics, Suspect


class Case(StrEnum):
    """The state of a broker's log cleaner."""

    HEALTHY = "healthy"
    IDLE = "idle"
    """It runs, and no log is dirty."""
    DEAD_THREADS = "dead_threads"
    UNCLEANABLE_PARTITIONS = "uncleanable_partitions"
    STALLED = "stalled"
    """Its threads are alive, but none has looked for work for a long time."""
    UNKNOWN = "unknown"


HEALTHY_CASES = frozenset({Case.HEALTHY, Case.IDLE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """The limits above which something is wrong."""

    stalled_after_ms: int = 900_000
    """Milliseconds without a run. A thread that cleans one very large log does not begin a run either."""
    tolerated_uncleanable_partitions: int = 0
    suspect_ratio: float = 2.0
    """A copy is suspicious if it is this many times as large as the partition's smallest copy..."""
    suspect_bytes: int = 64 << 20
    """...and larger by this many bytes."""


DEFAULT_THRESHOLDS = Thresholds()


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The case of a broker, with the reason."""

    case: Case
    reason: str
    restart_helps: bool = False
    is_inferred: bool = False
    """Whether it was inferred from sizes, without the cleaner's metrics."""


def diagnose(facts: CleanerFacts, thresholds: Thresholds) -> Diagnosis:
    """Return the most urgent case that the cleaner's metrics show."""
    if facts.is_switched_off:
        return Diagnosis(
            Case.UNKNOWN, f"{ENABLE} is false: this broker has no cleaner; set it to true and restart the broker"
        )
    if facts.metrics is None:
        return Diagnosis(Case.UNKNOWN, facts.metrics_error or "it has no metrics")
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
            f"{_marked(metrics)}. The marks are in the broker's memory. A restart of the threads does not clear them. "
            f"Re-create the replicas, or restart the broker{_unknown_threads(metrics)}",
        )
    if since is not None and since > thresholds.stalled_after_ms:
        if metrics.dead_threads is None:
            return Diagnosis(
                Case.UNKNOWN,
                f"no thread has looked for work for {since} ms (limit {thresholds.stalled_after_ms} ms): the threads "
                f"are dead, or hang, or clean a very large log{_unknown_threads(metrics)}",
            )
        return Diagnosis(
            Case.STALLED,
            f"no thread is dead, but none has looked for work for {since} ms (limit {thresholds.stalled_after_ms} ms): "
            "they clean a very large log, or hang. A restart would lose the work on that log, or wait for the hanging "
            "thread. Look at a thread dump of kafka-log-cleaner-thread-*",
        )
    missing = [
        name
        for name, value in (
            ("DeadThreadCount", metrics.dead_threads),
            ("uncleanable-partitions-count with its logDirectory", marked),
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
    """The sizes of one copy of a compacted partition over all looks.

    If the copy was compacted and has since grown by the suspicious number of bytes, only the looks since then count.
    """

    broker_id: int
    log_dir: str
    topic: str
    partition: int
    looks: int
    span_ms: int
    """The time from the first look to the last."""
    first_bytes: int
    last_bytes: int
    has_shrunk: bool
    """Whether it was compacted: one look showed it smaller than the look before."""
    others_shrank: bool
    """Whether another copy of the partition was compacted after the first of these looks."""
    smallest_copy_bytes: int | None
    """The size of the smallest other copy in the last look."""

    @property
    def has_grown(self) -> bool:
        return self.last_bytes > self.first_bytes


_MORE_LOOKS = (
    "set metrics_source and metrics_url. Or set evidence_dir, which keeps the looks, and run this again in some hours"
)


def infer(trends: Sequence[CopyTrend], suspects: Sequence[Suspect], how_to_know: str = _MORE_LOOKS) -> Diagnosis:
    """Infer the case of a broker from the sizes of its copies. ``how_to_know`` is advice for too few looks."""
    if not trends:
        return _inferred(
            Case.UNKNOWN,
            "no size of a compacted partition could be read: there is none, or our principal lacks DESCRIBE on the "
            "cluster or on topics",
        )
    looks = max(each.looks for each in trends)
    copies = "1 compacted copy" if len(trends) == 1 else f"{len(trends):,} compacted copies"
    seen = f"by the sizes of {copies} in {plural(looks, 'look')}"
    named = {(each.topic, each.partition) for each in suspects}
    others = [each for each in trends if (each.topic, each.partition) not in named]
    shrunk = sum(each.has_shrunk for each in trends)
    if suspects:
        if len(suspects) > 1 and not shrunk and not any(each.last_bytes for each in others):
            return _inferred(
                Case.DEAD_THREADS,
                f"{seen}: none was compacted, and all copies with records are suspicious, which indicates dead threads",
                restart_helps=True,
            )
        return _inferred(
            Case.UNCLEANABLE_PARTITIONS,
            f"{seen}: {len(suspects)} are suspicious, and others are not, which indicates uncleanable partitions",
        )
    if shrunk:
        return _inferred(Case.HEALTHY, f"{seen}: {shrunk} were compacted, and none is suspicious")
    if looks > 1 and not any(each.has_grown for each in trends):
        return _inferred(Case.IDLE, f"{seen}: none has grown. Sizes do not show whether the threads are alive")
    return _inferred(
        Case.UNKNOWN,
        f"{seen}: none is suspicious, and none was compacted in this time: {how_to_know}",
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
        "; whether its threads are alive is unknown, because the metrics source does not have DeadThreadCount: export "
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


_LOOKS_OF_A_TREND = 3


def find_suspects(trends: Iterable[CopyTrend], thresholds: Thresholds) -> tuple[Suspect, ...]:
    """Return the suspicious copies: first of ``__consumer_offsets``, which all consumer groups need, then by size."""
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
        if (reason := _suspicion(each, thresholds))
    ]
    found.sort(key=lambda each: (each.topic != OFFSETS_TOPIC, -each.size_bytes, each.topic, each.partition))
    return tuple(found)


def _suspicion(trend: CopyTrend, thresholds: Thresholds) -> str:
    """Return why a copy is suspicious; empty if it is not."""
    if trend.has_shrunk:
        return ""
    smallest = trend.smallest_copy_bytes
    if (
        smallest is not None
        and trend.last_bytes >= smallest * thresholds.suspect_ratio
        and trend.last_bytes - smallest >= thresholds.suspect_bytes
    ):
        return f"it has {trend.last_bytes} bytes, and the smallest other copy has {smallest}"
    grown = trend.last_bytes - trend.first_bytes
    if trend.looks >= _LOOKS_OF_A_TREND and trend.others_shrank and grown >= thresholds.suspect_bytes:
        return f"it grew by {grown} bytes in {trend.span_ms} ms and was not compacted, while another copy was"
    return ""
