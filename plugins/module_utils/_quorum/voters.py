# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Add or remove a voter: judge the change, request it once, then read the quorum to verify it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from .._changes.cluster_journal import ClusterJournal
from .._changes.record import VoterChange as JournalledChange
from .._kafka.errors import BrokerCallError, CallError, NoBrokerAnswersError
from .._kafka.messages import parse_uuid
from .._kafka.quorum import features_request
from .._kafka.raft_voters import add_voter, remove_voter
from .._kafka.settings import Address, parse_addresses
from .._kafka.wire import Wire
from .._model.quorum import Endpoint, QuorumState, Voter
from .._model.reasons import plural
from .._model.run import Clock, KafkaOpsError
from .observation import Observation, is_caught_up, is_fetching
from .observe import observe_quorum
from .verdict import may_add, may_remove

_BETWEEN_LOOKS_S = 0.2


class Membership(StrEnum):
    """Whether a controller is to be a voter."""

    PRESENT = "present"
    ABSENT = "absent"


class VoterRefusedError(KafkaOpsError):
    """The voters must not be changed like this now. Nothing was changed."""

    def __init__(self, what: str, reasons: Sequence[str]) -> None:
        self.reasons = tuple(reasons)
        super().__init__("\n".join([f"{what} is refused:", *(f"  {reason}" for reason in reasons)]))


class VoterChangeError(KafkaOpsError):
    """The change was requested, and was not seen in the quorum afterwards."""


@dataclass(frozen=True, slots=True)
class PlannedVoterChange:
    """A change that is allowed. ``before`` and ``after`` are all voters, in order of id."""

    membership: Membership
    voter: Voter
    before: tuple[Voter, ...]
    after: tuple[Voter, ...]
    cluster_id: str
    leader: Address | None
    """The address of the leader's own listener; None if it was not asked directly."""
    doubt: str = ""
    """Why the change may not last. Empty if it is known to last."""

    @property
    def is_needed(self) -> bool:
        return self.before != self.after


class QuorumPort:
    """Sends the requests of a voter change."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire

    def observe(self) -> Observation:
        """Observe the quorum once. Raises the errors of observe_quorum."""
        return observe_quorum(self.wire)

    def change(self, change: PlannedVoterChange) -> None:
        """Send the request to the leader, or to a broker if the leader's address is unknown.

        Raises NoBrokerAnswersError, BrokerCallError or RequestRefusedError.
        """
        wire = self.wire.controller_side if change.leader else self.wire
        address = change.leader or self.wire.call_any(features_request, "ApiVersions")[1]
        request_change = add_voter if change.membership is Membership.PRESENT else remove_voter
        request_change(wire, address, change.cluster_id, change.voter)


def plan_voter_change(quorum: QuorumPort, membership: Membership, wanted: Voter) -> PlannedVoterChange:
    """Observe the quorum and judge the change. Writes nothing.

    Raises VoterRefusedError, which names all reasons, and the errors of observe_quorum.
    """
    observation = quorum.observe()
    voter = _with_directory_id(observation, membership, wanted)
    before = _all_voters(observation.state)
    after = _voters_after(before, membership, voter)
    if before != after or observation.state is None:
        adds = membership is Membership.PRESENT
        judged = may_add(observation, voter) if adds else may_remove(observation, voter)
        if not judged.allowed:
            what = (
                f"{'adding' if adds else 'removing'} voter {voter.voter_id} ({voter.directory_id or 'no directory id'})"
            )
            raise VoterRefusedError(what, judged.reasons)
    leader, doubt = _leader(observation), ""
    if membership is Membership.ABSENT and before != after:
        doubt = _doubt_removal(observation, voter)
    return PlannedVoterChange(membership, voter, before, after, observation.cluster_id or "", leader, doubt)


def _doubt_removal(observation: Observation, voter: Voter) -> str:
    """Return why a voter that is removed may return. Empty if it is stopped, or if its own config was read."""
    controller, state = observation.controller(voter.voter_id), observation.state
    present = state.voter(voter.voter_id) if state is not None else None
    runs = (
        present is not None
        and state is not None
        and (voter.voter_id == state.leader_id or is_fetching(observation, present))
    )
    if not runs or (controller is not None and controller.cause is None):
        return ""
    return (
        f"controller {voter.voter_id} runs, and did not answer on its own listener: if its "
        "controller.quorum.auto.join.enable is true (Kafka 4.2 and later), it adds itself again within seconds "
        "(KAFKA-19850). Stop it, and read the quorum again. Or name its listener in bootstrap_controllers: then this "
        "is checked before the change"
    )


def change_under_lock(
    quorum: QuorumPort, lock: ClusterJournal, membership: Membership, wanted: Voter, *, verify_timeout_ms: int
) -> tuple[PlannedVoterChange, tuple[Voter, ...], list[str]]:
    """Take the cluster's lock, judge the change again, and carry it out if it is still needed.

    Returns the change, all voters after it, and messages about the journal for the person on call. Pending changes of
    earlier runs that are not about voters stay in the journal: they do not affect this change.

    Raises JournalError, and the errors of plan_voter_change and change_voters.
    """
    with lock.open() as journal:
        change = plan_voter_change(quorum, membership, wanted)
        # An earlier run's voter change needs no rollback, and the observation above shows its result.
        journal.end([each for each in journal.pending if isinstance(each, JournalledChange)], "looked up")
        left = len(journal.pending)
        voters = change.after
        if change.is_needed:
            action = "add" if membership is Membership.PRESENT else "remove"
            begun = journal.begin([JournalledChange(action, change.voter.voter_id, change.voter.directory_id or "")])
            journal.require_lock()
            try:
                voters = change_voters(quorum, change, verify_timeout_ms=verify_timeout_ms)
            finally:
                journal.end(begun, "looked up")
    notes = [*journal.notes, *filter(None, [change.doubt])]
    if left:
        changes = plural(left, "change")
        notes.append(f"an earlier run left {changes}, which the next run that elects or repairs puts back")
    return change, voters, notes


def change_voters(
    quorum: QuorumPort, change: PlannedVoterChange, *, verify_timeout_ms: int, clock: Clock = time
) -> tuple[Voter, ...]:
    """Request the change once, observe the quorum until the change is seen, and return all voters.

    A lost answer proves nothing, so the outcome is always read from the quorum. After a final refusal it is read once.

    Raises VoterChangeError, NoBrokerAnswersError or RequestRefusedError.
    """
    deadline = clock.monotonic() + verify_timeout_ms / 1000
    request_error, is_refused = "", False
    try:
        quorum.change(change)
    except CallError as error:
        request_error = str(error)
        # Another attempt of another party, or our own that a broker repeats, may still be seen after a transient error.
        is_refused = not error.may_be_executed and not (error.is_transient and error.was_sent)
    if is_refused:
        deadline = clock.monotonic()
    voters, missing = _look_until_done(quorum, change, deadline, clock)
    if missing:
        answer = f"; the request: {request_error}" if request_error else ""
        waited = f"within {verify_timeout_ms} ms" if not is_refused else "after the refusal"
        raise VoterChangeError(
            f"voter {change.voter.voter_id} ({change.voter.directory_id}) was not seen {change.membership.value} "
            f"{waited}: {missing}{answer}. Run quorum_info before you repeat the request"
        )
    return voters


def _look_until_done(
    quorum: QuorumPort, change: PlannedVoterChange, deadline: float, clock: Clock
) -> tuple[tuple[Voter, ...], str]:
    """Return the voters, and what still differs at the deadline (empty if the change was seen)."""
    while True:
        try:
            observation = quorum.observe()
            voters, missing = _all_voters(observation.state), _describe_missing(observation, change)
        except (BrokerCallError, NoBrokerAnswersError) as error:
            voters, missing = (), str(error)
        if not missing or clock.monotonic() >= deadline:
            return voters, missing
        clock.sleep(_BETWEEN_LOOKS_S)


def _describe_missing(observation: Observation, change: PlannedVoterChange) -> str:
    state = observation.state
    if state is None:
        return f"there is no leader ({observation.silence})"
    voter = state.voter(change.voter.voter_id)
    is_voter = voter is not None and voter.directory_id == change.voter.directory_id
    if change.membership is Membership.ABSENT:
        return "it is still a voter" if is_voter else ""
    if voter is None or not is_voter:
        return "it is no voter"
    if is_caught_up(observation, voter):
        return ""
    lag = "an unknown number of records" if voter.lag_records is None else plural(voter.lag_records, "record")
    return f"it is a voter, and lags by {lag}"


def _with_directory_id(observation: Observation, membership: Membership, wanted: Voter) -> Voter:
    """Add the observed directory id to the voter if none was given and it is unambiguous."""
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


def _all_voters(state: QuorumState | None) -> tuple[Voter, ...]:
    return tuple(Voter(each.replica_id, each.directory_id, each.endpoints) for each in state.voters) if state else ()


def _voters_after(before: tuple[Voter, ...], membership: Membership, voter: Voter) -> tuple[Voter, ...]:
    others = tuple(each for each in before if _identity(each) != _identity(voter))
    if membership is Membership.ABSENT:
        return others
    if others != before:  # It is a voter already. Different endpoints are no change: a voter updates them itself.
        return before
    return tuple(sorted([*others, voter], key=lambda each: each.voter_id))


def _identity(voter: Voter) -> tuple[int, str | None]:
    return voter.voter_id, voter.directory_id


def _leader(observation: Observation) -> Address | None:
    for view in observation.looks[-1].views:
        if view.claims_leadership and observation.state is not None and view.node_id == observation.state.leader_id:
            return parse_addresses(view.address)[0]
    return None


_HIGHEST_PORT = 65535


class VoterOptionsError(KafkaOpsError):
    """The options do not describe a voter. The message names all errors."""

    def __init__(self, errors: Sequence[str]) -> None:
        super().__init__("the options do not describe a voter: " + "; ".join(errors))


def parse_voter(params: Mapping[str, Any]) -> Voter:
    """Convert a module's options to a voter. Opens no connection.

    Raises VoterOptionsError, which names all errors.
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
