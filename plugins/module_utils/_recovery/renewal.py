# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judge the elections of an edited plan like new ones. Pure; standard library only."""

from __future__ import annotations

from dataclasses import replace

from .._documents.errors import Problem, pointer
from .decide import decide
from .plan import INTERNAL_NOTE, LeftAlone, Plan, PlannedElection
from .preconditions import dropping
from .strategy import Policy


def renewed(plan: Plan) -> tuple[Plan, tuple[Problem, ...]]:
    """Return the plan with reason and forecast of each election as they follow from what the entry says, and what is
    against it.

    An election that nobody edited stays as it is, its notes on transactions included.
    """
    elections, problems = [], []
    for index, election in enumerate(plan.elections):
        place = pointer("partitions", index)
        if election.strategy is None:
            message = "it has no strategy, by which it could be judged"
            problems.append(Problem(f"{place}/strategy", message, "Give none, balanced or aggressive"))
            continue
        decision = _decision(election, Policy(election.strategy, election.max_lost_records))
        if isinstance(decision, LeftAlone):
            remedy = "Designate another candidate, change the strategy or the limit of this entry, or remove it"
            problems.append(Problem(place, f"{election.topic_partition}: {decision.reason}", remedy))
        else:
            elections.append(election if _is_same(election, decision) else _with_notes(decision, election))
    return replace(plan, elections=tuple(elections)), tuple(problems)


def _decision(election: PlannedElection, policy: Policy) -> PlannedElection | LeftAlone:
    decision = _decide(election, policy)
    if isinstance(decision, PlannedElection) and decision.designated_leader == election.designated_leader:
        chosen = _decide(election, policy, election.designated_leader)
        return chosen if isinstance(chosen, PlannedElection) and _is_same(election, chosen) else decision
    return _decide(election, policy, election.designated_leader)


def _decide(election: PlannedElection, policy: Policy, designated: int | None = None) -> PlannedElection | LeftAlone:
    decision = decide(election.state, election.candidates, election.silent, policy, designated)
    # Which brokers are registered does not follow from the entry.
    return replace(decision, dropped=election.dropped) if isinstance(decision, PlannedElection) else decision


def _is_same(election: PlannedElection, decision: PlannedElection) -> bool:
    """Return whether the decision is what the plan says. Notes follow the reason."""
    is_same_reason = election.reason == decision.reason or election.reason.startswith(f"{decision.reason}; ")
    return is_same_reason and replace(election, reason=decision.reason) == decision


def _with_notes(decision: PlannedElection, edited: PlannedElection) -> PlannedElection:
    notes = [INTERNAL_NOTE] if INTERNAL_NOTE in edited.reason else []
    notes += [dropping(decision.dropped)] if decision.dropped else []
    notes.append(
        f"broker {decision.designated_leader} was not asked for open transactions after the edit: unknown whether "
        "COMMIT or ABORT markers are missing"
    )
    return replace(decision, reason="; ".join([decision.reason, *notes]))
