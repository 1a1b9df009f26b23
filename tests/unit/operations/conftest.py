# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A wrecked cluster, an open journal and fake configs for every test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal import Journal
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.messages import in_batches
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery import election as designated_election
from unit.fake_clock import FakeClock
from unit.journals import CLUSTER_ID, open_journal
from unit.operations.fake_settings import FakeSettings
from unit.operations.wreck import MakeWreck, Wreck, wrecked


@pytest.fixture
def clock() -> FakeClock:
    """Replace the clock by which orders and leaders are watched."""
    return FakeClock()


@pytest.fixture
def make_wreck(tmp_path: Path, clock: FakeClock) -> MakeWreck:
    """Make a wreck of so many partitions."""

    def make(count: int = 1) -> Wreck:
        cluster = wrecked(count, str(tmp_path / "journal"))
        cluster.clock = clock
        return Wreck(cluster)

    return make


@pytest.fixture
def wreck(make_wreck: MakeWreck) -> Wreck:
    """Three partitions."""
    return make_wreck(3)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """Open a journal in a file."""
    with open_journal(str(tmp_path), CLUSTER_ID) as opened:
        yield opened


@pytest.fixture
def settings() -> FakeSettings:
    """Make brokers whose configs are in memory."""
    return FakeSettings()


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every partition is a batch of its own."""
    monkeypatch.setattr(designated_election, "in_batches", lambda items: in_batches(items, 1))
