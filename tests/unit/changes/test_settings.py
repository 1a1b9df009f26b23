# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is changed for a while ends as it began, whatever a read returned meanwhile."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal import Journal
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import SettingChange, Undoing
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.setting_writer import (
    SettingError,
    change_and_restore,
    restore_setting,
)
from unit.fakes.settings import FakeSettings

NAME = "log.cleaner.backoff.ms"
CHANGE = SettingChange("broker", "3", NAME, None, "15001")


def test_what_seems_to_be_back_is_put_back_as_well(settings: FakeSettings, journal: Journal) -> None:
    journal.begin([CHANGE])
    settings.values["3", NAME] = "15001"
    settings.stale["3", NAME] = None
    undoing, _reason = restore_setting(settings.writer(), journal, CHANGE)
    assert undoing is Undoing.ALREADY_BACK
    assert settings.values == {}
    assert journal.pending == ()


def test_what_seems_to_be_back_and_cannot_be_written_stays_in_the_journal(
    settings: FakeSettings, journal: Journal
) -> None:
    journal.begin([CHANGE])
    settings.refused.add("3")
    undoing, _reason = restore_setting(settings.writer(), journal, CHANGE)
    assert undoing is Undoing.FAILED
    assert journal.pending == (CHANGE,)


def test_somebody_elses_value_stays(settings: FakeSettings, journal: Journal) -> None:
    journal.begin([CHANGE])
    settings.values["3", NAME] = "900"
    assert restore_setting(settings.writer(), journal, CHANGE)[0] is Undoing.CONFLICT
    assert settings.values == {("3", NAME): "900"}
    assert journal.pending == ()


def test_what_was_refused_was_not_changed_and_is_not_to_be_put_back(settings: FakeSettings, journal: Journal) -> None:
    settings.refused.add("3")
    with pytest.raises(SettingError, match="CLUSTER_AUTHORIZATION_FAILED"):
        change_and_restore(settings.writer(), journal, CHANGE)
    assert settings.writes == [("3", NAME, "15001")]
    assert journal.pending == ()


def test_a_moment_later_all_is_as_it_was(settings: FakeSettings, journal: Journal) -> None:
    assert not change_and_restore(settings.writer(), journal, CHANGE)
    assert settings.writes == [("3", NAME, "15001"), ("3", NAME, None)]
    assert (settings.values, journal.pending) == ({}, ())


def test_our_own_value_is_never_taken_for_the_original(settings: FakeSettings, journal: Journal) -> None:
    """An earlier run's value could not be put back, and a forced run goes on from it."""
    journal.begin([CHANGE])
    settings.values["3", NAME] = "15001"
    forced = SettingChange("broker", "3", NAME, "15001", "15002")
    assert not change_and_restore(settings.writer(), journal, forced)
    assert (settings.values, journal.pending) == ({}, ())
