# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A replica is changed only if it is as planned, and its change stays pending until it is restored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal import Journal
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import ReplicaChange, Undoing
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.replica_sets import StepError
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.rollback import Rollback
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.diagnosis import Case, Diagnosis
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.facts import (
    CleanerFacts,
    CleanerMetrics,
    LogDirMetrics,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.inspection import Cleaner
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.marks import MarkedReplica
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.replica import UnsafeError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.copy_reading import CopyCheck
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.error_codes import (
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
    error_name,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Reassignment
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import RepairStatus
from unit.fakes.replicas import CHANGE, TARGET, FakeReplicas

SOURCE_FIRST = (1, 3, 2)


@pytest.fixture
def replicas() -> FakeReplicas:
    return FakeReplicas()


def _recreate(replicas: FakeReplicas, journal: Journal) -> None:
    replicas.maker(journal).recreate(CHANGE, replicas.safeguard(), lambda _seconds: True)


def isr_shrinks(replicas: FakeReplicas) -> None:
    replicas.change(isr=(1, 3))


def source_falls_behind(replicas: FakeReplicas) -> None:
    replicas.change(isr=(2, 3))


def min_isr_is_raised(replicas: FakeReplicas) -> None:
    replicas.min_isr = "3"


def recreated(replicas: FakeReplicas) -> None:
    replicas.change(topic_id="B" * 22)


def another_party_reassigns(replicas: FakeReplicas) -> None:
    replicas.is_reassigning = True
    replicas.change(replicas=(*replicas.state.replicas, 4))


INTERFERENCES = [
    (isr_shrinks, "only 1 in-sync copies stay"),
    (source_falls_behind, "broker 1, the source of the copy, is not in sync"),
    (min_isr_is_raised, "fewer than its min.insync.replicas of 3"),
    (recreated, "the topic was re-created"),
    (another_party_reassigns, "a reassignment of it is running"),
]


def test_an_unchanged_replica_is_re_created(replicas: FakeReplicas, journal: Journal) -> None:
    _recreate(replicas, journal)
    assert replicas.writes == [SOURCE_FIRST, (1, 2), CHANGE.original, CHANGE.original]
    assert (replicas.state.replicas, replicas.state.leader_id) == (CHANGE.original, CHANGE.leader)
    assert journal.pending == ()


@pytest.mark.parametrize(("interfere", "said"), INTERFERENCES)
def test_nothing_is_written_if_the_replica_has_changed_since_the_plan(
    replicas: FakeReplicas, journal: Journal, interfere: Callable[[FakeReplicas], None], said: str
) -> None:
    interfere(replicas)
    with pytest.raises(UnsafeError, match=said):
        _recreate(replicas, journal)
    assert replicas.writes == []
    assert journal.pending == ()


@pytest.mark.parametrize(("interfere", "said"), INTERFERENCES[:3])
def test_no_replica_is_dropped_after_a_change_during_the_election(
    replicas: FakeReplicas, journal: Journal, interfere: Callable[[FakeReplicas], None], said: str
) -> None:
    replicas.after_elect = lambda: interfere(replicas)
    with pytest.raises(UnsafeError, match=f"{said}.*; restored"):
        _recreate(replicas, journal)
    assert replicas.writes[:2] == [SOURCE_FIRST, CHANGE.original]
    assert {*replicas.writes[2:]} <= {CHANGE.original}
    assert journal.pending == ()


def test_another_partys_reassignment_is_neither_overridden_nor_canceled(
    replicas: FakeReplicas, journal: Journal
) -> None:
    replicas.after_elect = lambda: another_party_reassigns(replicas)
    with pytest.raises(StepError, match=r"a reassignment of it is running.*; conflict"):
        _recreate(replicas, journal)
    assert replicas.writes == [SOURCE_FIRST]
    assert replicas.is_reassigning


@pytest.mark.parametrize(
    ("running", "writes"),
    [
        pytest.param(Reassignment(adding=(3,)), [CHANGE.original], id="a copy goes on, however often runs end"),
        pytest.param(Reassignment(removing=(3,)), [None, CHANGE.original], id="a drop is canceled"),
    ],
)
def test_an_undo_never_deletes_what_was_copied(
    replicas: FakeReplicas, journal: Journal, running: Reassignment, writes: list[tuple[int, ...] | None]
) -> None:
    """The copy may take longer than the time limit of a repair, and than that of every later run."""
    journal.begin([CHANGE])
    replicas.is_reassigning, replicas.reassignment = True, running
    replicas.change(isr=(1, 2), leader_id=1)
    replicas.maker(journal).restore_replica(CHANGE)
    assert replicas.writes[: len(writes)] == writes


@pytest.mark.parametrize(
    ("code", "undoing"), [(TOPIC_AUTHORIZATION_FAILED, Undoing.FAILED), (UNKNOWN_TOPIC_OR_PARTITION, Undoing.GONE)]
)
def test_a_change_ends_only_if_the_topic_is_known_to_be_deleted(
    replicas: FakeReplicas, journal: Journal, code: int, undoing: Undoing
) -> None:
    journal.begin([CHANGE])
    replicas.refused_with = code
    maker = replicas.maker(journal)
    rollback = Rollback.of(maker.writer, maker.living, journal, progress=maker.progress, stop=replicas.stop)
    (found,) = rollback.undo()
    assert found.undoing is undoing
    assert (error_name(code) in found.reason) is (undoing is Undoing.FAILED)
    assert (CHANGE in journal.pending) is (undoing is Undoing.FAILED)
    assert replicas.writes == []


def test_a_replica_of_a_re_created_topic_is_not_restored(replicas: FakeReplicas, journal: Journal) -> None:
    """The new topic happens to have the remaining replicas."""
    journal.begin([CHANGE])
    replicas.change(replicas=CHANGE.without_replica, isr=(1, 2), leader_id=1, topic_id="B" * 22)
    maker = replicas.maker(journal)
    rollback = Rollback.of(maker.writer, maker.living, journal, progress=maker.progress, stop=replicas.stop)
    (found,) = rollback.undo()
    assert found.undoing is Undoing.GONE
    assert f"re-created (id {'B' * 22}) when the replicas [1, 2] of the deleted topic were requested" in found.reason
    assert (replicas.writes, journal.pending) == ([], ())


@pytest.mark.parametrize(
    ("code", "said"),
    [(TOPIC_AUTHORIZATION_FAILED, "cannot be looked at: TOPIC_AUTHORIZATION_FAILED"), (3, "does not exist")],
)
def test_a_plan_names_hidden_topics(replicas: FakeReplicas, code: int, said: str) -> None:
    replicas.refused_with = code
    repairs, outcomes = replicas.planner().plan([TARGET])
    assert repairs == []
    assert [each.status for each in outcomes] == [RepairStatus.REFUSED]
    assert said in outcomes[0].reason


WHOLE = CopyCheck("", 50, is_complete=True)
CUT_OFF = CopyCheck("", 100, is_complete=False, note="only the first 100 bytes were read")
DAMAGED = CopyCheck("the batch after offset 6 has a wrong checksum", 60, is_complete=True)


@pytest.mark.parametrize(
    ("own", "force", "status"),
    [
        (DAMAGED, False, None),
        (WHOLE, False, RepairStatus.NOT_NEEDED),
        (CUT_OFF, False, RepairStatus.REFUSED),
        (CUT_OFF, True, None),
    ],
    ids=["damaged", "whole", "cut off", "forced"],
)
def test_without_metrics_only_damage_or_force_is_a_reason(
    replicas: FakeReplicas, own: CopyCheck, force: bool, status: RepairStatus | None
) -> None:
    replicas.checks = {TARGET.broker_id: own}
    repairs, outcomes = replicas.planner(force=force).plan([TARGET])
    assert [each.change for each in repairs] == ([] if status else [CHANGE])
    assert [each.status for each in outcomes] == ([status] if status else [])
    assert all("set force" in each.reason for each in outcomes)


@pytest.mark.parametrize(
    ("metrics", "force", "status", "said"),
    [
        (CleanerMetrics(0, 100, 40, (LogDirMetrics("/d", 1, None),)), False, None, ""),
        (
            CleanerMetrics(0, 100, 40, (LogDirMetrics("/d", 0, 0), LogDirMetrics("/other", 2, None))),
            False,
            RepairStatus.NOT_NEEDED,
            "in /d, where its copy is, only in /other",
        ),
        (CleanerMetrics(0, 100, 40, (LogDirMetrics("/d", 0, 0), LogDirMetrics("/other", 2, None))), True, None, ""),
        (
            CleanerMetrics(0, 100, 40, (LogDirMetrics("/other", 2, None),)),
            False,
            RepairStatus.REFUSED,
            "does not say how many partitions are marked in /d",
        ),
        (
            CleanerMetrics(None, 100, 40, (LogDirMetrics("/d", 1, None),)),
            False,
            RepairStatus.REFUSED,
            "DeadThreadCount. Dead threads would not clear the mark: export the metric, set metrics_names, or set "
            "force of the module log_cleaner_repair",
        ),
        (CleanerMetrics(None, 100, 40, (LogDirMetrics("/d", 1, None),)), True, None, ""),
        (CleanerMetrics(1, 100, 40, (LogDirMetrics("/d", 1, None),)), True, RepairStatus.REFUSED, "restart them first"),
    ],
)
def test_a_named_replica_needs_a_mark_in_its_own_directory_or_force(
    replicas: FakeReplicas, metrics: CleanerMetrics, force: bool, status: RepairStatus | None, said: str
) -> None:
    planner = replicas.planner(force=force)
    facts = CleanerFacts(TARGET.broker_id, "kafka3", metrics, "")
    cleaners = {TARGET.broker_id: Cleaner(facts, Diagnosis(Case.UNCLEANABLE_PARTITIONS, ""))}
    repairs, outcomes = replace(planner, cleaners=cleaners).plan([TARGET])
    assert len(repairs) == (status is None)
    assert [each.status for each in outcomes] == ([status] if status else [])
    assert all(said in each.reason for each in outcomes)


_LAST = replace(CHANGE, original=(1, 2, 3))
"""The controller lists the last replica at its place while it is dropped."""


@pytest.mark.parametrize(
    ("change", "seen", "is_reassigning", "is_dropped"),
    [
        (CHANGE, {"replicas": (1, 2)}, False, True),
        (CHANGE, {"replicas": (1, 2, 3)}, True, True),
        (CHANGE, {"replicas": (3, 1, 2)}, False, False),
        (CHANGE, {"replicas": (3, 1, 2)}, True, False),
        (CHANGE, {"replicas": (2, 1)}, False, False),
        (CHANGE, {"replicas": (1, 2), "topic_id": "B" * 22}, False, False),
        (_LAST, {"replicas": (1, 2, 3)}, True, True),
        (_LAST, {"replicas": (1, 2, 3)}, False, False),
    ],
)
def test_a_replica_counts_as_dropped_only_in_the_orders_that_a_run_requests(
    replicas: FakeReplicas,
    journal: Journal,
    change: ReplicaChange,
    seen: dict[str, Any],
    *,
    is_reassigning: bool,
    is_dropped: bool,
) -> None:
    """Another order, or a re-created topic, belongs to another party."""
    replicas.change(**seen)
    replicas.is_reassigning = is_reassigning
    assert replicas.maker(journal).is_dropped(change) is is_dropped


@pytest.mark.parametrize("code", [TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION])
def test_a_replica_that_cannot_be_read_does_not_count_as_dropped(
    replicas: FakeReplicas, journal: Journal, code: int
) -> None:
    replicas.change(replicas=(1, 2))
    replicas.refused_with = code
    assert not replicas.maker(journal).is_dropped(CHANGE)


def test_a_stopped_run_reads_no_more_copies_and_plans_nothing(replicas: FakeReplicas) -> None:
    replicas.after_read = replicas.stop.set
    repairs, outcomes = replicas.planner(force=True).plan([TARGET, MarkedReplica("t", 0, 2)])
    assert repairs == []
    assert [each.status for each in outcomes] == [RepairStatus.STOPPED, RepairStatus.STOPPED]
    assert replicas.read == [1]
