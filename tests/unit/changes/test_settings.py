# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Temporary changes of settings end with the original value, whatever a read returns in between."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal import Journal
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import (
    Leftover,
    SettingChange,
    Undoing,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.setting_writer import (
    SettingError,
    begin_change,
    restore_setting,
)
from unit.fakes.settings import TOPIC_ID, FakeSettings


def restore(settings: FakeSettings, journal: Journal, change: SettingChange) -> Leftover[SettingChange]:
    found = restore_setting(settings.writer(), journal, change)
    journal.end_undone([found])
    return found


def change_and_restore(settings: FakeSettings, journal: Journal, change: SettingChange) -> None:
    begun = begin_change(settings.writer(), journal, change)
    assert restore(settings, journal, begun).undoing is Undoing.RESTORED


NAME = "log.cleaner.backoff.ms"
CHANGE = SettingChange("broker", "3", NAME, None, "15001")


def test_a_setting_that_seems_restored_is_restored_as_well(settings: FakeSettings, journal: Journal) -> None:
    journal.begin([CHANGE])
    settings.values["3", NAME] = "15001"
    settings.stale["3", NAME] = None
    assert restore(settings, journal, CHANGE).undoing is Undoing.ALREADY_BACK
    assert settings.values == {}
    assert journal.pending == ()


def test_a_setting_that_seems_restored_and_cannot_be_written_stays_pending(
    settings: FakeSettings, journal: Journal
) -> None:
    journal.begin([CHANGE])
    settings.refused.add("3")
    assert restore(settings, journal, CHANGE).undoing is Undoing.FAILED
    assert journal.pending == (CHANGE,)


def test_another_partys_value_stays(settings: FakeSettings, journal: Journal) -> None:
    journal.begin([CHANGE])
    settings.values["3", NAME] = "900"
    assert restore(settings, journal, CHANGE).undoing is Undoing.CONFLICT
    assert settings.values == {("3", NAME): "900"}
    assert journal.pending == ()


def test_a_refused_change_is_not_undone(settings: FakeSettings, journal: Journal) -> None:
    settings.refused.add("3")
    with pytest.raises(SettingError, match="CLUSTER_AUTHORIZATION_FAILED"):
        change_and_restore(settings, journal, CHANGE)
    assert settings.writes == [("3", NAME, "15001")]
    assert journal.pending == ()


def test_a_change_is_restored_at_once(settings: FakeSettings, journal: Journal) -> None:
    change_and_restore(settings, journal, CHANGE)
    assert settings.writes == [("3", NAME, "15001"), ("3", NAME, None)]
    assert (settings.values, journal.pending) == ({}, ())


def test_our_own_value_never_counts_as_the_original(settings: FakeSettings, journal: Journal) -> None:
    """An earlier run could not restore its value, and a forced run starts from that value."""
    journal.begin([CHANGE])
    settings.values["3", NAME] = "15001"
    forced = SettingChange("broker", "3", NAME, "15001", "15002")
    change_and_restore(settings, journal, forced)
    assert (settings.values, journal.pending) == ({}, ())


OF_TOPIC = SettingChange("topic", "t", "follower.replication.throttled.replicas", None, "0:3", TOPIC_ID)
NEW_ID = "B" * 22


def test_a_setting_of_a_topic_that_was_re_created_is_not_written(settings: FakeSettings, journal: Journal) -> None:
    settings.topic_ids["t"] = NEW_ID
    with pytest.raises(SettingError, match="could not be set to 0:3: the topic was re-created"):
        begin_change(settings.writer(), journal, OF_TOPIC)
    assert settings.writes == []
    assert journal.pending == ()


@pytest.mark.parametrize("is_shown_late", [False, True])
def test_a_setting_is_removed_from_a_topic_that_was_re_created_right_before_the_write(
    settings: FakeSettings, journal: Journal, is_shown_late: bool
) -> None:
    """A broker may show the new topic before it shows the value."""

    def re_create() -> None:
        settings.topic_ids["t"] = NEW_ID
        if is_shown_late:
            settings.stale["t", OF_TOPIC.name] = None

    settings.before_write = [re_create]
    with pytest.raises(SettingError, match="which we had requested, was removed from it"):
        begin_change(settings.writer(), journal, OF_TOPIC)
    assert settings.values == {}
    assert journal.pending == ()


@pytest.mark.parametrize(("theirs", "left"), [("0:3", None), ("7:1", "7:1")])
def test_only_our_value_is_removed_from_the_successor_of_a_deleted_topic(
    settings: FakeSettings, journal: Journal, theirs: str, left: str | None
) -> None:
    """The request of a dead run may have been executed after the topic was re-created."""
    journal.begin([OF_TOPIC])
    settings.topic_ids["t"] = NEW_ID
    settings.values["t", OF_TOPIC.name] = theirs
    found = restore(settings, journal, OF_TOPIC)
    assert (found.undoing, "was removed from it" in found.reason) == (Undoing.GONE, left is None)
    assert settings.values.get(("t", OF_TOPIC.name)) == left
    assert journal.pending == ()
