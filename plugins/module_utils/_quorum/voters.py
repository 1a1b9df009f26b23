# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Make a controller a voter, or no voter any more: judged before, asked once, and looked up afterwards."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from .._changes.home import JournalHome
from .._changes.record import VoterChange as JournalledChange
from .._kafka.errors import BrokerCallError, NoBrokerAnswersError, RequestRefusedError
from .._kafka.messages import parse_uuid
from .._kafka.quorum import features_request
from .._kafka.raft_voters import add_voter, remove_voter
from .._kafka.settings import Address, parse_addresses
from .._kafka.wire import Wire
from .._model.quorum import Endpoint, QuorumState, Voter
from .._model.run import Clock, KafkaOpsError
from .observation import Observation, is_caught_up, is_fetching
from .observe import observe_quorum
from .verdict import may_add, may_remove

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


class QuorumPort:
    """The requests of a voter change. ``controllers`` are addresses of the controllers' own listeners."""

    def __init__(self, wire: Wire, controllers: Sequence[Address]) -> None:
        self.wire = wire
        self.controllers = controllers

    def observe(self) -> Observation:
        """Look at the quorum once; raises what observe_quorum raises."""
        return observe_quorum(self.wire, self.controllers)

    def change(self, change: VoterChange) -> None:
        """Send the request to the leader, or through a broker where the leader's address is unknown.

        Raises NoBrokerAnswersError, BrokerCallError or RequestRefusedError.
        """
        asked = self.wire.controller_side if change.leader else self.wire
        address = change.leader or self.wire.call_any(features_request, "ApiVersions")[1]
        ask = add_voter if change.membership is Membership.PRESENT else remove_voter
        ask(asked, address, change.cluster_id, change.voter)


def plan_voter_change(quorum: QuorumPort, membership: Membership, wanted: Voter) -> VoterChange:
    """Look at the quorum and judge the change. Writes nothing.

    Raises VoterRefusedError with every reason, and what observe_quorum raises.
    """
    observation = quorum.observe()
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


def change_under_lock(
    quorum: QuorumPort, home: JournalHome, membership: Membership, wanted: Voter, *, verify_timeout_ms: int
) -> tuple[VoterChange, tuple[Voter, ...], list[str]]:
    """Judge the change again under the lock of the cluster, and carry it out where it is still needed.

    Return the change, all voters after it, and what the person on call should know of the journal. What an earlier run
    left changed for a while stays in the journal: to change voters, no replica order needs to be touched.

    Raises JournalError, and what plan_voter_change and change_voters raise.
    """
    with home.open() as journal:
        change = plan_voter_change(quorum, membership, wanted)
        # Whatever an earlier run asked for: these are the voters now.
        journal.end([each for each in journal.pending if isinstance(each, JournalledChange)], "looked up")
        left = len(journal.pending)
        voters = change.after
        if change.is_needed:
            action = "add" if membership is Membership.PRESENT else "remove"
            asked = journal.begin([JournalledChange(action, change.voter.voter_id, change.voter.directory_id or "")])
            journal.require_lock()
            try:
                voters = change_voters(quorum, change, verify_timeout_ms=verify_timeout_ms)
            finally:
                journal.end(asked, "looked up")
    notes = [f"an earlier run left {left} changes, which the next run that elects or repairs puts back"] if left else []
    return change, voters, [*journal.notes, *notes]


def change_voters(
    quorum: QuorumPort, change: VoterChange, *, verify_timeout_ms: int, clock: Clock = time
) -> tuple[Voter, ...]:
    """Request a judged change once, look until it is seen, and return all voters as they were seen then.

    A lost answer proves nothing: the outcome is read from the quorum. After a refusal for good it is read once.

    Raises VoterChangeError, NoBrokerAnswersError or RequestRefusedError.
    """
    deadline = clock.monotonic() + verify_timeout_ms / 1000
    request_error, is_refused = "", False
    try:
        quorum.change(change)
    except (BrokerCallError, RequestRefusedError) as error:
        request_error = str(error)
        if isinstance(error, RequestRefusedError):
            is_refused = not (error.is_transient or error.is_outcome_unknown)
    if is_refused:
        deadline = clock.monotonic()
    voters, missing = _look_until_done(quorum, change, deadline, clock)
    if missing:
        answer = f"; the request: {request_error}" if request_error else ""
        waited = f"within {verify_timeout_ms} ms" if not is_refused else "after the refusal"
        raise VoterChangeError(
            f"voter {change.voter.voter_id} ({change.voter.directory_id}) was not seen {change.membership.value} "
            f"{waited}: {missing}{answer}. Look with quorum_info before you repeat the request"
        )
    return voters


def _look_until_done(
    quorum: QuorumPort, change: VoterChange, deadline: float, clock: Clock
) -> tuple[tuple[Voter, ...], str]:
    """Return the voters, and what still differs when the time is over (empty for nothing)."""
    while True:
        try:
            observation = quorum.observe()
            voters, missing = _voters(observation.state), _missing(observation, change)
        except (BrokerCallError, NoBrokerAnswersError) as error:
            voters, missing = (), str(error)
        if not missing or clock.monotonic() >= deadline:
            return voters, missing
        clock.sleep(_BETWEEN_LOOKS_S)


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
    """Return the voter with its directory id, where none was given."""
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


_HIGHEST_PORT = 65535


class VoterOptionsError(KafkaOpsError):
    """The options do not describe a voter. Lists every error."""

    def __init__(self, errors: Sequence[str]) -> None:
        super().__init__("the options do not describe a voter: " + "; ".join(errors))


def wanted_voter(params: Mapping[str, Any]) -> Voter:
    """Return the voter that a module's parameters describe. Opens no connection.

    Raises VoterOptionsError with every error.
    """
    errors = []
    if params["state"] == "present" and not params["endpoints"]:
        errors.append("endpoints must say where the new voter is reached")
    errors += [
        f"endpoints: port {each['port']} of {each['name']} is not from 1 to {_HIGHEST_PORT}"
        for each in params["endpoints"] or ()
        if not 1 <= each["port"] <= _HIGHEST_PORT
    ]
    if params["directory_id"] is not None:
        try:
            parse_uuid(params["directory_id"])
        except ValueError as error:
            errors.append(f"directory_id: {error}")
    if errors:
        raise VoterOptionsError(errors)
    endpoints = tuple(Endpoint(each["name"], each["host"], each["port"]) for each in params["endpoints"] or ())
    return Voter(params["voter_id"], params["directory_id"], endpoints)
