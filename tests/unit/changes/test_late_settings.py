# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Late requests of a killed run for settings and replicas (``test_doubt`` has those for orders)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal import Journal
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import (
    AnyLeftover,
    SettingChange,
    Undoing,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.rollback import Rollback
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.sender import Writer
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import NullProgress
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import THROTTLE_RATE
from unit.fakes.replicas import CHANGE, FakeReplicas
from unit.fakes.settings import ADDRESSES, FakeSettings

FORWARDED_FOR_S = 61
"""60 s plus the request timeout of the fakes."""


def roll_back(kafka: FakeReplicas | FakeSettings, journal: Journal) -> Sequence[AnyLeftover]:
    writer = Writer(kafka, [*ADDRESSES.values()], attempts=2, verify_timeout_s=5)
    stop = threading.Event()
    return Rollback.of(writer, ADDRESSES, journal, progress=NullProgress(), stop=stop, timeout_s=60).undo()


RATE = SettingChange("broker", "3", THROTTLE_RATE, None, "5000")


@pytest.mark.parametrize("original", [None, "700"])
def test_a_late_setting_is_undone(settings: FakeSettings, journal: Journal, original: str | None) -> None:
    change = replace(RATE, original=original)
    journal.begin([change])
    if original is not None:
        settings.values["3", THROTTLE_RATE] = original
    settings.late.append((40, ("3", THROTTLE_RATE), "5000"))
    (undone,) = roll_back(settings, journal)
    assert (undone.undoing, "executed late" in undone.reason) == (Undoing.RESTORED, True)
    assert settings.values.get(("3", THROTTLE_RATE)) == original
    assert journal.pending == ()


def test_a_setting_change_that_is_not_executed_late_ends_after_the_wait(
    settings: FakeSettings, journal: Journal
) -> None:
    journal.begin([RATE])
    (undone,) = roll_back(settings, journal)
    assert undone.undoing is Undoing.ALREADY_BACK
    assert settings.writes == [("3", THROTTLE_RATE, None)] * 2, "it is restored once more, because a read may lag"
    assert settings.clock.now >= FORWARDED_FOR_S
    assert journal.pending == ()


@pytest.mark.parametrize("replicas", [(1, 3, 2), (1, 2)], ids=["the leader is moved", "the replica is dropped"])
def test_a_replica_that_is_dropped_late_is_restored(journal: Journal, replicas: tuple[int, ...]) -> None:
    cluster = FakeReplicas()
    journal.begin([CHANGE])
    cluster.late.append((40, replicas))
    (undone,) = roll_back(cluster, journal)
    assert undone.undoing is Undoing.RESTORED
    assert (cluster.state.replicas, cluster.state.leader_id) == (CHANGE.original, CHANGE.leader)
    assert journal.pending == ()


def test_the_last_replica_of_the_order_is_restored_after_a_late_drop(journal: Journal) -> None:
    """While it is dropped, the controller lists it at its original place."""
    change = replace(CHANGE, original=(1, 2, 3), leader=1)
    cluster = FakeReplicas()
    cluster.change(replicas=change.original, leader_id=1)
    journal.begin([change])
    cluster.late.append((40, change.without_replica))
    (undone,) = roll_back(cluster, journal)
    assert undone.undoing is Undoing.RESTORED
    assert "executed late" in undone.reason
    assert cluster.state.replicas == change.original
    assert cluster.clock.now >= FORWARDED_FOR_S


def test_a_replica_that_is_dropped_already_is_restored_at_once(journal: Journal) -> None:
    cluster = FakeReplicas()
    journal.begin([CHANGE])
    cluster.change(replicas=CHANGE.without_replica, isr=(1, 2))
    (undone,) = roll_back(cluster, journal)
    assert undone.undoing is Undoing.RESTORED
    assert cluster.clock.now < 5
    assert journal.pending == ()


@pytest.mark.parametrize(
    ("found", "undoing"), [(CHANGE.original, Undoing.ALREADY_BACK), (CHANGE.source_first, Undoing.RESTORED)]
)
def test_a_replica_that_no_request_drops_late_is_not_said_to_be_dropped(
    journal: Journal, found: tuple[int, ...], undoing: Undoing
) -> None:
    cluster = FakeReplicas()
    journal.begin([CHANGE])
    cluster.change(replicas=found)
    (undone,) = roll_back(cluster, journal)
    assert (undone.undoing, "executed late" in undone.reason) == (undoing, False)
    assert cluster.clock.now >= FORWARDED_FOR_S
    assert journal.pending == ()


def test_a_throttle_stays_while_its_replica_may_be_dropped_late(settings: FakeSettings, journal: Journal) -> None:
    """Otherwise the replica would be copied without a throttle."""
    journal.begin([CHANGE])
    journal.begin([RATE])
    settings.values["3", THROTTLE_RATE] = "5000"
    cluster = FakeReplicas(clock=settings.clock)
    cluster.answer_settings(settings)
    cluster.late.append((40, (1, 2)))
    at: list[float] = []
    write = settings.write_configs

    def noted(*args: object) -> None:
        at.append(settings.clock.now)
        write(*args)  # type: ignore[arg-type]

    cluster.write_configs = noted  # type: ignore[method-assign, assignment]
    assert {each.undoing for each in roll_back(cluster, journal)} == {Undoing.RESTORED}
    assert at
    assert min(at) >= 40
    assert settings.values == {}
    assert cluster.state.replicas == CHANGE.original
    assert journal.pending == ()
