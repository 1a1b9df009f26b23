# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Findings about how the quorum is set up: its size, its timeouts, its release. Pure; standard library only."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from .finding import DISRUPTIVE, Finding, Kind, Severity
from .observation import Controller, Observation

LEAST_FETCH_TIMEOUT_MS = 1000
"""The leader holds an idle follower's Fetch for up to 500 ms. Below twice that, a normal pause looks like a failure."""
LEAST_ELECTION_TIMEOUT_MS = 500
"""Half of Kafka's default. A candidate waits that long for the votes of all others."""


def shape(observation: Observation, found: Collection[Finding]) -> Iterator[Finding]:
    """Return all findings of this file.

    ``found`` are those of the other files, which change the severity of one of these.
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
