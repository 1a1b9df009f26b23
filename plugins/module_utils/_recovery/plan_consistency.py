# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check a plan that a person may have edited: its parts must agree, and its elections must be allowed.

Standard library only. A schema cannot check that the parts agree. Only entries that meet their schema are checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeAlias

from .._documents.dataclass_json import codec
from .._documents.errors import Problem, join_words, pointer
from .._documents.screen import screen
from .decide import decide
from .plan import OPEN_TRANSACTION_NOTE, ElectionType, LeftAlone, Plan, PlannedElection, Status
from .preconditions import DROP_NOTE, REASSIGNMENT_NOTE, explain_drop, explain_reassignment
from .sort_keys import HOLDS_MOST, python_order

_ENTRIES = {"partitions": screen(codec(PlannedElection).schema), "leftAlone": screen(codec(LeftAlone).schema)}

_OF_ELECTIONS = (Status.RECOVERED, Status.WOULD_RECOVER)

_BY_HOLDINGS = python_order(HOLDS_MOST)

Place: TypeAlias = "tuple[str | int, ...]"


def find_consistency_problems(plan: dict[str, Any], *, all_meet_schema: bool) -> Iterator[Problem]:
    """Yield problems such as duplicate partitions, brokers that are no replicas, and impossible logs."""
    seen: dict[tuple[str, int], tuple[Place, int | None]] = {}
    for place, entry in _list_valid_entries(plan, all_meet_schema):
        leader = entry.get("designatedLeader")
        first_place, first_leader = seen.setdefault((entry["topic"], entry["partition"]), (place, leader))
        if first_place != place:
            yield _explain_duplicate(entry, place, leader, first_place, first_leader)
        if entry.get("status") in _OF_ELECTIONS:
            message = f"{entry['status']} is the status of an election, and this partition has none"
            yield Problem(pointer(*place, "status"), message, "Give the status and the reason that it had in the plan")
        if "designatedLeader" in entry and entry["strategy"] is None:
            message = "it has no strategy, so that it cannot be decided again"
            yield Problem(pointer(*place, "strategy"), message, "Give none, balanced or aggressive")
        problems = [*_find_replica_problems(entry, place)]
        yield from problems or _find_left_out(entry, place)
        for index, candidate in enumerate(entry["candidates"]):
            yield from _find_log_problems(candidate, (*place, "candidates", index))


def _list_valid_entries(plan: dict[str, Any], all_meet_schema: bool) -> Iterator[tuple[Place, dict[str, Any]]]:
    for key, meets in _ENTRIES.items():
        entries = plan.get(key)
        if isinstance(entries, list):
            yield from (((key, index), entry) for index, entry in enumerate(entries) if all_meet_schema or meets(entry))


def _explain_duplicate(
    entry: dict[str, Any], place: Place, leader: int | None, first: Place, first_leader: int | None
) -> Problem:
    name, where = f"{entry['topic']}-{entry['partition']}", pointer(*first)
    if leader == first_leader:
        return Problem(pointer(*place), f"{name} is there already at {where}", "Remove one of the two")
    message = f"{name} is to be led by {_name_broker(leader)} here, and by {_name_broker(first_leader)} at {where}"
    return Problem(pointer(*place), message, "Remove the wrong entry")


def _name_broker(broker_id: int | None) -> str:
    return "nobody" if broker_id is None else f"broker {broker_id}"


def _find_replica_problems(entry: dict[str, Any], place: Place) -> Iterator[Problem]:
    replicas = entry["replicas"]
    candidates = [candidate["brokerId"] for candidate in entry["candidates"]]
    silent = [replica["brokerId"] for replica in entry["silent"]]
    leader = entry.get("designatedLeader")
    if leader is not None:
        at = pointer(*place, "designatedLeader")
        if leader not in replicas:
            yield Problem(
                at,
                _explain_unknown_broker(leader, replicas),
                "Designate a replica: an election never changes the replica set",
            )
        elif leader not in candidates and entry["electionType"] == ElectionType.UNCLEAN:
            message = f"broker {leader} is not among the candidates, which are {join_words(candidates)}"
            yield Problem(at, message, "Designate a candidate: what another replica holds is not known")
    # The replicas of a partition that is left alone may be unknown.
    known = replicas or [*candidates, *silent]
    yield from _find_broker_problems(replicas, known, [(*place, "replicas", index) for index in range(len(replicas))])
    dropped = entry.get("dropped", [])
    yield from _find_broker_problems(dropped, known, [(*place, "dropped", index) for index in range(len(dropped))])
    if leader is not None and leader in dropped:
        at = pointer(*place, "dropped", dropped.index(leader))
        yield Problem(at, f"broker {leader} is to lead, and to be dropped", "Remove it here, or designate another one")
    places = [(*place, "candidates", index, "brokerId") for index in range(len(candidates))]
    places += [(*place, "silent", index, "brokerId") for index in range(len(silent))]
    yield from _find_broker_problems([*candidates, *silent], known, places)
    for index, (one, next_one) in enumerate(pairwise(entry["candidates"]), start=1):
        if one["rank"] >= next_one["rank"]:
            message = f"rank {next_one['rank']} comes after rank {one['rank']}"
            yield Problem(
                pointer(*place, "candidates", index, "rank"), message, "Put the candidates in order, the best first"
            )


def _find_left_out(entry: dict[str, Any], place: Place) -> Iterator[Problem]:
    """Yield the replicas that an election does not describe. What they hold would count as nothing."""
    if "designatedLeader" not in entry:
        return
    candidates = [each["brokerId"] for each in entry["candidates"]]
    described = {*candidates, *(each["brokerId"] for each in entry["silent"])}
    for index, broker in enumerate(entry["replicas"]):
        if broker not in described:
            message = f"broker {broker} is neither among the candidates nor among the silent replicas"
            remedy = "Restore its entry, also if the broker is lost for good, or make the plan again"
            yield Problem(pointer(*place, "replicas", index), message, remedy)
    forecast = [each["brokerId"] for each in entry["losses"]]
    if forecast != candidates:
        message = f"the losses are of {join_words(forecast)}, and the candidates are {join_words(candidates)}"
        yield Problem(pointer(*place, "losses"), message, "Give the loss of each candidate, in the same order")


def _find_broker_problems(brokers: Sequence[int], known: Sequence[int], places: Sequence[Place]) -> Iterator[Problem]:
    for index, (broker, place) in enumerate(zip(brokers, places, strict=True)):
        if broker not in known:
            yield Problem(
                pointer(*place), _explain_unknown_broker(broker, known), "Correct the broker id, or remove the entry"
            )
        if broker in brokers[:index]:
            first = pointer(*places[brokers.index(broker)])
            yield Problem(pointer(*place), f"broker {broker} is there already at {first}", "Remove one of the two")


def _explain_unknown_broker(broker: int, replicas: Sequence[int]) -> str:
    return f"broker {broker} is not among the replicas, which are {join_words(replicas)}"


def _find_log_problems(candidate: dict[str, Any], place: Place) -> Iterator[Problem]:
    remedy = "Restore what the replica reported, or make the plan again"
    start, end = candidate["logStartOffset"], candidate["logEndOffset"]
    if end < start:
        message = f"the log end offset {end} lies before the log start offset {start}"
        yield Problem(pointer(*place, "logEndOffset"), message, remedy)
    for index, ((epoch, offset), (next_epoch, next_offset)) in enumerate(pairwise(candidate["lineage"]), start=1):
        if next_epoch <= epoch or next_offset < offset:
            message = f"epoch {next_epoch}, end offset {next_offset}, comes after epoch {epoch}, end offset {offset}"
            yield Problem(pointer(*place, "lineage", index), message, remedy)


def renew_plan(plan: Plan) -> tuple[Plan, tuple[Problem, ...]]:
    """Decide each election again by its entry. Return the plan with the new reasons and forecasts, and the problems.

    An election that was not edited stays as it is, including its notes on transactions.
    """
    elections, problems = [], []
    for index, election in enumerate(plan.elections):
        place = pointer("partitions", index)
        if misplaced := [*_find_misplaced(election, f"{place}/candidates")]:
            problems += misplaced
            continue
        decision = _decide_as_planned(election)
        if isinstance(decision, LeftAlone):
            remedy = "Designate another candidate, change the strategy or the limit of this entry, or remove it"
            problems.append(Problem(place, f"{election.topic_partition}: {decision.reason}", remedy))
        else:
            elections.append(election if _is_same(election, decision) else _add_notes(decision, election))
    return replace(plan, elections=tuple(elections)), tuple(problems)


def _find_misplaced(election: PlannedElection, place: str) -> Iterator[Problem]:
    """Yield a candidate that ranks before one whose log holds more. The election order follows the ranks."""
    for one, next_one in pairwise(election.candidates):
        if _BY_HOLDINGS(next_one) < _BY_HOLDINGS(one):
            message = f"the log of broker {next_one.broker_id}, rank {next_one.rank}, holds more than that of broker "
            message += f"{one.broker_id}, rank {one.rank}"
            yield Problem(place, message, "Leave the candidates as they were, and change only designatedLeader")
            return


def _decide_as_planned(election: PlannedElection) -> PlannedElection | LeftAlone:
    decision = _decide(election)
    if isinstance(decision, PlannedElection) and decision.designated_leader == election.designated_leader:
        chosen = _decide(election, election.designated_leader)
        return chosen if isinstance(chosen, PlannedElection) and _is_same(election, chosen) else decision
    return _decide(election, election.designated_leader)


def _decide(election: PlannedElection, designated: int | None = None) -> PlannedElection | LeftAlone:
    pasts = {each.broker_id: each.past for each in election.losses}
    decision = decide(election.state, election.candidates, election.silent, election.policy, designated, pasts=pasts)
    if isinstance(decision, LeftAlone):
        return decision
    # The rest was found in the cluster and does not follow from the logs: it is as the plan found it.
    return replace(
        decision,
        dropped=election.dropped,
        adding=election.adding,
        removing=election.removing,
        history=election.history,
        has_unread_batches=election.has_unread_batches,
    )


def _is_same(election: PlannedElection, decision: PlannedElection) -> bool:
    """Return whether the decision is the election of the plan, apart from its notes."""
    return replace(election, notes=()) == decision


_OF_ONE_DECISION = (OPEN_TRANSACTION_NOTE, DROP_NOTE, REASSIGNMENT_NOTE)
"""Parts of notes that depend on who leads, or on what is dropped."""


def _add_notes(decision: PlannedElection, edited: PlannedElection) -> PlannedElection:
    notes = [each for each in edited.notes if not any(part in each for part in _OF_ONE_DECISION)]
    notes += [explain_drop(decision.dropped)] if decision.dropped else []
    notes += [explain_reassignment(decision)] if decision.reassignment else []
    notes.append(
        f"broker {decision.designated_leader} was not asked for open transactions after the edit: unknown whether "
        f"{OPEN_TRANSACTION_NOTE}s are missing"
    )
    return replace(decision, notes=tuple(notes))
