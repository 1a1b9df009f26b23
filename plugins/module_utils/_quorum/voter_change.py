# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the set of voters may be changed (KIP-853). Pure; standard library only. Unknown means no."""

from __future__ import annotations

from collections.abc import Iterator

from .._model.quorum import QuorumState, Voter
from .observation import Observation, caught_up_voters, is_caught_up
from .verdict import Verdict, cannot_commit, is_contested, lacks_majority, verdict


def may_add(observation: Observation, voter: Voter) -> Verdict:
    """Judge whether this controller may become a voter."""
    return verdict(_against_adding(observation, voter))


def may_remove(observation: Observation, voter: Voter) -> Verdict:
    """Judge whether this voter may be removed."""
    return verdict(_against_removing(observation, voter))


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


def _number(value: int | None) -> str:
    return "an unknown number of" if value is None else str(value)
