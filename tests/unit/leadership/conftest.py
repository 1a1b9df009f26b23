# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fixtures: a healthy fake cluster with a memory of replica orders."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership import election as leadership_election
from unit.fakes.clock import FakeClock
from unit.leadership.well_cluster import Bastion, WellCluster


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """Replace the clock of waits for orders and leaders."""
    clock = FakeClock()
    monkeypatch.setattr(leadership_election, "time", clock)
    return clock


@pytest.fixture
def bastion(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, clock: FakeClock) -> Bastion:
    """Provide a host that works on the fake cluster."""
    cluster = WellCluster({}, {}, {1, 2, 3, 4}, {1, 2, 3, 4}, str(tmp_path / "journal"))
    cluster.clock = clock
    monkeypatch.setattr(Kafka, "clock", clock)
    return Bastion(cluster)
