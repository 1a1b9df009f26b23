# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The throttle of repairs: with another party's throttle, for each broker, until no replica is copied."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal import Journal
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import (
    AnyLeftover,
    Leftover,
    ReplicaChange,
    Undoing,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.replica_sets import ReplicaSets
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.rollback import (
    Rollback,
    conflict_warnings,
    failure_message,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.sender import Writer
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.throttle import Throttle
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import NullProgress
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import THROTTLE_RATE, THROTTLED_REPLICAS
from unit.fakes.settings import ADDRESSES, FakeSettings

ON_THREE = ReplicaChange("t", 0, "A" * 22, 3, (3, 1, 2), 1, 3)
ON_TWO = ReplicaChange("u", 4, "B" * 22, 2, (2, 1, 3), 1, 2)


def undone(
    settings: FakeSettings, journal: Journal, restore_replica: Callable[[ReplicaChange], tuple[Undoing, str]]
) -> tuple[AnyLeftover, ...]:
    """Undo the pending changes, with this function for replicas."""

    class Replicas(ReplicaSets):
        def is_dropped(self, change: ReplicaChange) -> bool:
            return True

        def restore_replica(self, change: ReplicaChange) -> Leftover[ReplicaChange]:
            return Leftover(change, *restore_replica(change))

    writer = Writer(settings, [*ADDRESSES.values()], 2, 1.0)
    replicas = Replicas(writer, ADDRESSES, journal, 1.0, threading.Event(), NullProgress())
    rollback = Rollback(journal, writer, settings.writer(), replicas, settings.clock.monotonic())
    return rollback.undo_now()


def test_a_throttle_is_applied_and_removed(settings: FakeSettings, journal: Journal) -> None:
    throttle = Throttle(settings.writer(), journal)
    assert throttle.apply(5000, [ON_THREE, ON_TWO]) == {}
    assert settings.values == {
        ("2", THROTTLE_RATE): "5000",
        ("3", THROTTLE_RATE): "5000",
        ("t", THROTTLED_REPLICAS): "0:3",
        ("u", THROTTLED_REPLICAS): "4:2",
    }
    assert throttle.remove() == []
    assert (settings.values, journal.pending) == ({}, ())


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (
            {("t", THROTTLED_REPLICAS): "7:1,0:2"},
            {("t", THROTTLED_REPLICAS): "7:1,0:2,0:3", ("3", THROTTLE_RATE): "5000"},
        ),
        ({("t", THROTTLED_REPLICAS): "*"}, {("t", THROTTLED_REPLICAS): "*", ("3", THROTTLE_RATE): "5000"}),
        ({("3", THROTTLE_RATE): "100"}, {("t", THROTTLED_REPLICAS): "0:3", ("3", THROTTLE_RATE): "100"}),
        ({("3", THROTTLE_RATE): "900000"}, {("t", THROTTLED_REPLICAS): "0:3", ("3", THROTTLE_RATE): "5000"}),
    ],
    ids=["a list", "all replicas", "a lower rate", "a higher rate"],
)
def test_another_partys_throttle_is_kept_and_restored(
    settings: FakeSettings,
    journal: Journal,
    theirs: dict[tuple[str, str], str],
    ours: dict[tuple[str, str], str],
) -> None:
    settings.values |= theirs
    throttle = Throttle(settings.writer(), journal)
    assert throttle.apply(5000, [ON_THREE]) == {}
    assert settings.values == ours
    assert throttle.remove() == []
    assert settings.values == theirs


@pytest.mark.parametrize("fault", ["silent", "refused"])
def test_a_broker_that_cannot_be_throttled_does_not_stop_others(
    settings: FakeSettings, journal: Journal, fault: str
) -> None:
    getattr(settings, fault).add("3")
    throttle = Throttle(settings.writer(), journal)
    faults = throttle.apply(5000, [ON_THREE, ON_TWO])
    assert [*faults] == [ON_THREE]
    assert "it cannot be throttled" in faults[ON_THREE]
    assert settings.values == {("2", THROTTLE_RATE): "5000", ("u", THROTTLED_REPLICAS): "4:2"}
    assert throttle.remove() == []
    assert (settings.values, journal.pending) == ({}, ())


def test_a_throttle_stays_until_no_replica_is_copied(settings: FakeSettings, journal: Journal) -> None:
    """A replica whose undo failed stays in the journal, also in a later run that cannot restore it."""
    throttle = Throttle(settings.writer(), journal)
    throttle.apply(5000, [ON_THREE, ON_TWO])
    journal.begin([ON_THREE])
    on = {("3", THROTTLE_RATE): "5000", ("t", THROTTLED_REPLICAS): "0:3"}
    stuck = throttle.remove()
    assert settings.values == on
    assert {each.change.resource for each in stuck} == {"3", "t"}
    assert all("until the replica of t-0 on broker 3 is restored" in each.reason for each in stuck)

    found = undone(settings, journal, lambda _change: (Undoing.FAILED, "it does not answer"))
    assert {each.undoing for each in found} == {Undoing.FAILED}
    assert settings.values == on

    found = undone(settings, journal, lambda _change: (Undoing.RESTORED, "it is restored"))
    assert {each.undoing for each in found} == {Undoing.RESTORED}
    assert (settings.values, journal.pending) == ({}, ())


def test_the_throttle_of_a_broker_that_died_waits_in_the_journal(settings: FakeSettings, journal: Journal) -> None:
    """It fails nobody's run meanwhile, and is removed by the first run that finds the broker up."""
    throttle = Throttle(settings.writer(), journal)
    throttle.apply(5000, [ON_THREE, ON_TWO])
    alive = {each: address for each, address in ADDRESSES.items() if each != ON_THREE.broker_id}
    throttle.writer = replace(throttle.writer, living=alive)
    (stuck,) = throttle.remove()
    assert (stuck.change.resource, stuck.undoing) == ("3", Undoing.WAITS)
    assert settings.values == {("3", THROTTLE_RATE): "5000"}
    assert journal.pending == (stuck.change,)
    assert failure_message([], [stuck]) == ""
    assert "broker 3 does not answer" in conflict_warnings([], [stuck])[0]

    back = undone(settings, journal, lambda _change: (Undoing.FAILED, ""))
    assert {each.undoing for each in back} == {Undoing.RESTORED}
    assert settings.values == {}
    assert [*journal.pending] == []
