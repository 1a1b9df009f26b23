# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A wrecked cluster for every test that asks for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from unit.fake_clock import FakeClock
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
