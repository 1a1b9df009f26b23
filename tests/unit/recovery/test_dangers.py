# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Empty logs, gaps and divergence in groups and verdicts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.candidate import (
    Candidate,
    Flag,
    SilentReplica,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.decide import decide
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.groups import group_outcomes, total_loss
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import Outcome, outcomes_of_plan
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Plan, PlannedElection, Status
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Policy, Strategy
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.verdict import describe_recovery
from unit.recovery.wreckage import a_candidate, an_offline_partition

EMPTY = a_candidate(2), a_candidate(3)
POLICY = Policy(Strategy.AGGRESSIVE, allow_empty_leader=True)


def foreseen(*candidates: Candidate, designated: int | None = None, **state: Any) -> Outcome:
    """Return the outcome of the election that is planned, while broker 1 is silent."""
    partition = an_offline_partition(replicas=(1, 2, 3), leader_epoch=7, offline=[1], **state)
    silent = [SilentReplica(1, Cause.UNREACHABLE, "")]
    ranked = [replace(each, rank=number) for number, each in enumerate(candidates, start=1)]
    decision = decide(partition, ranked, silent, POLICY, designated)
    is_planned = isinstance(decision, PlannedElection)
    plan = Plan("", "", (decision,) if is_planned else (), () if is_planned else (decision,))  # type: ignore[arg-type]
    return outcomes_of_plan(plan)[0]


def verdict(outcome: Outcome, status: Status = Status.WOULD_RECOVER) -> str:
    done = replace(outcome, status=status)
    return describe_recovery(Counter([status.value]), total_loss([done]), "")


def test_an_election_of_an_empty_log_never_loses_nothing() -> None:
    outcome = foreseen(*EMPTY)
    (members,) = group_outcomes([outcome])
    assert members.group.loss == "leaves the partition empty; what broker 1 may hold beyond that is unknown"
    assert verdict(outcome) == (
        "1 of 1 partition would be recovered; whether records would be lost is unknown; "
        "1 partition would be left empty."
    )
    assert verdict(outcome, Status.RECOVERED).endswith("1 partition was left empty.")


def test_partitions_with_empty_logs_are_one_group_whoever_is_first_among_them() -> None:
    one, other = foreseen(*EMPTY), foreseen(*reversed(EMPTY))
    refused = [replace(each, status=Status.REFUSED) for each in (one, replace(other, partition=1))]
    (members,) = group_outcomes(refused)
    assert members.group.partitions == 2
    assert members.group.loss == "leaves the partition empty; what broker 1 may hold beyond that is unknown"


def test_an_empty_log_of_the_elr_leaves_nothing_empty() -> None:
    outcome = foreseen(*EMPTY, elr=(2,), isr=())
    assert outcome.status is Status.WOULD_RECOVER
    assert total_loss([outcome]).left_empty == 0


@pytest.mark.parametrize(
    ("flag", "loss", "said"),
    [
        (Flag.GAP, "its log ends before the log of another replica begins", "no replica holds the records of a gap"),
        (Flag.DIVERGED, "its log holds records that the best one does not hold", ""),
    ],
)
def test_gaps_and_divergence_of_the_designated_leader_are_said(flag: Flag, loss: str, said: str) -> None:
    best, designated = a_candidate(3, (6, 80)), replace(a_candidate(2, (5, 30)), flags=(flag,))
    outcome = foreseen(best, designated, designated=2)
    (members,) = group_outcomes([outcome])
    assert loss in members.group.loss
    assert "loses at least" in members.group.loss
    assert said in verdict(outcome)
    assert not [
        text
        for text in ("its log ends", "holds records that the best")
        if text in group_outcomes([foreseen(best, designated)])[0].group.loss
    ]
