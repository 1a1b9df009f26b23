# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The diagnosis: one case, also if some metrics are unknown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.diagnosis import (
    Case,
    CopyTrend,
    Thresholds,
    diagnose,
    find_suspects,
    infer,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.facts import (
    CleanerFacts,
    CleanerMetrics,
    LogDirMetrics,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import Setting, SettingSource

LIMITS = Thresholds(stalled_after_ms=900_000, tolerated_uncleanable_partitions=0, suspect_ratio=2.0, suspect_bytes=100)
HEALTHY = CleanerMetrics(0, 1000, 40, (LogDirMetrics("/a", 0, 0), LogDirMetrics("/b", 0, 0)))
MARKED = replace(HEALTHY, log_dirs=(LogDirMetrics("/a", 0, 0), LogDirMetrics("/b", 2, None)))
SETTINGS = {"log.cleaner.threads": Setting("2", SettingSource.STATIC)}


def facts(metrics: CleanerMetrics | None, **settings: str) -> CleanerFacts:
    return CleanerFacts(1, "kafka1", metrics, "" if metrics else "it cannot be reached", SETTINGS)


@pytest.mark.parametrize(
    ("metrics", "case", "helps", "said"),
    [
        (HEALTHY, Case.HEALTHY, False, "dirty by 40%"),
        (replace(HEALTHY, max_dirty_percent=None), Case.HEALTHY, False, "is unknown"),
        (replace(HEALTHY, max_dirty_percent=0), Case.IDLE, False, "nothing is dirty"),
        (
            replace(HEALTHY, dead_threads=1),
            Case.DEAD_THREADS,
            True,
            "1 of 2 cleaner threads are dead, the last run was",
        ),
        (
            replace(HEALTHY, dead_threads=1, time_since_last_run_ms=None),
            Case.DEAD_THREADS,
            True,
            "1 of 2 cleaner threads are dead: a restart",
        ),
        (replace(MARKED, dead_threads=1), Case.DEAD_THREADS, True, "does not clear"),
        (MARKED, Case.UNCLEANABLE_PARTITIONS, False, "2 in /b. "),
        (replace(MARKED, time_since_last_run_ms=10**9), Case.UNCLEANABLE_PARTITIONS, False, "2 in /b"),
        (
            replace(HEALTHY, log_dirs=(LogDirMetrics("/a", 0, 0), LogDirMetrics("/b", 2, 70))),
            Case.UNCLEANABLE_PARTITIONS,
            False,
            "2 in /b with 70 bytes to clean.",
        ),
        (replace(HEALTHY, time_since_last_run_ms=900_000), Case.HEALTHY, False, "it ran 900000 ms ago"),
        (replace(HEALTHY, time_since_last_run_ms=900_001), Case.STALLED, False, "900001 ms"),
        (
            replace(HEALTHY, time_since_last_run_ms=900_001, dead_threads=None),
            Case.UNKNOWN,
            False,
            "whether its threads are alive is unknown",
        ),
        (
            replace(MARKED, dead_threads=None),
            Case.UNCLEANABLE_PARTITIONS,
            False,
            "whether its threads are alive is unknown",
        ),
        (replace(HEALTHY, time_since_last_run_ms=None), Case.UNKNOWN, False, "time-since-last-run-ms"),
        (replace(HEALTHY, dead_threads=None), Case.UNKNOWN, False, "DeadThreadCount"),
        (replace(HEALTHY, log_dirs=()), Case.UNKNOWN, False, "uncleanable-partitions-count"),
        (
            replace(HEALTHY, log_dirs=(LogDirMetrics("/a", 0, 0), LogDirMetrics("/b", None, 7))),
            Case.UNKNOWN,
            False,
            "uncleanable-partitions-count",
        ),
        (None, Case.UNKNOWN, False, "it cannot be reached"),
    ],
)
def test_each_case(metrics: CleanerMetrics | None, case: Case, helps: bool, said: str) -> None:
    found = diagnose(facts(metrics), LIMITS)
    assert (found.case, found.restart_helps, found.is_inferred) == (case, helps, False)
    assert said in found.reason


def test_an_unknown_number_of_threads() -> None:
    for settings in ({}, {"log.cleaner.threads": Setting(None, SettingSource.STATIC)}):
        assert "all ? cleaner threads live" in diagnose(replace(facts(HEALTHY), settings=settings), LIMITS).reason


def test_marks_up_to_the_threshold_are_tolerated() -> None:
    assert diagnose(facts(MARKED), replace(LIMITS, tolerated_uncleanable_partitions=2)).case is Case.HEALTHY
    assert diagnose(facts(MARKED), replace(LIMITS, tolerated_uncleanable_partitions=1)).case is not Case.HEALTHY


def test_a_cleaner_that_is_switched_off() -> None:
    off = replace(facts(HEALTHY), settings={"log.cleaner.enable": Setting("false", SettingSource.STATIC)})
    assert diagnose(off, LIMITS).case is Case.UNKNOWN
    assert "log.cleaner.enable" in diagnose(off, LIMITS).reason


def trend(topic: str, last: int, **others: object) -> CopyTrend:
    plain = CopyTrend(1, "/a", topic, 0, 3, 60_000, last, last, False, False, None)
    return replace(plain, **others)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("trends", "case", "suspects"),
    [
        ([], Case.UNKNOWN, []),
        ([trend("a", 10)], Case.IDLE, []),
        ([trend("a", 10, looks=1)], Case.UNKNOWN, []),
        ([trend("a", 10, looks=2)], Case.IDLE, []),
        ([trend("a", 10, first_bytes=5)], Case.UNKNOWN, []),
        ([trend("a", 10, has_shrunk=True)], Case.HEALTHY, []),
        ([trend("a", 900, smallest_copy_bytes=300), trend("b", 10)], Case.UNCLEANABLE_PARTITIONS, ["a"]),
        ([trend("a", 900, smallest_copy_bytes=300), trend("b", 0)], Case.UNCLEANABLE_PARTITIONS, ["a"]),
        (
            [
                trend("b", 2000, smallest_copy_bytes=300),
                trend("a", 900, smallest_copy_bytes=300),
                trend("__consumer_offsets", 700, smallest_copy_bytes=300),
            ],
            Case.DEAD_THREADS,
            ["__consumer_offsets", "b", "a"],
        ),
        (
            [trend("a", 900, smallest_copy_bytes=300), trend("b", 900, smallest_copy_bytes=300)],
            Case.DEAD_THREADS,
            ["a", "b"],
        ),
        # Exactly at the limits, and just below them.
        ([trend("a", 600, smallest_copy_bytes=300), trend("b", 1)], Case.UNCLEANABLE_PARTITIONS, ["a"]),
        ([trend("a", 599, smallest_copy_bytes=300)], Case.IDLE, []),
        ([trend("a", 150, smallest_copy_bytes=50), trend("b", 1)], Case.UNCLEANABLE_PARTITIONS, ["a"]),
        ([trend("a", 149, smallest_copy_bytes=50)], Case.IDLE, []),
        # Not much larger, or compacted.
        ([trend("a", 90, smallest_copy_bytes=10)], Case.IDLE, []),
        ([trend("a", 900, smallest_copy_bytes=300, has_shrunk=True)], Case.HEALTHY, []),
        # There is no smaller copy now, but another copy was compacted.
        ([trend("a", 900, first_bytes=100, others_shrank=True), trend("b", 1)], Case.UNCLEANABLE_PARTITIONS, ["a"]),
        ([trend("a", 900, first_bytes=800, others_shrank=True), trend("b", 1)], Case.UNCLEANABLE_PARTITIONS, ["a"]),
        ([trend("a", 900, first_bytes=801, others_shrank=True)], Case.UNKNOWN, []),
        ([trend("a", 900, first_bytes=100, others_shrank=True, looks=2)], Case.UNKNOWN, []),
        ([trend("a", 900, first_bytes=100)], Case.UNKNOWN, []),
    ],
)
def test_a_diagnosis_from_sizes_is_inferred(trends: list[CopyTrend], case: Case, suspects: list[str]) -> None:
    found = find_suspects(trends, LIMITS)
    assert [each.topic for each in found] == suspects
    diagnosis = infer(trends, found)
    assert diagnosis.case is case
    assert diagnosis.is_inferred
    assert diagnosis.reason.startswith("inferred: ")
    assert diagnosis.restart_helps == (case is Case.DEAD_THREADS)


def test_suspects_are_sorted_by_importance() -> None:
    """First consumer offsets, then by size, then by name."""
    sizes = {"b": 700, "a": 700, "y": 900, "__consumer_offsets": 600}
    found = find_suspects([trend(topic, size, smallest_copy_bytes=300) for topic, size in sizes.items()], LIMITS)
    assert [each.topic for each in found] == ["__consumer_offsets", "y", "a", "b"]
