# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a requested voter change is verified."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.cluster_journal import ClusterJournal
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal_reader import JournalOptions
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import Change, OrderChange
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.cluster import Cluster, Registration
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    request_refused_error,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.quorum import Endpoint, QuorumReplica, Voter
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum import voters as quorum_voters
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.observation import Controller, Observation
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.voters import Membership, PlannedVoterChange
from unit.fakes.clock import FakeClock
from unit.fakes.journals import CLUSTER_ID, open_journal, read_pending
from unit.fakes.topics import FakeTopics
from unit.quorum.quorums import controller, disk, down, follower, healthy, observed, state

GIVEN = Voter(104, disk(104), (Endpoint("CONTROLLER", "given.invalid", 9093),))
RETURNED = (Endpoint("CONTROLLER", "returned.invalid", 9093),)
CHANGE = PlannedVoterChange(Membership.PRESENT, GIVEN, (), (GIVEN,), "cluster", Address("c101", 9093))


class FakeQuorumPort(quorum_voters.QuorumPort):
    """A quorum that accepts any request. Each look returns the next observation; the last one is repeated."""

    def __init__(self, *looks: Observation) -> None:
        super().__init__(cast(Wire, None))
        self.looks = [*looks]
        self.requested: list[PlannedVoterChange] = []
        self.meanwhile: Callable[[], None] = lambda: None

    def observe(self) -> Observation:
        return self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]

    def change(self, change: PlannedVoterChange) -> None:
        self.requested.append(change)
        self.meanwhile()


def test_the_result_has_the_voters_seen_after_the_change() -> None:
    added = replace(follower(104), endpoints=RETURNED)
    quorum = FakeQuorumPort(observed(healthy()), observed(state(follower(102), follower(103), added)))
    voters = quorum_voters.change_voters(quorum, CHANGE, verify_timeout_ms=1000, clock=FakeClock())
    assert [each.voter_id for each in voters] == [101, 102, 103, 104]
    assert voters[-1] == replace(GIVEN, endpoints=RETURNED)
    assert quorum.requested == [CHANGE]


def test_a_voter_that_does_not_catch_up_is_reported() -> None:
    quorum = FakeQuorumPort(observed(state(follower(102), follower(103), down(104))))
    with pytest.raises(quorum_voters.VoterChangeError, match="within 1000 ms: it is a voter, and lags by 120 records"):
        quorum_voters.change_voters(quorum, CHANGE, verify_timeout_ms=1000, clock=FakeClock())


def test_a_refused_request_is_not_waited_for() -> None:
    def refuse() -> None:
        raise request_refused_error("AddRaftVoter", CLUSTER_AUTHORIZATION_FAILED)

    quorum, clock = FakeQuorumPort(observed(healthy())), FakeClock()
    quorum.meanwhile = refuse
    began = clock.now
    with pytest.raises(quorum_voters.VoterChangeError, match=r"after the refusal: .* needs ALTER on the cluster"):
        quorum_voters.change_voters(quorum, CHANGE, verify_timeout_ms=1000, clock=clock)
    assert clock.now == began


def _cluster_journal(topics: FakeTopics) -> ClusterJournal:
    cluster = Cluster(
        CLUSTER_ID, tuple(Registration(each, Address("fake.invalid", 9092), None, False) for each in (1, 2, 3))
    )
    return ClusterJournal(topics, cluster, JournalOptions())


def _under_lock(quorum: FakeQuorumPort, topics: FakeTopics) -> list[str]:
    change, voters, reported = quorum_voters.change_under_lock(
        quorum, _cluster_journal(topics), Membership.ABSENT, Voter(103, None), verify_timeout_ms=1000
    )
    assert change.is_needed
    assert [each.voter_id for each in voters] == [101, 102]
    return reported


@pytest.fixture
def topics() -> FakeTopics:
    return FakeTopics()


@pytest.fixture
def quorum() -> FakeQuorumPort:
    return FakeQuorumPort(observed(healthy()), observed(state(follower(102))))


def test_a_change_holds_the_lock_and_is_in_the_journal_while_it_is_requested(
    quorum: FakeQuorumPort, topics: FakeTopics
) -> None:
    pending: list[Change] = []

    def meanwhile() -> None:
        pending.extend(read_pending(topics))
        assert "is held by a run" in _cluster_journal(topics).read().notes[0]

    quorum.meanwhile = meanwhile
    assert _under_lock(quorum, topics) == []
    assert [each.key for each in pending] == [f"voter/103/{disk(103)}"]
    assert read_pending(topics) == ()


@pytest.mark.parametrize(
    ("controllers", "voter", "is_doubted"),
    [
        ([controller(103)], follower(103), False),
        ([], follower(103), True),
        ([controller(103, auto_join=None, cause=Cause.HUNG)], follower(103), True),
        ([], down(103), False),
    ],
    ids=["asked", "not asked", "silent", "stopped"],
)
def test_whether_a_removed_voter_would_return_is_unknown_without_an_answer_of_its_own(
    topics: FakeTopics, controllers: list[Controller], voter: QuorumReplica, is_doubted: bool
) -> None:
    before = observed(state(follower(102), voter), controllers=controllers)
    after = observed(state(follower(102)), controllers=controllers)
    reported = _under_lock(FakeQuorumPort(before, after), topics)
    assert [each for each in reported if "it adds itself again" in each] == reported
    assert bool(reported) == is_doubted


def test_pending_changes_of_an_earlier_run_stay_in_the_journal_and_are_reported(
    quorum: FakeQuorumPort, topics: FakeTopics
) -> None:
    order = OrderChange("orders", 0, "EjRWeJq83vASNFZ4mrze8A", (1, 2, 3), (3, 1, 2))
    with open_journal(topics) as journal:
        journal.begin([order])
    assert "an earlier run left 1 change" in _under_lock(quorum, topics)[0]
    assert read_pending(topics) == (order,)
