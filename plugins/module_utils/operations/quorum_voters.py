# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Makes a controller a voter, or no voter any more: judged before, asked once, and looked up afterwards."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.addresses import Address, parse_addresses
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.errors import (
    BrokerCallError,
    NoBrokerAnswersError,
    RequestRefusedError,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.quorum import features_request
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.raft_voters import add_voter, remove_voter
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.errors import KafkaOpsError
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.quorum import QuorumState, Voter
from ansible_collections.kafkaops.recovery.plugins.module_utils.operations.quorum_observation import observe_quorum
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.caught_up import is_caught_up, is_fetching
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.observation import Observation
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.voter_change import may_add, may_remove

_BETWEEN_LOOKS_S = 0.2


class Membership(StrEnum):
    """What a controller shall be."""

    PRESENT = "present"
    ABSENT = "absent"


class VoterRefusedError(KafkaOpsError):
    """The set of voters must not be changed like that now. Nothing was changed."""

    def __init__(self, what: str, reasons: Sequence[str]) -> None:
        self.reasons = tuple(reasons)
        super().__init__("\n".join([f"{what} is refused:", *(f"  {reason}" for reason in reasons)]))


class VoterChangeError(KafkaOpsError):
    """The change was asked for, and could not be seen done."""


@dataclass(frozen=True, slots=True)
class VoterChange:
    """A judged change, which may be carried out. ``before`` and ``after`` are all voters, in order of id."""

    membership: Membership
    voter: Voter
    before: tuple[Voter, ...]
    after: tuple[Voter, ...]
    cluster_id: str
    leader: Address | None
    """The leader's own listener, where it was asked there."""

    @property
    def is_needed(self) -> bool:
        return self.before != self.after


def plan_voter_change(wire: Wire, controllers: Sequence[Address], membership: Membership, wanted: Voter) -> VoterChange:
    """Looks at the quorum, and judges the change. Writes nothing.

    Raises VoterRefusedError with every reason, and what observe_quorum raises.
    """
    observation = observe_quorum(wire, controllers)
    voter = _completed(observation, membership, wanted)
    before = _voters(observation.state)
    after = _after(before, membership, voter)
    if before != after or observation.state is None:
        adds = membership is Membership.PRESENT
        judged = may_add(observation, voter) if adds else may_remove(observation, voter)
        if not judged.allowed:
            what = (
                f"{'adding' if adds else 'removing'} voter {voter.voter_id} ({voter.directory_id or 'no directory id'})"
            )
            raise VoterRefusedError(what, judged.reasons)
    return VoterChange(membership, voter, before, after, observation.cluster_id or "", _leader(observation))


def change_voters(
    wire: Wire, controllers: Sequence[Address], change: VoterChange, *, verify_timeout_ms: int
) -> tuple[Voter, ...]:
    """Asks for a judged change, once, and looks until it is seen. Returns all voters as they were seen then.

    A lost answer means nothing: what the quorum then looks like does.

    Raises VoterChangeError, NoBrokerAnswersError or RequestRefusedError.
    """
    deadline = time.monotonic() + verify_timeout_ms / 1000
    address = change.leader or wire.call_any(features_request, "ApiVersions")[1]
    ask = add_voter if change.membership is Membership.PRESENT else remove_voter
    fault = ""
    try:
        ask(wire, address, change.cluster_id, change.voter)
    except (BrokerCallError, RequestRefusedError) as error:
        fault = str(error)
    voters, missing = _look_until_done(wire, controllers, change, deadline)
    if missing:
        told = f"; the request: {fault}" if fault else ""
        raise VoterChangeError(
            f"voter {change.voter.voter_id} ({change.voter.directory_id}) was not seen {change.membership.value} "
            f"within {verify_timeout_ms} ms: {missing}{told}. Look with quorum_info before asking again"
        )
    return voters


def _look_until_done(
    wire: Wire, controllers: Sequence[Address], change: VoterChange, deadline: float
) -> tuple[tuple[Voter, ...], str]:
    """The voters, and what is not as it should be when the time is over; empty when all is."""
    while True:
        try:
            observation = observe_quorum(wire, controllers)
            voters, missing = _voters(observation.state), _missing(observation, change)
        except (BrokerCallError, NoBrokerAnswersError) as fault:
            voters, missing = (), str(fault)
        if not missing or time.monotonic() >= deadline:
            return voters, missing
        time.sleep(_BETWEEN_LOOKS_S)


def _missing(observation: Observation, change: VoterChange) -> str:
    state = observation.state
    if state is None:
        return f"there is no leader ({observation.silence})"
    voter = state.voter(change.voter.voter_id)
    is_voter = voter is not None and voter.directory_id == change.voter.directory_id
    if change.membership is Membership.ABSENT:
        return "it is a voter still" if is_voter else ""
    if voter is None or not is_voter:
        return "it is no voter"
    return "" if is_caught_up(observation, voter) else f"it is a voter, and lags by {voter.lag_records} records"


def _completed(observation: Observation, membership: Membership, wanted: Voter) -> Voter:
    """The voter with the directory id that it has, where none was given."""
    state = observation.state
    if wanted.directory_id is not None or state is None:
        return wanted
    voter = state.voter(wanted.voter_id)
    if voter is not None:
        return replace(wanted, directory_id=voter.directory_id)
    if membership is Membership.ABSENT:
        return wanted
    running = [each for each in state.observers_with(wanted.voter_id) if is_fetching(observation, each)]
    return replace(wanted, directory_id=running[0].directory_id) if len(running) == 1 else wanted


def _voters(state: QuorumState | None) -> tuple[Voter, ...]:
    return tuple(Voter(each.replica_id, each.directory_id, each.endpoints) for each in state.voters) if state else ()


def _after(before: tuple[Voter, ...], membership: Membership, voter: Voter) -> tuple[Voter, ...]:
    others = tuple(each for each in before if _key(each) != _key(voter))
    if membership is Membership.ABSENT:
        return others
    if others != before:  # its endpoints are its own business: it keeps them up to date itself
        return before
    return tuple(sorted([*others, voter], key=lambda each: each.voter_id))


def _key(voter: Voter) -> tuple[int, str | None]:
    return voter.voter_id, voter.directory_id


def _leader(observation: Observation) -> Address | None:
    for view in observation.looks[-1].views:
        if view.claims_leadership and observation.state is not None and view.node_id == observation.state.leader_id:
            return parse_addresses(view.address)[0]
    return None
