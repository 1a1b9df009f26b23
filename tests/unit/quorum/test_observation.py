# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is asked of controllers, for how long, and what is made of their answers."""

from __future__ import annotations

from typing import cast

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.replica_log import Cause
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations import controller_watch, quorum_observation
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.observation import Observation
from unit.fake_clock import FakeClock
from unit.quorum.fake_controllers import LIMIT_MS, FakeController, FakeWire, address_of


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """The clock of the window and of every call's limit."""
    clock = FakeClock()
    monkeypatch.setattr(quorum_observation, "time", clock)
    monkeypatch.setattr(controller_watch, "time", clock)
    return clock


def _observe(clock: FakeClock, *controllers: FakeController, window_ms: int = 0) -> Observation:
    wire = cast(Wire, FakeWire(clock, controllers))
    return quorum_observation.observe_quorum(
        wire, [address_of(each.node_id) for each in controllers], window_ms=window_ms
    )


def test_the_window_begins_when_silent_controllers_have_had_their_limit(clock: FakeClock) -> None:
    silent = FakeController(103, silence=Cause.HUNG, costs_ms=LIMIT_MS)
    seen = _observe(clock, FakeController(101), FakeController(102), silent, window_ms=3000)
    assert seen.window_ms == 3000
    assert len(seen.looks) == 1 + 3000 // 250
    assert all(look.state is not None for look in seen.looks)
