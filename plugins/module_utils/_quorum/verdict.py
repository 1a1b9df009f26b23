# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Collect all findings about a quorum, and judge which elections, restarts and voter changes (KIP-853) it can bear.

Pure; standard library only. If a state is unknown, the verdict is against the action.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from .._model.quorum import QuorumState, Voter
from .._model.reasons import named, plural
from .disruption import find_disruption
from .finding import Finding, FindingKind, Severity
from .liveness import find_liveness_problems, find_setup_problems
from .observation import Observation, caught_up_voters, is_caught_up, lagging_voters
from .without_leader import next_step

_ORDER = list(Severity)
_ONLY_PRE_VOTE = 22
"""The metadata.version 4.0-IV0: once it is finalized, no older node can register, and all of 4.0 have Pre-Vote."""
_TWO_FETCHES_MS = 2 * 500
"""A follower that lacks nothing fetches again after 500 ms (KafkaRaftClient.MAX_FETCH_WAIT_MS)."""


def collect_findings(observation: Observation) -> tuple[Finding, ...]:
    """Return all findings, the most severe first; none for a healthy quorum."""
    found = [*find_liveness_problems(observation), *find_disruption(observation)]
    found += find_setup_problems(observation, found)
    return tuple(sorted(found, key=lambda each: _ORDER.index(each.severity)))


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an action is allowed, and all reasons against it."""

    allowed: bool
    reasons: tuple[str, ...] = ()


def verdict(reasons: Iterable[str]) -> Verdict:
    """Return a verdict that allows the action if there is no reason against it."""
    against = tuple(reasons)
    return Verdict(not against, against)


def may_elect(observation: Observation) -> Verdict:
    """Judge whether elections, or any other write, may be requested from the controller now."""
    return verdict(_against_elections(observation))


def is_settled(observation: Observation) -> bool:
    """Return whether elections are allowed, and a longer look is not needed for that.

    The epoch of the leader stood still for two fetch intervals, every voter fetched and had all records meanwhile, and
    nothing was found that can start an election. All nodes have Pre-Vote (KIP-996): without it, a node that is no voter
    can raise the epoch every few seconds, which a second does not show. All other verdicts need the whole window: those
    against elections, those of a quorum with a problem, and those about the quorum's own nodes.
    """
    state = observation.state
    if state is None or observation.window_ms < _TWO_FETCHES_MS or not may_elect(observation).allowed:
        return False
    if (observation.metadata_version or 0) < _ONLY_PRE_VOTE:
        return False
    followers = [each for each in state.voters if each.replica_id != state.leader_id]
    ages = [age for each in followers for age in (each.lag_ms, each.since_fetch_ms)]
    return all(age is not None and age <= _TWO_FETCHES_MS for age in ages) and all(
        each.severity is Severity.INFO or each.kind is FindingKind.SINGLE_VOTER
        for each in collect_findings(observation)
    )


def _against_elections(observation: Observation) -> Iterator[str]:
    yield from why_cannot_commit(observation)
    yield from why_contested(observation)


def may_stop(observation: Observation, node_ids: Collection[int]) -> Verdict:
    """Judge whether these nodes may be stopped together: a majority of the voters must be caught up without them."""
    return verdict(_against_stop(observation, {*node_ids}))


def _against_stop(observation: Observation, node_ids: Collection[int]) -> Iterator[str]:
    refusals = [*why_cannot_commit(observation)]
    state = observation.state
    if refusals or state is None:
        yield from refusals
        yield from why_contested(observation)
        return
    voters = [each.replica_id for each in state.voters]
    stopped = sorted({*node_ids}.intersection(voters))
    if not stopped:
        return  # The quorum does not need them.
    yield from why_contested(observation)
    able = [each for each in caught_up_voters(observation) if each not in stopped]
    if len(able) < state.majority:
        yield (
            f"without {named('controller', stopped, len(stopped))}, "
            f"{len(able)} of {plural(len(voters), 'voter', 'are')} caught up "
            f"({_list_ids(able)}), and {state.majority} are needed; not caught up, or unknown: "
            f"{_list_ids(lagging_voters(observation))}"
        )


def may_add(observation: Observation, voter: Voter) -> Verdict:
    """Judge whether this controller may become a voter."""
    return verdict(_against_adding(observation, voter))


def _against_adding(observation: Observation, voter: Voter) -> Iterator[str]:
    yield from _against_change(observation)
    state = observation.state
    if state is None or observation.kraft_version == 0:  # Nothing that follows can be done in a static quorum.
        return
    yield from _why_broker(observation, voter)
    present = state.voter(voter.voter_id)
    if present is not None:
        yield (
            f"{voter.voter_id} is a voter already, with directory id {present.directory_id}: if that disk is lost, "
            "remove this voter first"
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
            f"controller {voter.voter_id} is not caught up: {_or_unknown(observer.lag_records)} records and "
            f"{_or_unknown(observer.lag_ms)} ms behind, last fetch {_or_unknown(observer.since_fetch_ms)} ms ago; "
            f"caught up is within {observation.caught_up_within_ms} ms"
        )
    else:
        caught_up.add(voter.voter_id)
    if present is None:
        voters = {each.replica_id for each in state.voters} | {voter.voter_id}
        yield from why_no_majority(state, caught_up, voters, f"with voter {voter.voter_id} added")


def may_remove(observation: Observation, voter: Voter) -> Verdict:
    """Judge whether this voter may be removed."""
    return verdict(_against_removing(observation, voter))


def _against_removing(observation: Observation, voter: Voter) -> Iterator[str]:
    yield from _against_change(observation)
    state = observation.state
    if state is None:
        return
    remaining = {each.replica_id for each in state.voters} - {voter.voter_id}
    if not remaining:
        yield f"{voter.voter_id} is the only voter"
        return
    yield from why_no_majority(state, caught_up_voters(observation), remaining, f"with voter {voter.voter_id} removed")
    yield from _why_would_return(observation, voter)


def _against_change(observation: Observation) -> Iterator[str]:
    yield from _why_static(observation)
    yield from _against_elections(observation)


def _why_static(observation: Observation) -> Iterator[str]:
    if observation.kraft_version is None:
        yield "kraft.version is unknown: no node returned the finalized features"
    elif observation.kraft_version == 0:
        yield (
            "the quorum is static (kraft.version 0): its voters are controller.quorum.voters on every node. "
            "kafka-features.sh upgrade --feature kraft.version=1 makes it dynamic (Kafka 4.1 and later)"
        )


def _why_broker(observation: Observation, voter: Voter) -> Iterator[str]:
    """Yield a reason if the node is a broker: brokers are observers too, and the leader would accept one as a voter."""
    controller = observation.controller(voter.voter_id)
    answers = controller is not None and controller.cause is None
    if voter.voter_id in observation.listed_broker_ids and not answers:
        yield (
            f"{voter.voter_id} is a registered broker, and did not answer as a controller: check voter_id. If it is "
            "both, name its controller listener in bootstrap_controllers"
        )


def _why_would_return(observation: Observation, voter: Voter) -> Iterator[str]:
    controller = observation.controller(voter.voter_id)
    if controller is not None and controller.cause is None and controller.auto_join:
        yield (
            f"controller {voter.voter_id} runs with controller.quorum.auto.join.enable: it would add itself again "
            "(KAFKA-19850); stop it first, or set this option to false on it"
        )


def why_cannot_commit(observation: Observation) -> Iterator[str]:
    """Yield the reasons why the quorum cannot commit a change now."""
    state = observation.state
    if state is None:
        yield f"no quorum: there is no leader that could be asked ({observation.silence}). {next_step(observation)}"
        return
    caught_up = caught_up_voters(observation)
    if len(caught_up) < state.majority:
        yield (
            f"no quorum: {len(caught_up)} of {plural(len(state.voters), 'voter', 'are')} caught up "
            f"({_list_ids(caught_up)}), and {state.majority} are needed; not caught up, or unknown: "
            f"{_list_ids(lagging_voters(observation))}"
        )


def why_contested(observation: Observation) -> Iterator[str]:
    """Yield the reasons to take the quorum's leadership for contested."""
    for finding in collect_findings(observation):
        if finding.kind is FindingKind.TWO_LEADERS:
            yield f"controllers {_list_ids(finding.node_ids)} both claim to lead"
        if finding.kind is FindingKind.EPOCH_CHURN:
            yield (
                f"the quorum's epoch rose from {finding.evidence['from_epoch']} to {finding.evidence['to_epoch']} "
                f"within {finding.evidence['window_ms']} ms: leadership is contested"
            )


def why_no_majority(state: QuorumState, caught_up: Iterable[int], voters: Iterable[int], event: str) -> Iterator[str]:
    """Yield a reason if no majority of the voters after an event is caught up. Without one, they cannot commit."""
    remaining = set(voters)
    able = sorted(remaining & set(caught_up))
    needed = len(remaining) // 2 + 1
    if len(able) < needed:
        yield (
            f"{event}, {len(able)} of {plural(len(remaining), 'voter')} would be caught up "
            f"({_list_ids(able)}), and {needed} are needed; not caught up, or unknown, now: "
            f"{_list_ids(sorted({each.replica_id for each in state.voters} - set(caught_up)))}"
        )


def _list_ids(node_ids: Iterable[int]) -> str:
    return ", ".join(map(str, node_ids)) or "none"


def _or_unknown(value: int | None) -> str:
    return "an unknown number of" if value is None else str(value)
