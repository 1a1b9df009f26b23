# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is proven of one log is proven of another one that holds all of it, and of no other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.outage import Assumption, ReplicaPast
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Cause
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.candidate import Candidate, SilentReplica
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.decide import decide
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.expected_loss import (
    ExpectedLoss,
    describe_losses,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.forecast import forecast_losses
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.groups import total_of
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import LeftAlone, PlannedElection
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Policy, ProofRule, Strategy
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.verdict import describe_loss
from unit.recovery.wreckage import a_candidate, an_offline_partition

ONE_IS_DEAD = an_offline_partition(elr=None, last_known_elr=None, isr=(1,), offline=(1,), leader_epoch=3)
UNPROVEN = ReplicaPast(lacks_seconds=60, proof="it left the ISR early")
PROVEN = ReplicaPast(lacks_seconds=20, keeps_acks_all=True, proof="broker 3 left the ISR last")
PASTS = {2: UNPROVEN, 3: PROVEN}
RIGHT, NOT_OLDER = Assumption.BOOT_TIMES_RIGHT, Assumption.DISK_NOT_OLDER
EQUAL = (a_candidate(2, (0, 150)), a_candidate(3, (0, 150)))


def loss_of_two(two: Candidate, three: Candidate) -> ExpectedLoss:
    losses = describe_losses(forecast_losses(ONE_IS_DEAD, (two, three), (1,)), PASTS)
    return next(each for each in losses if each.broker_id == 2)


@pytest.mark.parametrize(
    "two",
    [
        pytest.param(a_candidate(2, (0, 150)), id="an equal log"),
        pytest.param(a_candidate(2, (0, 170)), id="a longer log"),
        pytest.param(a_candidate(2, (0, 150), (1, 160)), id="a log that others led in"),
    ],
)
def test_a_log_that_holds_a_proven_one_is_proven(two: Candidate) -> None:
    loss = loss_of_two(two, a_candidate(3, (0, 150)))
    assert (loss.acks_all_lost, loss.lacks_seconds) == (0, 20)
    assert loss.proof == "it holds all that broker 3 holds, and broker 3 left the ISR last"


@pytest.mark.parametrize(
    ("two", "three"),
    [
        pytest.param(a_candidate(2, (0, 149)), a_candidate(3, (0, 150)), id="one record less"),
        pytest.param(a_candidate(2, (0, 100), (1, 150)), a_candidate(3, (0, 150)), id="other records at the end"),
        pytest.param(
            replace(a_candidate(2, (0, 150)), log_start_offset=10), a_candidate(3, (0, 150)), id="records were deleted"
        ),
        pytest.param(
            replace(a_candidate(2, (0, 150)), reused_epochs=(0,)),
            replace(a_candidate(3, (0, 150)), reused_epochs=(0,)),
            id="an epoch had two leaders",
        ),
    ],
)
def test_a_log_that_lacks_a_record_of_it_is_not_proven(two: Candidate, three: Candidate) -> None:
    loss = loss_of_two(two, three)
    assert (loss.acks_all_lost, loss.lacks_seconds, loss.proof) == (None, 60, "it left the ISR early")


def test_balanced_elects_the_first_of_equal_logs_by_the_proof_of_the_other() -> None:
    policy = Policy(Strategy.BALANCED, None, proof_rule=ProofRule.ACCEPT)
    election = decide(ONE_IS_DEAD, EQUAL, [SilentReplica(1, Cause.UNREACHABLE, "")], policy, pasts=PASTS)
    assert isinstance(election, PlannedElection)
    assert election.designated_leader == 2
    assert "it holds all that broker 3 holds, and broker 3 left the ISR last" in election.explained


@pytest.mark.parametrize(
    ("policy", "is_explained"),
    [
        pytest.param(Policy(Strategy.BALANCED, None, proof_rule=ProofRule.ACCEPT), True, id="the proof is asked for"),
        pytest.param(Policy(Strategy.BALANCED, None), False, id="it is not"),
    ],
)
def test_a_refusal_says_why_a_proof_that_was_asked_for_is_missing(policy: Policy, is_explained: bool) -> None:
    left = decide(
        ONE_IS_DEAD, [a_candidate(2, (0, 150))], [SilentReplica(1, Cause.UNREACHABLE, "")], policy, pasts=PASTS
    )
    assert isinstance(left, LeftAlone)
    why = "not proven that an election now loses no record that was acknowledged with acks=all: it left the ISR early"
    assert (why in left.reason) == is_explained


@pytest.mark.parametrize(
    ("own", "assumed", "words"),
    [
        pytest.param(
            replace(UNPROVEN, lacks_seconds=None),
            (RIGHT, NOT_OLDER),
            "broker 3 left the ISR last",
            id="the other's proof and time",
        ),
        pytest.param(UNPROVEN, (RIGHT, NOT_OLDER), "broker 3 left the ISR last", id="the other's proof, its own time"),
        pytest.param(replace(PROVEN, proof="it left last"), (), "it left last", id="its own proof assumes nothing"),
        pytest.param(
            replace(PROVEN, lacks_seconds=30, proof="it left last"), (), "it left last", id="a longer time for that"
        ),
    ],
)
def test_the_assumptions_are_those_of_what_is_used(
    own: ReplicaPast, assumed: tuple[Assumption, ...], words: str
) -> None:
    pasts = {2: own, 3: replace(PROVEN, assumptions=(NOT_OLDER, RIGHT))}
    losses = describe_losses(forecast_losses(ONE_IS_DEAD, EQUAL, (1,)), pasts)
    loss = next(each for each in losses if each.broker_id == 2)
    assert (loss.acks_all_lost, loss.assumptions) == (0, assumed)
    assert loss.proof.endswith(words)
    verdict = describe_loss(total_of(loss), 1, is_done=False)
    condition = "provided that the given boot times are right and no disk was restored from an older image"
    assert verdict.endswith(condition if assumed else "none of them was acknowledged with acks=all")


def test_a_loss_that_is_counted_assumes_nothing() -> None:
    past = replace(PROVEN, assumptions=(RIGHT,))
    forecasts = forecast_losses(ONE_IS_DEAD, EQUAL, ())
    assert {each.at_most for each in forecasts} == {0}
    assert {each.assumptions for each in describe_losses(forecasts, {2: past, 3: past})} == {()}
