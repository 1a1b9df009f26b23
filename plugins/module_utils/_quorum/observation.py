# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define an observation of a quorum, and decide which voters are caught up, new, or on another disk.

Pure; standard library only. A voter is caught up if it had all records of the leader within the last fetch timeout, by
the leader's clock. An unknown state means not caught up. Strimzi's KafkaRoller has the same rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from .._model.fields import Milliseconds, NodeId
from .._model.partition import Cause
from .._model.quorum import QuorumReplica, QuorumState, SeenLeader

DEFAULT_FETCH_TIMEOUT_MS = 2000
"""Kafka's own default of controller.quorum.fetch.timeout.ms."""


@dataclass(frozen=True, slots=True)
class Controller:
    """A controller that was asked on its own listener. Unknown values are None."""

    address: str
    node_id: NodeId | None = None
    supports_pre_vote: bool | None = None
    fetch_timeout_ms: Milliseconds | None = None
    election_timeout_ms: Milliseconds | None = None
    auto_join: bool | None = None
    election_backoff_ms: Milliseconds | None = None
    """The longest random wait before another election (controller.quorum.election.backoff.max.ms)."""
    retry_backoff_ms: Milliseconds | None = None
    cause: Cause | None = None
    """Why the controller did not answer; None if it did."""
    error: str = ""
    unlisted: str = ""
    """Why it does not list the other controllers, although it answers. Empty if it does."""

    @property
    def id_or_address(self) -> int | str:
        """The node id, which can be 0; the address if the id is unknown."""
        return self.address if self.node_id is None else self.node_id


@dataclass(frozen=True, slots=True)
class ControllerView:
    """One controller's view of the quorum at one moment."""

    address: str
    node_id: int | None
    """Always known if this controller claims leadership."""
    leader_id: int | None
    """The leader that the controller follows; None if it knows none or did not answer."""
    epoch: int | None
    """The controller's own epoch; None if our principal may not ask for it."""
    claims_leadership: bool

    @property
    def id_or_address(self) -> int | str:
        """The node id, which can be 0; the address if the id is unknown."""
        return self.address if self.node_id is None else self.node_id


@dataclass(frozen=True, slots=True)
class Look:
    """The quorum at one moment: ``at_ms`` after the start of the window. The window starts when the first look ends."""

    at_ms: int
    state: QuorumState | None
    """The state from the leader of the newest epoch; None if no leader could be asked."""
    views: tuple[ControllerView, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Observation:
    """All input of findings and verdicts."""

    cluster_id: str | None
    looks: tuple[Look, ...]
    """In order of time, at least one."""
    earlier: SeenLeader | None = None
    """The leader that an earlier task of this run saw. If set, the window starts then."""
    controllers: tuple[Controller, ...] = ()
    """The controllers that were asked directly, in order of id."""
    broker_ids: frozenset[int] | None = None
    """All registered brokers; None if the cluster does not list fenced brokers (before Kafka 4.0)."""
    listed_broker_ids: frozenset[int] = frozenset()
    """The registered brokers that the cluster lists, perhaps without fenced ones."""
    kraft_version: int | None = None
    metadata_version: int | None = None
    """The finalized feature level, as in ``kafka-features.sh describe``."""
    fetch_timeout_ms: int | None = None
    """The leader's own timeout, or else the shortest that could be read. Controllers' values go before brokers'."""
    election_timeout_ms: int | None = None
    """The longest timeout that could be read. Controllers' values go before brokers'."""
    voter_count: int | None = None
    """How many voters there are: those that controllers list, or that static configs or an earlier look name."""
    silence: str = ""
    """Why no leader could be asked; empty if one was."""

    @cached_property
    def state(self) -> QuorumState | None:
        """The last observed state."""
        return self.looks[-1].state

    @property
    def window_ms(self) -> int:
        """Milliseconds from the first look, or that of an earlier task, to the last look."""
        return self.looks[-1].at_ms - (0 if self.earlier else self.looks[0].at_ms)

    @property
    def caught_up_within_ms(self) -> int:
        """How many milliseconds ago a caught-up voter may have had all records.

        At least Kafka's default fetch timeout: with less, idle followers would seem to lag.
        """
        return max(self.fetch_timeout_ms or 0, DEFAULT_FETCH_TIMEOUT_MS)

    def controller(self, node_id: int) -> Controller | None:
        """Return the controller with this id, if it was asked."""
        return next((each for each in self.controllers if each.node_id == node_id), None)


def is_caught_up(observation: Observation, replica: QuorumReplica) -> bool:
    """Return whether this is the leader, or a replica that had all the leader's records within the fetch timeout.

    A voter is not caught up if its node now fetches to another disk, or if its log is empty. In a static quorum,
    nothing else than the empty log shows a new disk.
    """
    state = observation.state
    if state is not None and replica.replica_id == state.leader_id:
        return True
    observers = state.observers if state is not None and replica in state.voters else ()
    if any(is_another_disk(observation, replica, each) for each in observers):
        return False
    if replica.log_end_offset == 0 and replica.lag_records != 0:
        return False
    return replica.lag_ms is not None and replica.lag_ms <= observation.caught_up_within_ms


def is_fetching(observation: Observation, replica: QuorumReplica) -> bool:
    """Return whether a follower fetched within the fetch timeout. A stopped observer stays listed for some time."""
    return replica.since_fetch_ms is not None and replica.since_fetch_ms <= observation.caught_up_within_ms


def is_another_disk(observation: Observation, voter: QuorumReplica, observer: QuorumReplica) -> bool:
    """Return whether the voter's node now fetches as an observer with another directory id."""
    return (
        observer.replica_id == voter.replica_id
        and observer.directory_id != voter.directory_id
        and is_fetching(observation, observer)
    )


def caught_up_voters(observation: Observation) -> tuple[int, ...]:
    """Return the ids of the caught-up voters, the leader included."""
    return tuple(each.replica_id for each in _voters(observation.state) if is_caught_up(observation, each))


def lagging_voters(observation: Observation) -> tuple[int, ...]:
    """Return the ids of the voters that are not caught up or whose state is unknown."""
    return tuple(each.replica_id for each in _voters(observation.state) if not is_caught_up(observation, each))


def _voters(state: QuorumState | None) -> Iterable[QuorumReplica]:
    return state.voters if state is not None else ()


def observed_states(observation: Observation) -> list[QuorumState]:
    """Return the observed states, oldest first."""
    return [look.state for look in observation.looks if look.state is not None]


def is_new(observation: Observation, voter: QuorumReplica) -> bool:
    """Return whether a voter joined during the window, or fetches and was never caught up with this leader."""
    return has_joined(observation, voter) or (voter.since_fetch_ms is not None and voter.lag_ms is None)


def is_removed(observation: Observation, node_id: int | None) -> bool:
    """Return whether a node was neither a voter nor a fetching observer at any look. An unknown node is not removed."""
    states = observed_states(observation)
    return (
        node_id is not None
        and bool(states)
        and not any(
            state.voter(node_id) is not None
            or any(is_fetching(observation, each) for each in state.observers if each.replica_id == node_id)
            for state in states
        )
    )


def has_joined(observation: Observation, voter: QuorumReplica) -> bool:
    """Return whether the node was no voter earlier in the window."""
    return any(state.voter(voter.replica_id) is None for state in observed_states(observation))


def pair_states_of_voters(observation: Observation) -> Iterator[tuple[QuorumReplica, QuorumReplica, QuorumState]]:
    """Yield each voter's state at a look and at the next look, with the quorum's state at the first of both."""
    seen = observed_states(observation)
    for before, after in pairwise(seen):
        for voter in before.voters:
            later = after.voter(voter.replica_id)
            if later is not None:
                yield voter, later, before
