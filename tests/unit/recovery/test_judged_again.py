# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check a planned election again with answers of replicas that were silent in the plan (see also scenarios/apply)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange, Tail
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Cause,
    EpochEnd,
    PartitionState,
    ReplicaLog,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.candidate import (
    Candidate,
    Flag,
    SilentReplica,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.decide import decide
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.decide_again import decide_again
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import (
    PlannedElection,
    Status,
    find_tails,
    plan_election,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.preconditions import (
    PartitionObservation,
    judge_election,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Policy, Strategy
from unit.recovery.wreckage import a_candidate, an_offline_partition

STATE = an_offline_partition(replicas=(3, 2, 1), leader_epoch=7)


def planned(*candidates: Candidate, silent: int = 3) -> PlannedElection:
    """Return the election of the best candidate, while one replica was silent."""
    hung = SilentReplica(silent, Cause.HUNG, "")
    election = decide(STATE, candidates, [hung], Policy(Strategy.AGGRESSIVE))
    assert isinstance(election, PlannedElection)
    return election


def an_answer(broker_id: int, *lineage: tuple[int, int], start: int = 0, **fields: Any) -> ReplicaLog:
    """Return a replica's present answer, with this lineage of (epoch, end offset)."""
    found = a_candidate(broker_id, *lineage, log_start_offset=start)
    return ReplicaLog(
        STATE.topic,
        STATE.partition,
        broker_id,
        found.log_start_offset,
        found.log_end_offset,
        None,
        found.last_written_epoch,
        found.lineage,
        **fields,
    )


def again(election: PlannedElection, *answers: ReplicaLog, state: PartitionState | None = STATE) -> PlannedElection:
    """Return the election after the new check, which must not refuse it."""
    logs = {each.broker_id: each for each in answers}
    judged, reason = decide_again(election, PartitionObservation(state, logs))
    assert reason == ""
    return judged


def test_a_replica_that_answers_now_becomes_a_candidate() -> None:
    election = planned(a_candidate(2, (5, 80)))
    answer = an_answer(3, (4, 50), start=20, size_bytes=900, is_future=True)
    judged = again(election, answer)
    assert judged.silent == ()
    assert [each.broker_id for each in judged.losses] == [2, 3]
    assert [each.rank for each in judged.candidates] == [1, 2]
    assert judged.candidates[0].explanation == "rank 1: last written epoch 5 is the highest, log end offset 80"
    assert judged.candidates[1] == Candidate(
        broker_id=3,
        rank=2,
        last_written_epoch=4,
        log_start_offset=20,
        log_end_offset=50,
        lineage=(EpochEnd(4, 50),),
        size_bytes=900,
        flags=(Flag.FUTURE_REPLICA, Flag.DIVERGED),
        explanation=(
            "rank 2: last written epoch 4 < 5 of broker 2; a log-dir move is running on it: only its current log was "
            "ranked; it holds records that broker 2, rank 1, does not"
        ),
    )


def test_an_empty_log_that_answers_now_starts_and_ends_at_0() -> None:
    empty = again(planned(a_candidate(2, (5, 80))), an_answer(3)).candidates[1]
    assert (empty.broker_id, empty.log_start_offset, empty.log_end_offset) == (3, 0, 0)
    assert empty.flags == (Flag.EMPTY_LOG,)


@pytest.mark.parametrize(("silent", "answered", "ranking"), [(3, 2, [3, 2]), (1, 2, [2, 1]), (2, 3, [3, 2])])
def test_of_equal_logs_the_first_in_the_replica_list_is_the_best(
    silent: int, answered: int, ranking: list[int]
) -> None:
    judged = again(planned(a_candidate(answered, (5, 80)), silent=silent), an_answer(silent, (5, 80)))
    assert [each.broker_id for each in judged.candidates] == ranking
    assert judged.designated_leader == answered


def refused(election: PlannedElection, *answers: ReplicaLog) -> str:
    """Return why the new check refuses the election; empty if it does not."""
    return decide_again(election, PartitionObservation(STATE, {each.broker_id: each for each in answers}))[1]


@pytest.mark.parametrize(("limit", "is_refused"), [(19, True), (20, False)])
def test_a_better_replica_that_answers_now_counts_against_the_limit(limit: int, is_refused: bool) -> None:
    election = replace(planned(a_candidate(2, (5, 80))), max_lost_records=limit)
    assert ("make a new plan" in refused(election, an_answer(3, (5, 100)))) == is_refused


def test_what_a_person_chose_is_not_refused_because_the_best_replica_would_be() -> None:
    """Electing the best replica, 2, loses 100 records, and electing the chosen one, 3, loses 15."""
    policy, hung = Policy(Strategy.AGGRESSIVE, 20), SilentReplica(1, Cause.HUNG, "")
    logs = [a_candidate(2, (5, 15)), a_candidate(3, (4, 100), rank=2)]
    assert not isinstance(decide(STATE, logs, [hung], policy), PlannedElection)
    chosen = decide(STATE, logs, [hung], policy, 3)
    assert isinstance(chosen, PlannedElection)
    assert not refused(chosen, an_answer(1, (4, 50)))


def test_a_replica_that_cannot_be_compared_and_answers_now_is_for_a_person() -> None:
    election = planned(a_candidate(2, (5, 80)))
    answer = replace(an_answer(3), log_end_offset=100)
    assert "make a new plan" in refused(election, answer)
    hung = SilentReplica(3, Cause.HUNG, "")
    chosen = decide(STATE, [a_candidate(1, (5, 80)), a_candidate(2, (5, 70))], [hung], Policy(Strategy.AGGRESSIVE), 2)
    assert isinstance(chosen, PlannedElection)
    assert not refused(chosen, answer)


def test_elections_without_a_strategy_and_missing_partitions_are_not_decided_again() -> None:
    election, more = planned(a_candidate(2, (5, 80))), an_answer(3, (5, 200))
    no_strategy = replace(election, strategy=None)
    assert again(no_strategy, more) == no_strategy
    assert again(election, more, state=None) == election


def test_a_bare_designation_is_forecast_by_what_answers_right_before_it() -> None:
    bare = plan_election(STATE, 2, "broker 2 was designated")
    judged = again(bare, an_answer(2, (5, 80)), an_answer(3, (4, 50), (6, 60)))
    assert judged.reason.startswith(
        "broker 2 was designated; electing 2 loses offsets 0..59 (60 records) that replica 3 holds"
    )
    assert [(each.broker_id, each.cause) for each in judged.silent] == [(1, Cause.FENCED)]
    assert find_tails(judged) == (
        Tail(STATE.topic_partition, STATE.topic_id, 3, (EpochRange(4, 0, 50), EpochRange(6, 50, 60))),
    )


def test_the_reason_has_the_forecast_of_what_is_known_now() -> None:
    election = planned(a_candidate(2, (5, 80)), silent=3)
    judged = again(replace(election, notes=("noted",)), an_answer(3, (4, 100)))
    assert judged.explained == (
        "broker 2, rank 1: last written epoch 5 is the highest, log end offset 80; electing 2 loses offsets 0..99 "
        "(100 records) that replica 3 holds; noted"
    )
    assert find_tails(judged) == (Tail(STATE.topic_partition, STATE.topic_id, 3, (EpochRange(4, 0, 100),)),)


@pytest.mark.parametrize(
    ("planned_starts", "starts", "more"),
    [
        ((40, None), (39, None), "from offset 39 up to (epoch, offset) (5, 80)"),
        ((40, None), (40, None), ""),
        ((0, 40), (0, 30), "from offset 0 up to (epoch, offset) (5, 80)"),
        ((9, 30), (0, 40), ""),
        ((0, 30), (0, None), ""),
    ],
)
def test_a_replica_of_the_same_end_that_begins_earlier_holds_more(
    planned_starts: tuple[int, int | None], starts: tuple[int, int | None], more: str
) -> None:
    """Starts are those of the whole log and of the own disk. Only the end of the designated log is asked again."""
    start, local = planned_starts
    election = planned(replace(a_candidate(2, (5, 80), log_start_offset=start), local_log_start_offset=local))
    asked_again = replace(an_answer(2, (5, 80)), log_start_offset=None)
    answer = an_answer(3, (5, 80), start=starts[0], local_log_start_offset=starts[1])
    judged = judge_election(election, PartitionObservation(STATE, {2: asked_again, 3: answer}))
    assert judged.status is (Status.REFUSED if more else None)
    assert more in judged.reason
