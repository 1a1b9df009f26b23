# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which controllers are asked, for how long, and what is concluded from their answers."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address, ControllerListeners
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.quorum import SeenLeader
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum import observe as quorum_observation
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.finding import FindingKind
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.observation import Observation
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.verdict import collect_findings, may_elect
from unit.fakes.clock import FakeClock
from unit.quorum.fake_controllers import IDS, LIMIT_MS, FakeController, FakeWire

ALL = [FakeController(101), FakeController(102), FakeController(103)]


def _observe(
    clock: FakeClock, *controllers: FakeController, window_ms: int = 0, earlier: SeenLeader | None = None
) -> Observation:
    wire = cast(Wire, FakeWire(clock, controllers))
    return quorum_observation.observe_quorum(wire, window_ms=window_ms, earlier=earlier, clock=clock)


def test_the_window_starts_after_waiting_for_silent_controllers(clock: FakeClock) -> None:
    silent = FakeController(103, silence=Cause.HUNG, costs_ms=LIMIT_MS)
    seen = _observe(clock, FakeController(101), FakeController(102), silent, window_ms=3000)
    assert seen.window_ms == 3000
    assert len(seen.looks) == 1 + 3000 // 250
    assert all(look.state is not None for look in seen.looks)


def test_the_window_ends_as_soon_as_it_is_enough(clock: FakeClock) -> None:
    wire = cast(Wire, FakeWire(clock, ALL))
    seen = quorum_observation.observe_quorum(
        wire, window_ms=3000, is_enough=lambda so_far: so_far.window_ms >= 1000, clock=clock
    )
    assert seen.window_ms == 1000
    assert len(seen.looks) == 1 + 1000 // 250


def test_a_controller_may_answer_only_later_in_the_window(clock: FakeClock) -> None:
    starting = FakeController(101, silence=Cause.UNREACHABLE)
    looks = 0

    def is_enough(_so_far: Observation) -> bool:
        nonlocal looks
        looks += 1
        return False

    class StartingWire(FakeWire):
        def call(self, address: Address, request: Any, *, timeout_ms: int) -> Any:
            if clock.monotonic() >= began + 1:
                starting.silence = None
            return super().call(address, request, timeout_ms=timeout_ms)

    began = clock.monotonic()
    wire = cast(Wire, StartingWire(clock, [starting]))
    seen = quorum_observation.observe_quorum(wire, window_ms=2000, is_enough=is_enough, clock=clock)
    assert (seen.window_ms, seen.looks[0].state) == (2000, None)
    assert seen.state is not None
    assert 0 < looks < len(seen.looks), "nothing is judged before anybody has answered"


def test_the_window_starts_when_an_earlier_task_saw_the_leader(clock: FakeClock) -> None:
    clock.sleep(100)
    seen = _observe(clock, *ALL, window_ms=3000, earlier=SeenLeader(101, 7, seen_at_ms=98_000))
    assert seen.window_ms == 3000
    assert len(seen.looks) == 1 + 1000 // 250
    assert clock.monotonic() == 101
    assert may_elect(seen).allowed


def test_an_epoch_that_rose_since_an_earlier_task_is_contested(clock: FakeClock) -> None:
    clock.sleep(100)
    seen = _observe(clock, *ALL, window_ms=3000, earlier=SeenLeader(102, 5, seen_at_ms=90_000))
    assert len(seen.looks) == 1
    (churn,) = [each for each in collect_findings(seen) if each.kind is FindingKind.EPOCH_CHURN]
    assert (churn.evidence["from_epoch"], churn.evidence["to_epoch"], churn.evidence["window_ms"]) == (5, 7, 10_000)
    assert churn.evidence["leaders"] == [102, 101]
    assert "the quorum's epoch rose from 5 to 7 within 10000 ms" in "; ".join(may_elect(seen).reasons)


@pytest.mark.parametrize("seen_at_ms", [100_001, 39_999], ids=["of another clock", "older than a minute"])
def test_an_invalid_earlier_time_does_not_shorten_the_window(clock: FakeClock, seen_at_ms: int) -> None:
    clock.sleep(100)
    seen = _observe(clock, *ALL, window_ms=3000, earlier=SeenLeader(102, 5, seen_at_ms))
    assert (seen.earlier, seen.window_ms, len(seen.looks)) == (None, 3000, 13)
    assert may_elect(seen).allowed


def test_a_leader_with_two_addresses_is_one_leader(clock: FakeClock) -> None:
    controllers = [FakeController(each, tells_configs=False) for each in (101, 102, 103)]
    wire = FakeWire(clock, controllers)
    given = Address("localhost", 9093)
    wire.nodes[given] = controllers[0]
    wire.controllers = ControllerListeners((given,))
    seen = quorum_observation.observe_quorum(cast(Wire, wire), clock=clock)
    claims = [each for each in seen.looks[0].views if each.claims_leadership]
    assert [(each.address, each.node_id, each.epoch) for each in claims] == [
        ("localhost:9093", 101, 7),
        ("c101.invalid:9093", 101, 7),
    ]
    assert FindingKind.TWO_LEADERS not in {each.kind for each in collect_findings(seen)}


def test_two_leaders_are_reported_with_permission_for_the_quorum_only(clock: FakeClock) -> None:
    seen = _observe(
        clock,
        FakeController(101, tells_configs=False),
        FakeController(102, tells_configs=False, leader_id=102, epoch=8),
        FakeController(103, tells_configs=False, leader_id=102, epoch=8),
    )
    (two,) = [each for each in collect_findings(seen) if each.kind is FindingKind.TWO_LEADERS]
    assert two.node_ids == (101, 102)
    assert two.evidence["epochs"] == {101: 7, 102: 8}


@pytest.mark.parametrize(
    ("is_leaders_known", "expected"), [(True, 4000), (False, 3000)], ids=["the leader's", "the smallest"]
)
def test_the_fetch_timeout_is_the_leaders_or_the_smallest(
    clock: FakeClock, *, is_leaders_known: bool, expected: int
) -> None:
    seen = _observe(
        clock,
        FakeController(101, fetch_timeout_ms=4000, tells_configs=is_leaders_known),
        FakeController(102, fetch_timeout_ms=60_000),
        FakeController(103, fetch_timeout_ms=3000),
    )
    assert seen.fetch_timeout_ms == expected
    assert seen.caught_up_within_ms == expected


@pytest.mark.parametrize(("code", "name"), [(35, "UNSUPPORTED_VERSION"), (31, "CLUSTER_AUTHORIZATION_FAILED")])
def test_a_controller_that_does_not_list_the_others_answers_all_the_same(
    clock: FakeClock, code: int, name: str
) -> None:
    """Kafka refuses this after a restart without a quorum, and to a principal that lacks ALTER on the cluster."""
    seen = _observe(clock, *(FakeController(each, leader_id=-1, refuses_to_list=code) for each in IDS), window_ms=500)
    assert len(seen.looks[-1].views) == 3
    assert [each.cause for each in seen.controllers] == [None] * 3
    assert all(name in each.unlisted for each in seen.controllers)
    assert f"controller c101.invalid:9093 does not list the others: DescribeCluster was refused: {name}" in seen.silence
    assert seen.voter_count is None
    (found,) = [each for each in collect_findings(seen) if each.kind is FindingKind.NO_LEADER]
    assert "Controllers c101.invalid:9093, c102.invalid:9093 and c103.invalid:9093 answered" in found.remedy
    assert "recover_quorum" not in found.remedy


def test_a_leader_leads_whether_it_lists_the_others_or_not(clock: FakeClock) -> None:
    seen = _observe(clock, *(FakeController(each, refuses_to_list=31) for each in IDS))
    assert seen.state is not None
    assert may_elect(seen).allowed


@pytest.mark.parametrize("cause", [Cause.HUNG, Cause.UNREACHABLE])
def test_a_controller_that_uses_up_its_time_limit_is_asked_once(clock: FakeClock, cause: Cause) -> None:
    silent = FakeController(103, silence=cause, costs_ms=LIMIT_MS)
    seen = _observe(clock, FakeController(101), FakeController(102), silent, window_ms=3000)
    assert len(seen.looks) > 1
    assert len(silent.asked) == 1


def test_a_controller_that_refuses_connections_may_come_back(clock: FakeClock) -> None:
    silent = FakeController(103, silence=Cause.UNREACHABLE)
    seen = _observe(clock, FakeController(101), FakeController(102), silent, window_ms=3000)
    assert len(silent.asked) == len(seen.looks)
