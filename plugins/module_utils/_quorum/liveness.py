# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find out whether the quorum works now, and whether its size, timeouts and releases are good.

Pure; standard library only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from .._model.quorum import QuorumReplica
from .finding import DISRUPTIVE, Finding, FindingKind, Severity
from .observation import (
    Controller,
    Observation,
    caught_up_voters,
    is_another_disk,
    is_caught_up,
    is_fetching,
    is_new,
    is_removed,
    lagging_voters,
)
from .without_leader import next_step


def find_liveness_problems(observation: Observation) -> Iterator[Finding]:
    """Yield all findings about the leader and its followers."""
    yield from _find_no_leader(observation)
    yield from _find_two_leaders(observation)
    yield from _find_majority_not_caught_up(observation)
    yield from _find_lagging_voters(observation)
    yield from _find_silent_controllers(observation)


def _find_no_leader(observation: Observation) -> Iterator[Finding]:
    if observation.state is not None:
        return
    views = observation.looks[-1].views
    yield Finding(
        FindingKind.NO_LEADER,
        Severity.CRITICAL,
        (),
        {
            "controllers_asked": len(observation.controllers),
            "controllers_answering": len(views),
            "epochs": {each.id_or_address: each.epoch for each in views},
            "leaders_known": {each.id_or_address: each.leader_id for each in views},
            "silence": observation.silence,
        },
        "No controller leads, or the leader could not be asked. Nothing can be elected, created or changed, and "
        "brokers that restart now do not come up.",
        f"{next_step(observation)}. Format no disk while there is no leader (KAFKA-14205).",
    )


def _find_two_leaders(observation: Observation) -> Iterator[Finding]:
    for look in reversed(observation.looks):
        claims = [each for each in look.views if each.claims_leadership]
        # Compare ids, not addresses: the same leader is asked at two addresses if the given name is not the advertised.
        leaders = {each.node_id for each in claims if each.node_id is not None}
        if len(leaders) > 1:
            yield Finding(
                FindingKind.TWO_LEADERS,
                Severity.CRITICAL,
                tuple(sorted(leaders)),
                {"at_ms": look.at_ms, "epochs": {each.id_or_address: each.epoch for each in claims}},
                "Two controllers claim to lead. The one in the lower epoch is cut off: it can commit nothing, and its "
                "answers are out of date.",
                "Check the network between them. The controller in the lower epoch steps down when it learns of the "
                "higher epoch, or when no majority fetches from it.",
            )
            return


def _find_majority_not_caught_up(observation: Observation) -> Iterator[Finding]:
    state = observation.state
    if state is None:
        return
    caught_up = caught_up_voters(observation)
    if len(caught_up) >= state.majority:
        return
    lagging = lagging_voters(observation)
    yield Finding(
        FindingKind.MAJORITY_NOT_CAUGHT_UP,
        Severity.CRITICAL,
        lagging,
        {
            "voters": len(state.voters),
            "majority": state.majority,
            "caught_up": list(caught_up),
            "lag_ms": {each.replica_id: each.lag_ms for each in state.voters if each.replica_id in lagging},
            "caught_up_within_ms": observation.caught_up_within_ms,
        },
        "The leader cannot commit, or is about to step down: fewer than a majority of the voters have all its records. "
        "If it fails now, records that it acknowledged may be lost.",
        "Restart nothing, add or remove no voter, format no disk, and request no election. Bring the lagging "
        f"controllers {list(lagging)} back: check their disks, CPU and network.",
    )


def _find_lagging_voters(observation: Observation) -> Iterator[Finding]:
    state = observation.state
    if state is None:
        return
    for voter in state.voters:
        # A new voter that lags, and a new disk, are findings of their own.
        if voter.replica_id == state.leader_id or (is_new(observation, voter) and not is_caught_up(observation, voter)):
            continue
        if any(is_another_disk(observation, voter, each) for each in state.observers):
            continue
        if not is_fetching(observation, voter):
            yield _voter_not_fetching(observation, voter)
        elif not is_caught_up(observation, voter):
            yield Finding(
                FindingKind.VOTER_LAGS,
                Severity.WARNING,
                (voter.replica_id,),
                _lag_evidence(observation, voter),
                "The voter fetches, but does not keep up. It counts for no majority if another controller fails.",
                "Check its disk and CPU. Restart no other controller until it has caught up.",
            )


def _voter_not_fetching(observation: Observation, voter: QuorumReplica) -> Finding:
    controller = observation.controller(voter.replica_id)
    view = next((each for each in observation.looks[-1].views if each.node_id == voter.replica_id), None)
    answers = None if controller is None else controller.cause is None
    if view is not None:
        remedy = "It answers us, so it runs: check the network between it and the leader, in both directions."
    elif answers is False:
        remedy = "It does not answer us either: start it, or find out why it hangs."
    else:
        remedy = "Check whether it runs, and whether it reaches the leader."
    return Finding(
        FindingKind.VOTER_NOT_FETCHING,
        Severity.WARNING,
        (voter.replica_id,),
        {
            **_lag_evidence(observation, voter),
            "answers_us": answers,
            "follows": view.leader_id if view is not None else None,
            "epoch": view.epoch if view is not None else None,
        },
        "The voter is down, frozen or cut off, and does not count for a majority. If it was cut off, it requests an "
        "election when it returns. Without Pre-Vote, the leader then loses its leadership (KIP-996).",
        remedy,
    )


def _lag_evidence(observation: Observation, voter: QuorumReplica) -> dict[str, int | None]:
    return {
        "since_fetch_ms": voter.since_fetch_ms,
        "lag_ms": voter.lag_ms,
        "lag_records": voter.lag_records,
        "caught_up_within_ms": observation.caught_up_within_ms,
    }


def _find_silent_controllers(observation: Observation) -> Iterator[Finding]:
    for controller in observation.controllers:
        if controller.cause is None:
            continue
        if is_removed(observation, controller.node_id):
            yield _removed_controller(controller)
            continue
        yield Finding(
            FindingKind.CONTROLLER_SILENT,
            Severity.WARNING,
            () if controller.node_id is None else (controller.node_id,),
            {"address": controller.address, "cause": controller.cause.value, "error": controller.error},
            "The controller did not answer us on its own listener. It may still run and fetch from the leader.",
            "If it fetches from the leader, check the network between it and this host. Otherwise check if it runs.",
        )


def _removed_controller(controller: Controller) -> Finding:
    return Finding(
        FindingKind.REMOVED_CONTROLLER_REGISTERED,
        Severity.INFO,
        () if controller.node_id is None else (controller.node_id,),
        {"address": controller.address, "cause": controller.cause.value if controller.cause is not None else ""},
        "The controller is registered, but is no voter, does not fetch and does not answer: it was removed and "
        "stopped. It counts for nothing.",
        "Nothing has to be done: Kafka keeps the registration. Start it again only as a new voter.",
    )


LEAST_FETCH_TIMEOUT_MS = 1000
"""The leader delays an idle follower's Fetch by up to 500 ms. Below twice that, a normal pause looks like a failure."""
LEAST_ELECTION_TIMEOUT_MS = 500
"""Half of Kafka's default. A candidate waits this long for the votes of all others."""


def find_setup_problems(observation: Observation, found: Collection[Finding]) -> Iterator[Finding]:
    """Yield all findings about how the quorum is set up.

    ``found`` has all other findings. They decide the severity of a missing Pre-Vote.
    """
    yield from _find_low_timeouts(observation)
    yield from _find_different_timeouts(observation)
    yield from _find_bad_size(observation)
    yield from _find_missing_pre_vote(observation, {each.kind for each in found})


def _find_low_timeouts(observation: Observation) -> Iterator[Finding]:
    low = [each for each in observation.controllers if _is_low(each)]
    if low:
        yield Finding(
            FindingKind.TIMEOUTS_TOO_LOW,
            Severity.WARNING,
            _sorted_ids(low),
            {
                "fetch_timeout_ms": {each.id_or_address: each.fetch_timeout_ms for each in low},
                "election_timeout_ms": {each.id_or_address: each.election_timeout_ms for each in low},
                "least_fetch_timeout_ms": LEAST_FETCH_TIMEOUT_MS,
                "least_election_timeout_ms": LEAST_ELECTION_TIMEOUT_MS,
            },
            "A normal pause of the leader looks like a failure, and each one causes an election.",
            "Set controller.quorum.fetch.timeout.ms (Kafka's default: 2000) and controller.quorum.election.timeout.ms "
            "(1000) higher on these controllers, and restart them one by one.",
        )


_COMPARED = {
    "controller.quorum.fetch.timeout.ms": "fetch_timeout_ms",
    "controller.quorum.election.timeout.ms": "election_timeout_ms",
    "controller.quorum.election.backoff.max.ms": "election_backoff_ms",
    "controller.quorum.retry.backoff.ms": "retry_backoff_ms",
}


def _find_different_timeouts(observation: Observation) -> Iterator[Finding]:
    values = {
        name: {
            each.id_or_address: getattr(each, field)
            for each in observation.controllers
            if getattr(each, field) is not None
        }
        for name, field in _COMPARED.items()
    }
    differing = {name: each for name, each in values.items() if len(set(each.values())) > 1}
    if differing:
        nodes = {node for each in differing.values() for node in each}
        yield Finding(
            FindingKind.TIMEOUTS_DIFFER,
            Severity.INFO,
            tuple(sorted(each for each in nodes if isinstance(each, int))),
            differing,
            "The controller with the shortest timeouts requests elections when the others do not. A controller with a "
            "shorter backoff wins elections more often.",
            f"Set {', '.join(differing)} to the same value on all controllers, and restart them one by one.",
        )


def _is_low(controller: Controller) -> bool:
    fetch, election = controller.fetch_timeout_ms, controller.election_timeout_ms
    return (fetch is not None and fetch < LEAST_FETCH_TIMEOUT_MS) or (
        election is not None and election < LEAST_ELECTION_TIMEOUT_MS
    )


def _find_bad_size(observation: Observation) -> Iterator[Finding]:
    state = observation.state
    if state is None:
        return
    size = len(state.voters)
    if size == 1:
        yield Finding(
            FindingKind.SINGLE_VOTER,
            Severity.WARNING,
            (state.leader_id,),
            {"voters": 1, "failures_borne": 0},
            "There is only one controller: while it restarts, or if it fails, nothing can be elected. Its disk has the "
            "only copy of the cluster's metadata.",
            "Run three controllers. In a dynamic quorum (kraft.version 1), add them with quorum_voter.",
        )
    elif size % 2 == 0:
        yield Finding(
            FindingKind.EVEN_VOTERS,
            Severity.INFO,
            (),
            {"voters": size, "majority": state.majority, "failures_borne": size - state.majority},
            f"{size} voters bear no more failures than {size - 1}, and elections can end in a tie.",
            "This is normal while a voter is being replaced. Otherwise add or remove one voter.",
        )


def _find_missing_pre_vote(observation: Observation, found: Collection[FindingKind]) -> Iterator[Finding]:
    without = [each for each in observation.controllers if each.supports_pre_vote is False]
    if without:
        disrupted = sorted(DISRUPTIVE.intersection(found))
        yield Finding(
            FindingKind.PRE_VOTE_MISSING,
            Severity.WARNING if disrupted else Severity.INFO,
            _sorted_ids(without),
            {"controllers_without": len(without), "can_cost_an_election": [kind.value for kind in disrupted]},
            "These controllers do not ask whether they would win before they raise their epoch (Vote v2, KIP-996). "
            "A server that was cut off, or that lost its disk, causes an election when it returns."
            + (f" The other findings can cause one too: {', '.join(disrupted)}." if disrupted else ""),
            "Upgrade all controllers to Kafka 4.0 or later. Until then, repair networks when an election does no harm.",
        )


def _sorted_ids(controllers: Collection[Controller]) -> tuple[int, ...]:
    return tuple(sorted(each.node_id for each in controllers if each.node_id is not None))
