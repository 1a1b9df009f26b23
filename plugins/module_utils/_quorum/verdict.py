# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Everything that is wrong with a quorum, and what may be done to a cluster and to its set of voters (KIP-853).

Pure; standard library only. Unknown means no.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .._model.quorum import QuorumState, Voter
from .disruption import disruption
from .finding import Finding, Kind, Severity
from .liveness import liveness, shape
from .observation import Observation, caught_up_voters, is_caught_up, lagging_voters

_ORDER = list(Severity)


def findings(observation: Observation) -> tuple[Finding, ...]:
    """Return all findings, the most severe first; none for a healthy quorum."""
    found = [*liveness(observation), *disruption(observation)]
    found += shape(observation, found)
    return tuple(sorted(found, key=lambda each: _ORDER.index(each.severity)))


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether something may be done, and every reason why not."""

    allowed: bool
    reasons: tuple[str, ...] = ()


def verdict(reasons: Iterable[str]) -> Verdict:
    """Return a verdict that allows the action where there is no reason against it."""
    all_of_them = tuple(reasons)
    return Verdict(not all_of_them, all_of_them)


def may_elect(observation: Observation) -> Verdict:
    """Judge whether elections, or any other write, may be requested from the controller now."""
    return verdict(_against_elections(observation))


def _against_elections(observation: Observation) -> Iterator[str]:
    yield from cannot_commit(observation)
    yield from is_contested(observation)


def may_restart(observation: Observation, node_id: int) -> Verdict:
    """Judge whether this controller may be stopped: a majority must be caught up without it."""
    return verdict(_against_restart(observation, node_id))


def _against_restart(observation: Observation, node_id: int) -> Iterator[str]:
    refusals = [*cannot_commit(observation)]
    state = observation.state
    if refusals or state is None:
        yield from refusals
        yield from is_contested(observation)
        return
    voters = [each.replica_id for each in state.voters]
    if node_id not in voters:
        return  # The quorum does not need it.
    yield from is_contested(observation)
    able = [each for each in caught_up_voters(observation) if each != node_id]
    if len(able) < state.majority:
        yield (
            f"without controller {node_id}, {len(able)} of {len(voters)} voters are caught up ({_listed(able)}), and "
            f"{state.majority} are needed; not caught up, or unknown: {_listed(lagging_voters(observation))}"
        )


def may_add(observation: Observation, voter: Voter) -> Verdict:
    """Judge whether this controller may become a voter."""
    return verdict(_against_adding(observation, voter))


def _against_adding(observation: Observation, voter: Voter) -> Iterator[str]:
    yield from _against_any_change(observation)
    state = observation.state
    if state is None:
        return
    yield from _is_broker(observation, voter)
    present = state.voter(voter.voter_id)
    if present is not None:
        yield (
            f"{voter.voter_id} is a voter already, with directory id {present.directory_id}: remove that one first, if "
            "its disk is lost"
        )
    observers = {each.directory_id: each for each in state.observers_with(voter.voter_id)}
    observer = observers.get(voter.directory_id)
    caught_up = {*caught_up_voters(observation)}
    if observer is None:
        which = f" with directory id {voter.directory_id}" if voter.directory_id is not None else " that fetches"
        known = f", but with {', '.join(map(str, observers))}" if observers else ""
        yield (
            f"the leader knows no observer {voter.voter_id}{which}{known}: start it first, formatted with "
            "--no-initial-controllers"
        )
    elif not is_caught_up(observation, observer):
        yield (
            f"controller {voter.voter_id} is not caught up: {_number(observer.lag_records)} records and "
            f"{_number(observer.lag_ms)} ms behind, last fetch {_number(observer.since_fetch_ms)} ms ago; caught up is "
            f"within {observation.caught_up_within_ms} ms"
        )
    else:
        caught_up.add(voter.voter_id)
    if present is None:
        voters = {each.replica_id for each in state.voters} | {voter.voter_id}
        yield from lacks_majority(state, caught_up, voters, f"with voter {voter.voter_id} added")


def may_remove(observation: Observation, voter: Voter) -> Verdict:
    """Judge whether this voter may be removed."""
    return verdict(_against_removing(observation, voter))


def _against_removing(observation: Observation, voter: Voter) -> Iterator[str]:
    yield from _against_any_change(observation)
    state = observation.state
    if state is None:
        return
    remaining = {each.replica_id for each in state.voters} - {voter.voter_id}
    if not remaining:
        yield f"{voter.voter_id} is the only voter"
        return
    yield from lacks_majority(state, caught_up_voters(observation), remaining, f"with voter {voter.voter_id} removed")
    yield from _would_return(observation, state, voter)


def _against_any_change(observation: Observation) -> Iterator[str]:
    yield from _static(observation)
    yield from cannot_commit(observation)
    yield from is_contested(observation)


def _static(observation: Observation) -> Iterator[str]:
    if observation.kraft_version is None:
        yield "kraft.version is unknown: no node returned the finalized features"
    elif observation.kraft_version == 0:
        yield (
            "the quorum is static (kraft.version 0): its voters are controller.quorum.voters on every node. "
            "kafka-features.sh upgrade --feature kraft.version=1 makes it dynamic (Kafka 4.1 and later)"
        )


def _is_broker(observation: Observation, voter: Voter) -> Iterator[str]:
    """Return whether the node is a broker.

    Brokers are caught-up observers, and the leader would accept one as a voter.
    """
    controller = observation.controller(voter.voter_id)
    answers = controller is not None and controller.cause is None
    if voter.voter_id in observation.listed_broker_ids and not answers:
        yield (
            f"{voter.voter_id} is a registered broker, and did not answer as a controller: check voter_id. If it is "
            "both, name its controller listener in bootstrap_controllers"
        )


def _would_return(observation: Observation, state: QuorumState, voter: Voter) -> Iterator[str]:
    controller = observation.controller(voter.voter_id)
    if controller is not None and controller.cause is None and controller.auto_join:
        yield (
            f"controller {voter.voter_id} runs with controller.quorum.auto.join.enable: it would add itself again "
            "(KAFKA-19850); stop it, or set that to false on it, first"
        )


def cannot_commit(observation: Observation) -> Iterator[str]:
    """Yield the reasons why the quorum could not commit a change now."""
    state = observation.state
    if state is None:
        yield f"no quorum: there is no leader that could be asked ({observation.silence})"
        return
    caught_up = caught_up_voters(observation)
    if len(caught_up) < state.majority:
        yield (
            f"no quorum: {len(caught_up)} of {len(state.voters)} voters are caught up ({_listed(caught_up)}), and "
            f"{state.majority} are needed; not caught up, or unknown: {_listed(lagging_voters(observation))}"
        )


def is_contested(observation: Observation) -> Iterator[str]:
    """Yield the reasons why the quorum's leadership is contested."""
    for finding in findings(observation):
        if finding.kind is Kind.TWO_LEADERS:
            yield f"controllers {_listed(finding.node_ids)} both claim to lead"
        if finding.kind is Kind.EPOCH_CHURN:
            yield (
                f"the quorum's epoch rose from {finding.evidence['from_epoch']} to {finding.evidence['to_epoch']} "
                f"within {finding.evidence['window_ms']} ms: leadership is contested"
            )


def lacks_majority(state: QuorumState, caught_up: Iterable[int], voters: Iterable[int], event: str) -> Iterator[str]:
    """Yield why the voters that remain after an event could not commit: no majority of them is caught up."""
    remaining = set(voters)
    able = sorted(remaining & set(caught_up))
    needed = len(remaining) // 2 + 1
    if len(able) < needed:
        yield (
            f"{event}, {len(able)} of {len(remaining)} voters would be caught up ({_listed(able)}), and {needed} are "
            f"needed; not caught up, or unknown, now: "
            f"{_listed(sorted({each.replica_id for each in state.voters} - set(caught_up)))}"
        )


def _listed(node_ids: Iterable[int]) -> str:
    return ", ".join(map(str, node_ids)) or "none"


def _number(value: int | None) -> str:
    return "an unknown number of" if value is None else str(value)
