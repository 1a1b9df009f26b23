# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Edits of settings: the least intrusive one, and none that Kafka would refuse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.facts import (
    BACKOFF_MS,
    THREADS,
    Edit,
    EditError,
    lasting_edits,
    restart_edit,
    thread_range,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import Setting, SettingSource


def _kafka_takes(current: int, wanted: int) -> bool:
    """LogCleaner.validateReconfiguration, with Java's integers."""
    return wanted >= 1 and wanted >= current // 2 and wanted <= current * 2


@given(st.integers(1, 200), st.integers(-1, 500))
def test_kafka_accepts_half_to_double_of_the_threads(current: int, wanted: int) -> None:
    assert (wanted in thread_range(current)) == _kafka_takes(current, wanted)


@pytest.mark.parametrize(
    ("setting", "edit"),
    [
        (Setting("15000", SettingSource.DEFAULT), Edit(BACKOFF_MS, None, "15001")),
        (Setting("15000", SettingSource.CLUSTER), Edit(BACKOFF_MS, None, "15001")),
        (Setting("700", SettingSource.BROKER), Edit(BACKOFF_MS, "700", "701")),
        (Setting(str(2**63 - 1), SettingSource.STATIC), Edit(BACKOFF_MS, None, str(2**63 - 2))),
    ],
)
def test_a_restart_changes_the_pause_by_a_millisecond(setting: Setting, edit: Edit) -> None:
    assert restart_edit({BACKOFF_MS: setting, THREADS: Setting("4", SettingSource.DEFAULT)}) == edit


@given(st.integers(1, 200))
def test_a_restart_without_a_known_pause_changes_the_threads_within_half_to_double(threads: int) -> None:
    edit = restart_edit(
        {BACKOFF_MS: Setting(None, SettingSource.OTHER), THREADS: Setting(str(threads), SettingSource.BROKER)}
    )
    assert edit.before == str(threads)
    assert edit.after is not None
    assert int(edit.after) != threads
    assert _kafka_takes(threads, int(edit.after))
    assert _kafka_takes(int(edit.after), threads)


def test_a_broker_without_known_settings_is_not_restarted() -> None:
    with pytest.raises(EditError, match="DESCRIBE_CONFIGS"):
        restart_edit({})


def test_only_different_settings_are_edited() -> None:
    settings = {THREADS: Setting("2", SettingSource.BROKER), BACKOFF_MS: Setting("500", SettingSource.STATIC)}
    assert lasting_edits(settings, {THREADS: "2"}) == ()
    assert lasting_edits(settings, {BACKOFF_MS: None}) == ()
    # The value is in effect already, but from server.properties: it becomes the broker's own.
    assert lasting_edits(settings, {BACKOFF_MS: "500"}) == (Edit(BACKOFF_MS, None, "500"),)
    assert lasting_edits(settings, {THREADS: None}) == (Edit(THREADS, "2", None),)


@pytest.mark.parametrize("wanted", ["1", "9", "0", "-3", "many"])
def test_threads_outside_half_to_double_are_refused(wanted: str) -> None:
    with pytest.raises(EditError, match="threads"):
        lasting_edits({THREADS: Setting("4", SettingSource.DEFAULT)}, {THREADS: wanted})
