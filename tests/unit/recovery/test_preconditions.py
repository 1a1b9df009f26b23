# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a planned election may still be requested: one row for each possible change of the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.controller_model import acceptable_replicas
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    NO_LEADER,
    Cause,
    EpochEnd,
    PartitionState,
    Reassignment,
    ReplicaLog,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.candidate import (
    Candidate,
    Flag,
    SilentReplica,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import (
    ElectionType,
    PlannedElection,
    Status,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.preconditions import (
    Judgement,
    PartitionObservation,
    find_dropped,
    find_election_order,
    find_left_out,
    find_obstacles,
    find_registration_obstacles,
    judge_election,
    order_for_designated,
)

TOPIC_ID, OTHER_ID = "A" * 22, "B" * 22


def a_candidate(broker_id: int, rank: int, epoch: int | None, end: int) -> Candidate:
    return Candidate(broker_id, rank, epoch, 0, end, (), None, (), "")


def a_log(broker_id: int, epoch: int | None, end: int) -> ReplicaLog:
    lineage = () if epoch is None else (EpochEnd(epoch, end),)
    return ReplicaLog("t", 0, broker_id, 0, end, 9, epoch, lineage)


def silent(broker_id: int, cause: Cause = Cause.HUNG) -> ReplicaLog:
    return ReplicaLog("t", 0, broker_id, cause=cause, error=f"{cause} as of now")


GROWING = Reassignment(adding=(4,))
ELECTION = PlannedElection(
    topic="t",
    partition=0,
    topic_id=TOPIC_ID,
    leader_epoch=7,
    replicas=(1, 2, 3, 4),
    isr=(1,),
    elr=(),
    last_known_elr=(),
    designated_leader=3,
    reason="the longest log of the newest epoch",
    candidates=(a_candidate(3, 1, 6, 100), a_candidate(2, 2, 5, 200)),
    silent=(SilentReplica(1, Cause.UNREACHABLE, ""), SilentReplica(4, Cause.HUNG, "")),
)
STATE = PartitionState("t", 0, TOPIC_ID, NO_LEADER, 7, (1, 2, 3, 4), (1,), (), (), (1,))
LOGS = {1: silent(1, Cause.UNREACHABLE), 2: a_log(2, 5, 200), 3: a_log(3, 6, 100), 4: silent(4)}


def observation(
    logs: Mapping[int, ReplicaLog | None] | None = None, *, running: Reassignment | None = None, **state: Any
) -> PartitionObservation:
    """Return the planned state with these differences; None removes a log."""
    found = {key: each for key, each in {**LOGS, **(logs or {})}.items() if each is not None}
    return PartitionObservation(STATE._replace(**state), found, reassignment=running)


def test_an_unchanged_partition_is_elected() -> None:
    assert judge_election(ELECTION, observation()) == Judgement(None, "the longest log of the newest epoch")


@pytest.mark.parametrize("leader_id", [1, 3])
def test_a_partition_that_has_a_leader_is_already_online(leader_id: int) -> None:
    verdict = judge_election(ELECTION, observation(leader_id=leader_id, leader_epoch=8, running=GROWING))
    assert verdict == Judgement(Status.ALREADY_ONLINE, f"broker {leader_id} leads it: no unclean election is needed")


def test_a_deleted_or_hidden_partition_is_unknown() -> None:
    verdict = judge_election(ELECTION, PartitionObservation(None, {}))
    assert verdict.status is Status.UNKNOWN
    assert "does not exist any more, or our principal needs DESCRIBE on the topic" in verdict.reason


MOVING = replace(ELECTION, adding=(2,), removing=(1, 4), replicas=(2, 3, 1, 4))
"""Planned while a reassignment to 2 and 3 was running."""


def moving(adding: tuple[int, ...] = (2,), removing: tuple[int, ...] = (1, 4)) -> PartitionObservation:
    return observation(running=Reassignment(adding, removing), replicas=(2, 3, 1, 4))


@pytest.mark.parametrize(
    ("running", "said"),
    [
        (moving(adding=(2, 3)), "which adds brokers 2, 3 and removes brokers 1, 4, and was another one in the plan"),
        (moving(removing=(1, 3, 4)), "removes brokers 1, 3, 4, and was another one in the plan"),
        (
            observation(replicas=(2, 3, 1, 4)),
            "which adds broker 2 and removes brokers 1, 4, has ended or was canceled",
        ),
    ],
)
def test_a_reassignment_that_changed_since_the_plan_refuses_the_election(
    running: PartitionObservation, said: str
) -> None:
    verdict = judge_election(MOVING, running)
    assert verdict.status is Status.REFUSED
    assert said in verdict.reason


@pytest.mark.parametrize("running", [moving(), moving(adding=())])
def test_a_reassignment_that_goes_on_refuses_nothing(running: PartitionObservation) -> None:
    assert judge_election(MOVING, running).status is None


@pytest.mark.parametrize(
    ("designated", "unregistered", "left_out"),
    [(3, (), (1, 4)), (3, (1,), (1, 4)), (2, (), ()), (4, (), ()), (4, (1,), (1,))],
)
def test_a_request_leaves_out_what_the_reassignment_removes_unless_it_is_to_lead(
    designated: int, unregistered: tuple[int, ...], left_out: tuple[int, ...]
) -> None:
    election = replace(MOVING, designated_leader=designated, candidates=(a_candidate(designated, 1, 6, 100),))
    observed = replace(moving(), unregistered=frozenset(unregistered))
    assert find_left_out(election, observed) == left_out
    assert [*find_registration_obstacles(election, observed)] == []


def test_an_unregistered_broker_in_the_target_refuses_a_new_order() -> None:
    observed = replace(moving(), unregistered=frozenset({2}))
    reason = judge_election(MOVING, observed).reason
    assert "broker 2 of its reassignment's target is not registered" in reason


CHANGES: dict[str, tuple[PartitionObservation, str]] = {
    "topic recreated": (observation(topic_id=OTHER_ID), f"the topic was re-created: its id is {OTHER_ID}"),
    "topic recreated, with a leader": (observation(topic_id=OTHER_ID, leader_id=1), "the topic was re-created"),
    "replica order": (observation(replicas=(2, 1, 3, 4)), "its replicas are [2, 1, 3, 4] now, and were [1, 2, 3, 4]"),
    "replica set": (observation(replicas=(1, 2, 3)), "its replicas are [1, 2, 3] now, and were [1, 2, 3, 4]"),
    "designated no replica any more": (
        observation(replicas=(1, 2, 4)),
        "broker 3 is not in its replica set [1, 2, 4]",
    ),
    "leader epoch": (observation(leader_epoch=8), "its leader epoch is 8 now, and was 7 in the plan"),
    "reassignment running": (
        observation(running=GROWING),
        "a reassignment of it is running, which adds broker 4, and was not running when the plan was made: make a new "
        "plan",
    ),
    "ISR member back": (
        observation(offline_replicas=()),
        "the controller would elect broker 1, not the designated 3: it is in the ISR or the ELR and back",
    ),
    "ELR member back": (
        observation(isr=(), elr=(2,)),
        "the controller would elect broker 2, not the designated 3: it is in the ISR or the ELR and back",
    ),
    "last known leader back": (
        observation(isr=(), last_known_elr=(4,)),
        "the controller would elect broker 4, not the designated 3: it is the last known leader and back",
    ),
    "designated fenced or its log dir offline": (
        observation(offline_replicas=(1, 3)),
        "broker 3 cannot be elected: the controller fences it, or the replica's log dir is offline",
    ),
    "designated epoch": (
        observation({3: a_log(3, 5, 100)}),
        "replica 3 ends at (epoch, offset) (5, 100) now, and at (6, 100) in the plan",
    ),
    "designated end": (
        observation({3: a_log(3, 6, 99)}),
        "replica 3 ends at (epoch, offset) (6, 99) now, and at (6, 100) in the plan",
    ),
    "designated wiped": (
        observation({3: a_log(3, None, 0)}),
        "replica 3 ends at (epoch, offset) (none, 0) now, and at (6, 100) in the plan",
    ),
    "another candidate grown": (
        observation({2: a_log(2, 7, 300)}),
        "replica 2 ends at (epoch, offset) (7, 300) now, and at (5, 200) in the plan",
    ),
    "designated silent": (
        observation({3: silent(3)}),
        "the designated replica 3 is silent now: hung as of now",
    ),
    "designated restarted meanwhile": (
        observation({3: silent(3, Cause.RESTARTED)}),
        "the designated replica 3 is silent now: restarted as of now",
    ),
    "designated unregistered": (observation({3: None}), "broker 3 was not asked again"),
    "revived replica of a newer epoch": (
        observation({4: a_log(4, 7, 10)}),
        "replica 4, silent in the plan, answers now and holds more, from offset 0 up to (epoch, offset) (7, 10)",
    ),
    "revived replica of the same epoch, longer": (
        observation({4: a_log(4, 6, 101)}),
        "replica 4, silent in the plan, answers now and holds more, from offset 0 up to (epoch, offset) (6, 101)",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_since_the_plan_refuses_the_election_with_a_reason(change: str) -> None:
    observed, reason = CHANGES[change]
    verdict = judge_election(ELECTION, observed)
    assert verdict.status is Status.REFUSED
    assert reason in verdict.reason


@pytest.mark.parametrize(
    "observed",
    [
        pytest.param(observation({2: silent(2)}), id="another candidate fell silent"),
        pytest.param(observation({2: None}), id="another candidate's broker is not registered any more"),
        pytest.param(observation({4: a_log(4, 6, 100)}), id="a revived replica holds as much"),
        pytest.param(observation({4: a_log(4, 5, 900)}), id="a revived replica holds more, of an older epoch"),
        pytest.param(observation({4: a_log(4, None, 0)}), id="a revived replica is empty"),
        pytest.param(observation(offline_replicas=(1, 2, 4)), id="every other replica is fenced"),
        pytest.param(observation(isr=(3,), offline_replicas=(1,)), id="the designated one is in the ISR"),
        pytest.param(observation(isr=(), last_known_elr=(3,)), id="the designated one is the last known leader"),
        pytest.param(observation(isr=(), last_known_elr=(1,)), id="the last known leader is still dead"),
        pytest.param(observation(elr=None, last_known_elr=None), id="the broker reports no ELR"),
    ],
)
def test_an_irrelevant_change_refuses_nothing(observed: PartitionObservation) -> None:
    assert judge_election(ELECTION, observed).status is None


def test_all_reasons_are_reported_at_once() -> None:
    observed = observation(
        {2: a_log(2, 5, 201), 3: a_log(3, 6, 99), 4: a_log(4, 8, 1)},
        running=GROWING,
        topic_id=OTHER_ID,
        leader_epoch=9,
        replicas=(4, 3, 2, 1),
        offline_replicas=(),
    )
    verdict = judge_election(ELECTION, observed)
    assert verdict.status is Status.REFUSED
    reasons = verdict.reason.split("; ")
    assert [reason[:16] for reason in reasons] == [
        "the topic was re",
        "its replicas are",
        "its leader epoch",
        "a reassignment o",
        "replica 3 ends a",
        "replica 2 ends a",
        "replica 4, silen",
        "the controller w",
    ]


def test_an_inline_designation_compares_no_candidate() -> None:
    inline = replace(ELECTION, candidates=(), silent=())
    assert judge_election(inline, observation({2: a_log(2, 9, 900), 4: a_log(4, 9, 900)})).status is None
    assert judge_election(inline, observation({3: silent(3)})).status is Status.REFUSED


@given(st.permutations(range(1, 6)), st.integers(1, 5))
def test_the_order_is_designated_leader_then_ranks_then_silent_replicas(order: list[int], leader: int) -> None:
    found = order_for_designated(replace(ELECTION, replicas=tuple(order), designated_leader=leader))
    assert sorted(found) == sorted(order)
    ranked = [each for each in (3, 2) if each != leader]
    assert list(found[: 1 + len(ranked)]) == [leader, *ranked]
    silent = found[1 + len(ranked) :]
    assert list(silent) == [each for each in order if each in silent]


@pytest.mark.parametrize(
    ("replicas", "offline", "unregistered", "order"),
    [
        pytest.param((1, 3, 2, 4), (1,), (), (1, 3, 2, 4), id="a plain election takes the designated leader"),
        pytest.param((1, 3, 4, 2), (1, 4), (), (1, 3, 4, 2), id="and then the second best"),
        pytest.param((1, 3, 4, 2), (1,), (), (3, 2, 1, 4), id="but then a silent replica"),
        pytest.param((1, 3, 4, 2), (1,), (1,), (1, 3, 4, 2), id="a new order would be refused"),
        pytest.param((1, 2, 3, 4), (1,), (1,), (3, 2, 1, 4), id="and would be needed"),
    ],
)
def test_the_order_is_changed_only_if_it_matters(
    replicas: tuple[int, ...], offline: tuple[int, ...], unregistered: tuple[int, ...], order: tuple[int, ...]
) -> None:
    state = STATE._replace(replicas=replicas, isr=(), offline_replicas=offline)
    assert find_election_order(replace(ELECTION, replicas=replicas), state, unregistered) == order


def test_an_unregistered_broker_refuses_the_election_only_if_a_new_order_is_needed() -> None:
    verdict = judge_election(ELECTION, replace(observation(), unregistered=frozenset({1})))
    assert verdict.status is Status.REFUSED
    assert "broker 1 of its replica list is not registered" in verdict.reason
    assert "without that an election takes broker 2" in verdict.reason
    plain = replace(observation(replicas=(1, 3, 2, 4)), unregistered=frozenset({1}))
    assert judge_election(replace(ELECTION, replicas=(1, 3, 2, 4)), plain).status is None


def test_every_unregistered_replica_is_named_and_the_first_one_is_to_be_started() -> None:
    verdict = judge_election(ELECTION, replace(observation(), unregistered=frozenset({1, 4})))
    assert "brokers 1 and 4 of its replica list" in verdict.reason or "brokers 1, 4 of its" in verdict.reason
    assert "start broker 1 with its own disk" in verdict.reason


def test_an_ordinary_election_drops_and_refuses_nothing() -> None:
    observed = replace(
        observation(isr=(), elr=(2, 4)), unregistered=frozenset({1}), reassignment=Reassignment(removing=(1,))
    )
    assert find_dropped(replace(ORDINARY, dropped=(1,)), observed) == ()
    assert [*find_registration_obstacles(ORDINARY, observed)] == []
    hidden = PartitionObservation(None, {}, unregistered=frozenset({1}))
    assert find_dropped(replace(ELECTION, dropped=(1,)), hidden) == ()
    assert [*find_registration_obstacles(ELECTION, hidden)] == []


def test_an_order_with_another_replica_first_is_refused() -> None:
    (reason,) = find_obstacles(ELECTION, STATE, (2, 3, 1, 4))
    assert "the controller would elect broker 2, not the designated 3" in reason


def test_a_broker_without_a_replica_never_enters_the_order() -> None:
    election = replace(ELECTION, candidates=(*ELECTION.candidates, a_candidate(9, 3, 5, 10)))
    assert order_for_designated(election) == (3, 2, 1, 4)


@pytest.mark.parametrize(
    ("planned", "revived"),
    [((None, 0), (None, 1)), ((None, 10), (0, 5))],
    ids=["longer than an empty log", "of an epoch, though shorter"],
)
def test_a_revived_replica_is_compared_with_logs_without_epochs(
    planned: tuple[int | None, int], revived: tuple[int | None, int]
) -> None:
    election = replace(ELECTION, candidates=(a_candidate(3, 1, *planned), ELECTION.candidates[1]))
    verdict = judge_election(election, observation({3: a_log(3, *planned), 4: a_log(4, *revived)}))
    assert verdict.status is Status.REFUSED
    assert "replica 4, silent in the plan, answers now and holds more" in verdict.reason


def test_a_designated_replica_that_was_fenced_itself_is_not_better_than_itself() -> None:
    fenced = replace(ELECTION.candidates[0], flags=(Flag.FENCED,))
    assert judge_election(replace(ELECTION, candidates=(fenced, ELECTION.candidates[1])), observation()).status is None


def test_a_better_replica_that_is_unfenced_now_needs_a_new_plan() -> None:
    fenced = replace(ELECTION.candidates[0], flags=(Flag.FENCED,))
    second = replace(ELECTION, designated_leader=2, candidates=(fenced, ELECTION.candidates[1]))
    assert judge_election(second, observation(offline_replicas=(1, 3))).status is None
    verdict = judge_election(second, observation())
    assert verdict.status is Status.REFUSED
    assert "broker 3 of a better rank was fenced in the plan and can be elected now: make a new plan" in verdict.reason
    by_hand = replace(second, candidates=ELECTION.candidates)
    assert judge_election(by_hand, observation()).status is None, "a person may designate another one than the best"


ORDINARY = replace(ELECTION, election_type=ElectionType.PREFERRED, designated_leader=2, isr=(), elr=(2, 4))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        pytest.param({"elr": (2, 4)}, None, id="as planned"),
        pytest.param({"elr": (4,)}, "the controller would elect broker 4, not the designated 2", id="another member"),
        pytest.param({"replicas": (1, 4, 3, 2), "elr": (2, 4)}, "elect broker 4, not the designated 2", id="order"),
        pytest.param({"elr": (1,)}, "no member of the ISR or ELR can lead it any more", id="only the dead are in it"),
        pytest.param({"elr": (), "last_known_elr": (2,)}, "no member of the ISR or ELR can lead it", id="nobody is"),
    ],
)
def test_an_ordinary_election_must_elect_the_designated_member(changes: dict[str, Any], reason: str | None) -> None:
    verdict = judge_election(ORDINARY, observation(**{"isr": (), **changes}))
    assert verdict.status is (None if reason is None else Status.REFUSED)
    assert (reason or "") in verdict.reason


def test_replicas_that_are_not_offline_are_acceptable() -> None:
    assert acceptable_replicas(STATE._replace(replicas=(1, 2, 3), offline_replicas=(2, 9))) == {1, 3}
