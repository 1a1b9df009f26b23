# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who is to lead, and at what cost, decided without any broker."""

from __future__ import annotations

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.replica_log import Cause
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.candidate import SilentReplica
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.decide import decide
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.plan import (
    ElectionType,
    LeftAlone,
    PlannedElection,
    Status,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.policy import Policy
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.strategy import Strategy
from unit.recovery.wreckage import a_candidate, an_offline_partition

BEST = a_candidate(3, (0, 10), (2, 15), rank=1)
SECOND = a_candidate(2, (0, 10), rank=2)
AGGRESSIVE = Policy(Strategy.AGGRESSIVE)
BALANCED = Policy(Strategy.BALANCED)
DEAD = SilentReplica(1, Cause.UNREACHABLE, "no connection")


def test_the_best_is_elected_though_it_is_not_the_first_in_order() -> None:
    election = decide(an_offline_partition(offline=[1]), [BEST, SECOND], [DEAD], AGGRESSIVE)
    assert isinstance(election, PlannedElection)
    assert election.designated_leader == 3
    assert election.candidates == (BEST, SECOND)
    assert election.silent == (DEAD,)
    assert election.replicas == (1, 2, 3)


def test_a_fenced_best_is_passed_over_and_named() -> None:
    election = decide(an_offline_partition(offline=[1, 3]), [BEST, SECOND], [DEAD], AGGRESSIVE)
    assert isinstance(election, PlannedElection)
    assert election.designated_leader == 2
    assert (
        "ranked better, but fenced or with its log dir offline: 3; electing 2 loses offsets 10..14" in election.reason
    )


def test_no_election_where_all_that_answered_are_fenced() -> None:
    left = decide(an_offline_partition(offline=[1, 2, 3]), [BEST, SECOND], [DEAD], AGGRESSIVE)
    assert isinstance(left, LeftAlone)
    assert left.status is Status.UNRECOVERABLE
    assert "3, 2 answered" in left.reason


def test_no_replica_left() -> None:
    left = decide(an_offline_partition(replicas=[1], offline=[1]), [], [DEAD], AGGRESSIVE)
    assert isinstance(left, LeftAlone)
    assert (left.status, left.reason) == (Status.UNRECOVERABLE, "no replica left: broker 1: unreachable")


def test_a_silent_broker_that_the_controller_would_take_leaves_it_open() -> None:
    hung = SilentReplica(2, Cause.HUNG, "no answer")
    left = decide(an_offline_partition(replicas=[1, 2], offline=[1]), [], [DEAD, hung], AGGRESSIVE)
    assert isinstance(left, LeftAlone)
    assert left.status is Status.UNKNOWN
    assert "broker 2: hung" in left.reason


def test_a_live_member_of_the_elr_gets_an_ordinary_election() -> None:
    election = decide(an_offline_partition(elr=[3], offline=[1]), [BEST, SECOND], [DEAD], BALANCED)
    assert isinstance(election, PlannedElection)
    assert (election.election_type, election.designated_leader) == (ElectionType.PREFERRED, 3)


def test_a_silent_member_of_the_elr_passes_any_limit() -> None:
    hung = SilentReplica(3, Cause.HUNG, "no answer")
    state = an_offline_partition(elr=[3], offline=[1])
    election = decide(state, [SECOND], [DEAD, hung], Policy(Strategy.BALANCED, 0))
    assert isinstance(election, PlannedElection)
    assert (election.election_type, election.designated_leader) == (ElectionType.PREFERRED, 3)


def test_a_live_member_of_the_elr_with_a_new_disk_gets_none() -> None:
    left = decide(an_offline_partition(elr=[2], offline=[1]), [BEST, SECOND], [DEAD], BALANCED)
    assert isinstance(left, LeftAlone)
    assert left.status is Status.REFUSED
    assert "stop broker 2 first" in left.reason


def test_no_election_where_the_controller_would_elect_another_broker() -> None:
    state = an_offline_partition(last_known_elr=[2], offline=[1])
    left = decide(state, [BEST, SECOND], [DEAD], AGGRESSIVE)
    assert isinstance(left, LeftAlone)
    assert left.status is Status.REFUSED
    assert "the controller would elect broker 2" in left.reason


def test_balanced_waits_for_the_dead_and_still_tells_what_it_would_cost() -> None:
    left = decide(an_offline_partition(elr=[1], offline=[1], leader_epoch=3), [BEST, SECOND], [DEAD], BALANCED)
    assert isinstance(left, LeftAlone)
    assert (left.status, [each.at_least for each in left.losses]) == (Status.REFUSED, [0, 5])
    assert [each.at_most for each in left.losses] == [None, None], "what the dead hold is unknown, never 0"


def test_no_election_is_known_to_lose_more_than_the_limit() -> None:
    state = an_offline_partition(offline=[1, 3])
    assert isinstance(decide(state, [BEST, SECOND], [DEAD], Policy(Strategy.AGGRESSIVE, 5)), PlannedElection)
    left = decide(state, [BEST, SECOND], [DEAD], Policy(Strategy.AGGRESSIVE, 4))
    assert isinstance(left, LeftAlone)
    assert left.reason == "electing 2 loses 5 records or more, and the limit is 4"
