# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A coordinator that is still loading is waited for, and one that goes on loading is told."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.protocol.admin import ListGroupsResponse

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka import groups
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.errors import RequestRefusedError
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from unit.fake_clock import FakeClock
from unit.kafka.fake_wire import ADDRESS, FakeWire

_LOADING = 14


def a_coordinator(*codes: int) -> FakeWire:
    """Answers by these codes in turn, by the last of them for good."""
    left = [*codes]

    def answer(_request: Any) -> Any:
        code = left.pop(0) if len(left) > 1 else left[0]
        listed = [] if code else [ListGroupsResponse.ListedGroup(group_id=each) for each in ("orders", "billing")]
        return ListGroupsResponse(error_code=code, groups=listed)

    return FakeWire(answer)


def listed(fake: FakeWire) -> list[str]:
    stand_in: Any = fake
    wire: Wire = stand_in
    return groups.coordinated_groups(wire, ADDRESS)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    clock = FakeClock()
    monkeypatch.setattr(groups, "time", clock)
    return clock


def test_a_coordinator_that_loads_is_asked_again() -> None:
    fake = a_coordinator(_LOADING, _LOADING, 0)
    assert listed(fake) == ["billing", "orders"]
    assert len(fake.requests) == 3


def test_one_that_goes_on_loading_is_told_within_a_requests_limit(clock: FakeClock) -> None:
    fake = a_coordinator(_LOADING)
    with pytest.raises(RequestRefusedError, match="COORDINATOR_LOAD_IN_PROGRESS"):
        listed(fake)
    assert clock.now == pytest.approx(fake.settings.request_timeout_ms / 1000, abs=0.2)
