# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is told of a change of the voters once it was asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.addresses import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.quorum import Endpoint, Voter
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations import quorum_voters
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.quorum_voters import Membership, VoterChange
from unit.fake_clock import FakeClock
from unit.quorum.quorums import disk, down, follower, healthy, observed, state

GIVEN = Voter(104, disk(104), (Endpoint("CONTROLLER", "given.invalid", 9093),))
TOLD = (Endpoint("CONTROLLER", "told.invalid", 9093),)
CHANGE = VoterChange(Membership.PRESENT, GIVEN, (), (GIVEN,), "cluster", Address("c101", 9093))
WIRE = cast(Wire, None)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """The clock of the verification, with a quorum that takes any request."""
    clock = FakeClock()
    monkeypatch.setattr(quorum_voters, "time", clock)
    monkeypatch.setattr(quorum_voters, "add_voter", lambda *_request: None)
    return clock


def test_the_voters_are_those_that_were_seen_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    added = replace(follower(104), endpoints=TOLD)
    looks = iter([observed(healthy()), observed(state(follower(102), follower(103), added))])
    monkeypatch.setattr(quorum_voters, "observe_quorum", lambda _wire, _controllers: next(looks))
    voters = quorum_voters.change_voters(WIRE, (), CHANGE, verify_timeout_ms=1000)
    assert [each.voter_id for each in voters] == [101, 102, 103, 104]
    assert voters[-1] == replace(GIVEN, endpoints=TOLD)


def test_a_voter_that_does_not_catch_up_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    lagging = observed(state(follower(102), follower(103), down(104)))
    monkeypatch.setattr(quorum_voters, "observe_quorum", lambda _wire, _controllers: lagging)
    with pytest.raises(quorum_voters.VoterChangeError, match="within 1000 ms: it is a voter, and lags by 120 records"):
        quorum_voters.change_voters(WIRE, (), CHANGE, verify_timeout_ms=1000)
