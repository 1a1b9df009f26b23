# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Findings about whether the quorum works now, and whether it is set up to go on: its size, timeouts and releases.

Pure; standard library only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from .._model.quorum import QuorumReplica
from .finding import DISRUPTIVE, Finding, Kind, Severity
from .observation import (
    Controller,
    Observation,
    caught_up_voters,
    is_another_disk,
    is_caught_up,
    is_fetching,
    is_new,
    lagging_voters,
)


def liveness(observation: Observation) -> Iterator[Finding]:
    """Return all findings about who leads, and who follows."""
    yield from _no_leader(observation)
    yield from _two_leaders(observation)
    yield from _majority_not_caught_up(observation)
    yield from _voters(observation)
    yield from _silent_controllers(observation)


def _no_leader(observation: Observation) -> Iterator[Finding]:
    if observation.state is not None:
        return
    views = observation.looks[-1].views
    yield Finding(
        Kind.NO_LEADER,
        Severity.CRITICAL,
        (),
        {
            "controllers_asked": len(observation.controllers),
            "controllers_answering": len(views),
            "epochs": {each.node_id or each.address: each.epoch for each in views},
            "leaders_known": {each.node_id or each.address: each.leader_id for each in views},
            "silence": observation.silence,
        },
        "No controller leads, or none that could be asked. Nothing can be elected, created or changed, and brokers "
        "that restart now do not come up.",
        "Bring controllers back until a majority of the voters runs and reaches each other. A voter with an intact "
        "disk first: format no disk while there is no leader (KAFKA-14205).",
    )


def _two_leaders(observation: Observation) -> Iterator[Finding]:
    for look in reversed(observation.looks):
        claims = [each for each in look.views if each.claims_leadership]
        # Not by address: one leader is asked at two, when it is given by another name than it advertises.
        leaders = {each.node_id for each in claims if each.node_id is not None}
        if len(leaders) > 1:
            yield Finding(
                Kind.TWO_LEADERS,
                Severity.CRITICAL,
                tuple(sorted(leaders)),
                {"at_ms": look.at_ms, "epochs": {each.node_id or each.address: each.epoch for each in claims}},
                "Two controllers take themselves for the leader. The one of the lower epoch is cut off and can commit "
                "nothing, but what it answers is out of date.",
                "Look at the network between them. The older one steps down once it hears of the newer epoch, or "
                "without a majority that fetches from it.",
            )
            return


def _majority_not_caught_up(observation: Observation) -> Iterator[Finding]:
    state = observation.state
    if state is None:
        return
    caught_up = caught_up_voters(observation)
    if len(caught_up) >= state.majority:
        return
    lagging = lagging_voters(observation)
    yield Finding(
        Kind.MAJORITY_NOT_CAUGHT_UP,
        Severity.CRITICAL,
        lagging,
        {
            "voters": len(state.voters),
            "majority": state.majority,
            "caught_up": list(caught_up),
            "lag_ms": {each.replica_id: each.lag_ms for each in state.voters if each.replica_id in lagging},
            "caught_up_within_ms": observation.caught_up_within_ms,
        },
        "The leader cannot commit, or is about to step down: fewer than a majority of the voters have what it has. "
        "Should it fail now, records that it acknowledged may be lost.",
        "Restart nothing, add or remove no voter, format no disk, and ask for no election. Bring the lagging "
        f"controllers {list(lagging)} back, and look at their disks, CPU and network.",
    )


def _voters(observation: Observation) -> Iterator[Finding]:
    state = observation.state
    if state is None:
        return
    for voter in state.voters:
        # A new voter that lags is a finding of its own, and so is a new disk.
        if voter.replica_id == state.leader_id or (is_new(observation, voter) and not is_caught_up(observation, voter)):
            continue
        if any(is_another_disk(observation, voter, each) for each in state.observers):
            continue
        if not is_fetching(observation, voter):
            yield _not_fetching(observation, voter)
        elif not is_caught_up(observation, voter):
            yield Finding(
                Kind.VOTER_LAGS,
                Severity.WARNING,
                (voter.replica_id,),
                _lag(observation, voter),
                "It fetches, and does not keep up. It counts for no majority when another controller fails.",
                "Look at its disk and CPU. Restart no other controller until it has caught up.",
            )


def _not_fetching(observation: Observation, voter: QuorumReplica) -> Finding:
    controller = observation.controller(voter.replica_id)
    view = next((each for each in observation.looks[-1].views if each.node_id == voter.replica_id), None)
    answers = None if controller is None else controller.cause is None
    if view is not None:
        remedy = "It answers us, so it runs: look at the network between it and the leader, both ways."
    elif answers is False:
        remedy = "It does not answer us either: start it, or look at what it hangs in."
    else:
        remedy = "See whether it runs, and whether it reaches the leader."
    return Finding(
        Kind.VOTER_NOT_FETCHING,
        Severity.WARNING,
        (voter.replica_id,),
        {
            **_lag(observation, voter),
            "answers_us": answers,
            "follows": view.leader_id if view is not None else None,
            "epoch": view.epoch if view is not None else None,
        },
        "It is down, frozen or cut off, and counts for no majority. When it returns from being cut off, it asks for an "
        "election, which without Pre-Vote the leader loses (KIP-996).",
        remedy,
    )


def _lag(observation: Observation, voter: QuorumReplica) -> dict[str, int | None]:
    return {
        "since_fetch_ms": voter.since_fetch_ms,
        "lag_ms": voter.lag_ms,
        "lag_records": voter.lag_records,
        "caught_up_within_ms": observation.caught_up_within_ms,
    }


def _silent_controllers(observation: Observation) -> Iterator[Finding]:
    for controller in observation.controllers:
        if controller.cause is None:
            continue
        yield Finding(
            Kind.CONTROLLER_SILENT,
            Severity.WARNING,
            () if controller.node_id is None else (controller.node_id,),
            {"address": controller.address, "cause": controller.cause.value, "error": controller.error},
            "It did not answer us on its own listener. That is no proof that it is down: the leader may well hear it.",
            "When the leader hears it, look at what is between us and it. Otherwise see whether it runs.",
        )


LEAST_FETCH_TIMEOUT_MS = 1000
"""The leader holds an idle follower's Fetch for up to 500 ms. Below twice that, a normal pause looks like a failure."""
LEAST_ELECTION_TIMEOUT_MS = 500
"""Half of Kafka's default. A candidate waits that long for the votes of all others."""


def shape(observation: Observation, found: Collection[Finding]) -> Iterator[Finding]:
    """Return all findings about how the quorum is set up.

    ``found`` are all others, which change the severity of one of these.
    """
    yield from _timeouts(observation)
    yield from _differences(observation)
    yield from _size(observation)
    yield from _pre_vote(observation, {each.kind for each in found})


def _timeouts(observation: Observation) -> Iterator[Finding]:
    low = [each for each in observation.controllers if _is_low(each)]
    if low:
        yield Finding(
            Kind.TIMEOUTS_TOO_LOW,
            Severity.WARNING,
            _ids(low),
            {
                "fetch_timeout_ms": {each.node_id or each.address: each.fetch_timeout_ms for each in low},
                "election_timeout_ms": {each.node_id or each.address: each.election_timeout_ms for each in low},
                "least_fetch_timeout_ms": LEAST_FETCH_TIMEOUT_MS,
                "least_election_timeout_ms": LEAST_ELECTION_TIMEOUT_MS,
            },
            "A normal pause looks like a leader's failure and causes an election each time.",
            "Set controller.quorum.fetch.timeout.ms (Kafka's default: 2000) and controller.quorum.election.timeout.ms "
            "(1000) higher on these controllers, and restart them one by one.",
        )


_COMPARED = {
    "controller.quorum.fetch.timeout.ms": "fetch_timeout_ms",
    "controller.quorum.election.timeout.ms": "election_timeout_ms",
    "controller.quorum.election.backoff.max.ms": "election_backoff_ms",
    "controller.quorum.retry.backoff.ms": "retry_backoff_ms",
}


def _differences(observation: Observation) -> Iterator[Finding]:
    values = {
        name: {
            each.node_id if each.node_id is not None else each.address: getattr(each, field)
            for each in observation.controllers
            if getattr(each, field) is not None
        }
        for name, field in _COMPARED.items()
    }
    differing = {name: each for name, each in values.items() if len(set(each.values())) > 1}
    if differing:
        nodes = {node for each in differing.values() for node in each}
        yield Finding(
            Kind.TIMEOUTS_DIFFER,
            Severity.INFO,
            tuple(sorted(each for each in nodes if isinstance(each, int))),
            differing,
            "The controller with the shortest timeouts calls elections when the others do not, and one with a shorter "
            "backoff wins them more often.",
            f"Set {', '.join(differing)} to the same value on all controllers, and restart them one by one.",
        )


def _is_low(controller: Controller) -> bool:
    fetch, election = controller.fetch_timeout_ms, controller.election_timeout_ms
    return (fetch is not None and fetch < LEAST_FETCH_TIMEOUT_MS) or (
        election is not None and election < LEAST_ELECTION_TIMEOUT_MS
    )


def _size(observation: Observation) -> Iterator[Finding]:
    state = observation.state
    if state is None:
        return
    size = len(state.voters)
    if size == 1:
        yield Finding(
            Kind.SINGLE_VOTER,
            Severity.WARNING,
            (state.leader_id,),
            {"voters": 1, "failures_borne": 0},
            "There is one controller: when it restarts or fails, nothing can be elected, and its disk holds the only "
            "copy of the cluster's metadata.",
            "Run three controllers. A dynamic quorum (kraft.version 1) takes more with quorum_voter.",
        )
    elif size % 2 == 0:
        yield Finding(
            Kind.EVEN_VOTERS,
            Severity.INFO,
            (),
            {"voters": size, "majority": state.majority, "failures_borne": size - state.majority},
            f"{size} voters bear no more failures than {size - 1}, and elections can be tied.",
            "Fine while voters are being replaced. Otherwise add or remove one.",
        )


def _pre_vote(observation: Observation, found: Collection[Kind]) -> Iterator[Finding]:
    lacking = [each for each in observation.controllers if each.supports_pre_vote is False]
    if lacking:
        disrupted = sorted(DISRUPTIVE.intersection(found))
        yield Finding(
            Kind.PRE_VOTE_MISSING,
            Severity.WARNING if disrupted else Severity.INFO,
            _ids(lacking),
            {"controllers_without": len(lacking), "can_cost_an_election": [kind.value for kind in disrupted]},
            "These controllers do not ask whether they would win before they raise their epoch (Vote v2, KIP-996). "
            "A server that was cut off, or that lost its disk, costs the quorum an election when it returns."
            + (f" That holds for what else was found: {', '.join(disrupted)}." if disrupted else ""),
            "Bring all controllers to Kafka 4.0 or later. Until then repair networks in quiet moments.",
        )


def _ids(controllers: Collection[Controller]) -> tuple[int, ...]:
    return tuple(sorted(each.node_id for each in controllers if each.node_id is not None))
