# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An observation of a quorum: what was seen, where and when, who was caught up, and which voters changed meanwhile.

Pure; standard library only. The rule is Strimzi's KafkaRoller's: caught up is who had everything within the last fetch
timeout, by the leader's clock. Unknown means no.
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
    """A controller that was asked on its own listener. What it did not answer is None."""

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
    """Why it did not answer; None when it did."""
    error: str = ""

    @property
    def name(self) -> str:
        """Return the name for a person."""
        return self.address if self.node_id is None else f"{self.node_id} ({self.address})"


@dataclass(frozen=True, slots=True)
class View:
    """One controller's view of the quorum at one moment."""

    address: str
    node_id: int | None
    """Known where this controller claims leadership."""
    leader_id: int | None
    """The leader that it follows; None when it knows none or did not answer."""
    epoch: int | None
    """The epoch that it is in itself; None when our principal may not ask."""
    claims_leadership: bool


@dataclass(frozen=True, slots=True)
class Look:
    """The quorum at one moment of the window, ``at_ms`` after its start, which is the end of the first look."""

    at_ms: int
    state: QuorumState | None
    """The state from the leader of the newest epoch; None when no leader could be asked."""
    views: tuple[View, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Observation:
    """Everything that findings and verdicts are made of."""

    cluster_id: str | None
    looks: tuple[Look, ...]
    """In order of time, at least one."""
    earlier: SeenLeader | None = None
    """Who led at the begin of the window, where an earlier task saw it. The looks' times count from there then."""
    controllers: tuple[Controller, ...] = ()
    """Those that were asked directly, in order of id."""
    broker_ids: frozenset[int] | None = None
    """Every registered broker; None where fenced brokers are not listed (before Kafka 4.0)."""
    listed_broker_ids: frozenset[int] = frozenset()
    """The registered brokers that are listed, be they all or not."""
    kraft_version: int | None = None
    metadata_version: int | None = None
    """The finalized feature level, as in ``kafka-features.sh describe``."""
    fetch_timeout_ms: int | None = None
    """The leader's own, or the shortest that could be read, of controllers before brokers."""
    election_timeout_ms: int | None = None
    """The longest that could be read, likewise."""
    silence: str = ""
    """Why no leader could be asked, for a person; empty when one was."""

    @cached_property
    def state(self) -> QuorumState | None:
        """Return the last observed state."""
        return self.looks[-1].state

    @property
    def window_ms(self) -> int:
        """Return the time from the first look, of an earlier task too, to the last, in milliseconds."""
        return self.looks[-1].at_ms - (0 if self.earlier else self.looks[0].at_ms)

    @property
    def caught_up_within_ms(self) -> int:
        """Return how old a caught-up time may be, in milliseconds.

        Below Kafka's default, idle followers would seem to lag.
        """
        return max(self.fetch_timeout_ms or 0, DEFAULT_FETCH_TIMEOUT_MS)

    def controller(self, node_id: int) -> Controller | None:
        """Return the controller with this id, if it was asked."""
        return next((each for each in self.controllers if each.node_id == node_id), None)


def is_caught_up(observation: Observation, replica: QuorumReplica) -> bool:
    """Return whether this is the leader, or had all its records within the fetch timeout and still has them.

    A voter whose node fetches from another disk has not, however short ago it was caught up, and neither has one that
    holds nothing: in a static quorum its new disk shows in no other way.
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
    """Return whether a follower fetched within the fetch timeout.

    An observer that has ended stays listed for some time.
    """
    return replica.since_fetch_ms is not None and replica.since_fetch_ms <= observation.caught_up_within_ms


def is_another_disk(observation: Observation, voter: QuorumReplica, observer: QuorumReplica) -> bool:
    """Return whether the voter's node now fetches as an observer, from another directory."""
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


def states(observation: Observation) -> list[QuorumState]:
    """Return the observed states, oldest first."""
    return [look.state for look in observation.looks if look.state is not None]


def is_new(observation: Observation, voter: QuorumReplica) -> bool:
    """Return whether a voter joined within the window, or fetches and was never caught up with this leader."""
    return has_joined(observation, voter) or (voter.since_fetch_ms is not None and voter.lag_ms is None)


def has_joined(observation: Observation, voter: QuorumReplica) -> bool:
    """Return whether the node was no voter earlier in the window."""
    return any(state.voter(voter.replica_id) is None for state in states(observation))


def histories(observation: Observation) -> Iterator[tuple[QuorumReplica, QuorumReplica, QuorumState]]:
    """Yield each voter at one look and at the next look, with the state of the first look."""
    seen = states(observation)
    for before, after in pairwise(seen):
        for voter in before.voters:
            later = after.voter(voter.replica_id)
            if later is not None:
                yield voter, later, before
