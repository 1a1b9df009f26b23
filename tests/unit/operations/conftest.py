# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A wrecked cluster for every test that asks for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils.operations import election_batch, replica_orders
from unit.fake_clock import FakeClock
from unit.operations.wreck import MakeWreck, Wreck, wrecked


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """The clock by which orders and leaders are watched."""
    clock = FakeClock()
    monkeypatch.setattr(replica_orders, "time", clock)
    return clock


@pytest.fixture
def make_wreck(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, clock: FakeClock) -> MakeWreck:
    """Makes a wreck of so many partitions, and puts its cluster in the place of the Kafka room."""
    monkeypatch.setattr(election_batch, "_PAUSE_S", 0.0)

    def make(count: int = 1) -> Wreck:
        cluster = wrecked(count, str(tmp_path / "journal"))
        cluster.replace_rooms(monkeypatch)
        return Wreck(cluster)

    return make


@pytest.fixture
def wreck(make_wreck: MakeWreck) -> Wreck:
    """Three partitions."""
    return make_wreck(3)
