# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fixtures: a healthy fake cluster with a memory of replica orders."""

from __future__ import annotations

import pytest

from unit.fakes.clock import FakeClock
from unit.leadership.well_cluster import Bastion, WellCluster


@pytest.fixture
def clock() -> FakeClock:
    """Provide the clock of waits for orders and leaders."""
    return FakeClock()


@pytest.fixture
def bastion(clock: FakeClock) -> Bastion:
    """Provide a host that works on the fake cluster."""
    cluster = WellCluster({}, {1, 2, 3, 4}, {1, 2, 3, 4}, {})
    cluster.clock = clock
    return Bastion(cluster)
