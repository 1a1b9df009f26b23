# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The outcome of a repair, from the broker's metrics after it."""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal import Journal
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.rollback import Rollback
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.diagnosis import Case, Diagnosis
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.facts import (
    CleanerFacts,
    CleanerMetrics,
    LogDirMetrics,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.inspection import Cleaner
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.metrics import MetricsError
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.repair import Repairer, RepairPace
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.repair_plan import PlannedRepair, RepairOutcome
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import (
    RepairStatus,
    Setting,
    SettingSource,
)
from unit.fakes.replicas import CHANGE, FakeReplicas
from unit.fakes.settings import FakeSettings

BACKOFF = {"log.cleaner.backoff.ms": Setting("1000", SettingSource.DEFAULT)}
REPAIR = PlannedRepair(CHANGE, "broker 1's copy is whole")


def _metrics(marks: int | None, since_ms: int = 100) -> CleanerMetrics:
    return CleanerMetrics(0, since_ms, 40, (LogDirMetrics("/d", marks, None),))


def _outcome(journal: Journal, marks: Sequence[int | None], *, runs: bool = True) -> tuple[RepairOutcome, float]:
    """Return the outcome for these numbers of marks, one after the other, and its duration in seconds.

    The last one is repeated. None means no answer.
    """
    replicas = FakeReplicas()
    reported = [*marks]

    def read_metrics(_broker_id: int, _host: str) -> CleanerMetrics:
        found = reported.pop(0) if len(reported) > 1 else reported[0]
        if found is None:
            raise MetricsError("it cannot be reached")
        # It runs once a second, or its last run was an hour ago.
        return _metrics(found, int(replicas.clock.now * 1000) % 1000 if runs else 3_600_000)

    cleaner = Cleaner(CleanerFacts(3, "kafka3", _metrics(1), "", BACKOFF), Diagnosis(Case.UNCLEANABLE_PARTITIONS, ""))
    pace = RepairPace(max_concurrent=1, throttle_bytes_per_second=None, verify_timeout_s=30)
    repairer = Repairer({3: cleaner}, read_metrics, pace, replicas.safeguard())
    maker = replicas.maker(journal)
    rollback = Rollback.of(maker.writer, maker.living, journal, progress=maker.progress, stop=replicas.stop)
    (outcome,) = repairer.carry_out([REPAIR], maker, FakeSettings().writer(), rollback)
    return outcome, replicas.clock.now


def test_a_replica_is_restored_if_the_mark_stays_after_several_passes(journal: Journal) -> None:
    """The cleaner runs every second, and the time limit of the repair is 60 s."""
    outcome, seconds = _outcome(journal, [1])
    assert outcome.status is RepairStatus.FAILED
    assert "still has 1 mark, as many as before: the mark is not this replica's; restored" in outcome.reason
    assert seconds < 15


def test_a_cleaner_that_does_not_run_is_waited_for(journal: Journal) -> None:
    outcome, seconds = _outcome(journal, [1], runs=False)
    assert "still has the mark: do its threads run? at its deadline" in outcome.reason
    assert seconds >= 60


def test_a_mark_is_watched_for_two_passes(journal: Journal) -> None:
    outcome, seconds = _outcome(journal, [1, 0])
    assert (outcome.status, outcome.verified_by) == (RepairStatus.REPAIRED, "metrics")
    assert "marks on the broker: 1 → 0" in outcome.reason
    assert 2 <= seconds < 10


def test_a_repair_fails_if_the_mark_returns(journal: Journal) -> None:
    outcome, _seconds = _outcome(journal, [1, 0, 0, 0, 0, 1])
    assert outcome.status is RepairStatus.FAILED
    assert "still marks as many partitions (1)" in outcome.reason


def test_a_repair_fails_if_the_metrics_disappear(journal: Journal) -> None:
    outcome, seconds = _outcome(journal, [1, 0, 0, None])
    assert outcome.status is RepairStatus.FAILED
    assert seconds >= 30
