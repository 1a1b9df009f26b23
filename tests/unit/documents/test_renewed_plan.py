# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An edited election is decided again with all that the plan knew: recordings, proofs, and what the cluster said."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.outage import (
    OutageHistory,
    RecordedLoss,
    ReplicaPast,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    NO_LEADER,
    Cause,
    PartitionState,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.candidate import SilentReplica
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.decide import decide
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import (
    INTERNAL_NOTE,
    Plan,
    PlannedElection,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan_consistency import renew_plan
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan_file import check_plan, plan_document
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.preconditions import (
    explain_drop,
    explain_reassignment,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Policy, ProofRule, Strategy
from unit.documents.examples import CLUSTER_ID, TOPIC_ID, a_candidate

_HISTORY = OutageHistory(1, None, "2026-01-31T02:10:00.000Z", (), ("the metadata log",), ())
_SEEN_AT = "2026-01-31T02:08:00.000Z"
_RECORDED = {
    3: ReplicaPast(recorded=RecordedLoss(1, _SEEN_AT, 50)),
    2: ReplicaPast(recorded=RecordedLoss(1, _SEEN_AT, 100)),
}
"""Broker 1 is dead, and held 200 records when it was recorded."""


def _election(policy: Policy, pasts: dict[int, ReplicaPast]) -> PlannedElection:
    """Return the plan's election of broker 3, which holds 150 records. Broker 2 holds 100 of them."""
    state = PartitionState("foo", 1, TOPIC_ID, NO_LEADER, 7, (1, 2, 3), (1,), (), None, (1,))
    candidates = (a_candidate(3, 1, 150), a_candidate(2, 2, 100))
    silent = (SilentReplica(1, Cause.UNREACHABLE, "it is dead"),)
    decision = decide(state, candidates, silent, policy, pasts=pasts)
    assert isinstance(decision, PlannedElection), decision.reason
    return replace(decision, history=_HISTORY)


def _renewed(election: PlannedElection) -> tuple[PlannedElection | None, str]:
    """Return the election after it was written, read and renewed, and what is said against it."""
    plan = check_plan(plan_document(Plan(CLUSTER_ID, "2026-01-31T23:59:59Z", (election,), ())))
    renewed, problems = renew_plan(plan)
    return next(iter(renewed.elections), None), "; ".join(each.message for each in problems)


def test_a_recording_counts_when_another_leader_is_designated() -> None:
    planned = _election(Policy(Strategy.AGGRESSIVE, max_lost_records=60), _RECORDED)
    election, problem = _renewed(replace(planned, designated_leader=2))
    assert election is None
    assert "electing 2 loses 100 or more records, and the limit is 60" in problem


@pytest.mark.parametrize(
    ("policy", "pasts"),
    [
        (Policy(Strategy.AGGRESSIVE), _RECORDED),
        (
            Policy(Strategy.BALANCED, proof_rule=ProofRule.STRICT),
            {3: ReplicaPast(keeps_acks_all=True, proof="it left the ISR last")},
        ),
    ],
    ids=["recorded", "proven"],
)
def test_an_election_that_nobody_edited_stays_as_it_is(policy: Policy, pasts: dict[int, ReplicaPast]) -> None:
    planned = replace(
        _election(policy, pasts),
        notes=("producer 7 has a transaction open",),
        adding=(4,),
        removing=(2,),
        has_unread_batches=True,
    )
    assert _renewed(planned) == (planned, "")


def test_an_edited_election_keeps_what_the_cluster_said() -> None:
    planned = replace(
        _election(Policy(Strategy.AGGRESSIVE), _RECORDED),
        adding=(4,),
        removing=(1,),
        dropped=(1,),
        has_unread_batches=True,
    )
    election, problem = _renewed(replace(planned, designated_leader=2))
    assert election is not None, problem
    assert (election.history, election.adding, election.removing, election.dropped) == (_HISTORY, (4,), (1,), (1,))
    assert election.has_unread_batches
    assert election.losses == planned.losses


def test_only_notes_on_the_former_leader_are_made_again() -> None:
    planned = replace(_election(Policy(Strategy.AGGRESSIVE), {}), adding=(4,), removing=(3,), dropped=(1,))
    other = "the log of silent replica 1 ended at offset 90"
    open_transaction = "producer 7 has a transaction open from offset 5 on: its COMMIT or ABORT marker may be missing"
    notes = (other, explain_drop([1]), explain_reassignment(planned), INTERNAL_NOTE, open_transaction)
    election, problem = _renewed(replace(planned, designated_leader=2, notes=notes))
    assert election is not None, problem
    assert election.notes[:-1] == (other, INTERNAL_NOTE, explain_drop([1]), explain_reassignment(election))
    assert election.notes[-1].startswith("broker 2 was not asked for open transactions after the edit")


def test_ranks_follow_from_the_logs() -> None:
    """If the designated broker is fenced at the last moment, the controller elects the one of the next rank."""
    planned = _election(Policy(Strategy.AGGRESSIVE), {})
    best, second = planned.candidates
    election, problem = _renewed(
        replace(
            planned,
            designated_leader=2,
            candidates=(replace(second, rank=1), replace(best, rank=2)),
            losses=planned.losses[::-1],
        )
    )
    assert election is None
    assert problem == "the log of broker 3, rank 2, holds more than that of broker 2, rank 1"
