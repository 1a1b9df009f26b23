# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A restart begins with the settings right before it. Real brokers are in tests/integration/cleaner."""

from __future__ import annotations

import threading

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal import Journal
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.diagnosis import Case, Diagnosis, Thresholds
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.facts import BACKOFF_MS, CleanerFacts
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.inspection import Cleaner
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.restart import Restarter
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import NullProgress
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import (
    RestartStatus,
    Setting,
    SettingSource,
)
from unit.fakes.settings import FakeSettings

LOOKED_AT = {BACKOFF_MS: Setting("15000", SettingSource.DEFAULT)}
DEAD = Diagnosis(Case.UNKNOWN, "a thread is dead", restart_helps=True)


def restarter(settings: FakeSettings, journal: Journal | None) -> Restarter:
    return Restarter(
        writer=settings.writer(),
        journal=journal,
        read_metrics=None,
        thresholds=Thresholds(stalled_after_ms=1, tolerated_uncleanable_partitions=0, suspect_ratio=2, suspect_bytes=1),
        force=False,
        verify_timeout_s=1.0,
        progress=NullProgress(),
        stop=threading.Event(),
    )


def test_a_value_that_another_party_set_since_the_look_stays(settings: FakeSettings, journal: Journal) -> None:
    """Other brokers are restarted before this one, which may take minutes."""
    settings.values["3", BACKOFF_MS] = "700"
    cleaner = Cleaner(CleanerFacts(3, None, None, "", LOOKED_AT), DEAD)
    (outcome,) = restarter(settings, journal).restart([cleaner])
    assert outcome.status is RestartStatus.RESTARTED
    assert settings.writes == [("3", BACKOFF_MS, "701"), ("3", BACKOFF_MS, "700")]
    assert settings.values == {("3", BACKOFF_MS): "700"}


def test_a_broker_whose_settings_cannot_be_read_again_is_not_changed(settings: FakeSettings, journal: Journal) -> None:
    settings.silent.add("3")
    cleaners = [Cleaner(CleanerFacts(each, None, None, "", LOOKED_AT), DEAD) for each in (3, 2)]
    settings.values["2", BACKOFF_MS] = "15000"
    failed, done = restarter(settings, journal).restart(cleaners)
    assert (failed.status, done.status) == (RestartStatus.FAILED, RestartStatus.RESTARTED)
    assert "no answer within 1000 ms" in failed.reason
    assert {resource for resource, _name, _value in settings.writes} == {"2"}
