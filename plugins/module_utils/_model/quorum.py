# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Define the KRaft quorum as its leader describes it (DescribeQuorum, API key 55). Standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias

from .fields import UUID_PATTERN, Meta, NodeId, Port


@dataclass(frozen=True, slots=True, order=True)
class Endpoint:
    """One listener of a controller."""

    name: Annotated[str, Meta("a listener")]
    """The listener's name, as in ``controller.listener.names``."""
    host: str
    port: Port


@dataclass(frozen=True, slots=True)
class Voter:
    """A voter to add or remove: a node with a certain disk (KIP-853)."""

    voter_id: int
    directory_id: str | None
    """None if it is unknown. Such a voter can be neither added nor removed."""
    endpoints: tuple[Endpoint, ...] = ()


FeatureLevel: TypeAlias = Annotated[int, Meta("a feature level", minimum=0, maximum=32767)]
DirectoryId: TypeAlias = Annotated[
    str, Meta(description="a directory id is 22 characters of URL-safe base64", pattern=UUID_PATTERN)
]


@dataclass(frozen=True, slots=True)
class VoterNode:
    """One voter of a VotersRecord in the metadata log (KIP-853)."""

    voter_id: NodeId
    directory_id: DirectoryId
    endpoints: tuple[Endpoint, ...]
    min_kraft_version: FeatureLevel
    max_kraft_version: FeatureLevel


@dataclass(frozen=True, slots=True)
class SeenLeader:
    """The leader of the quorum when an earlier task of the same run asked."""

    leader_id: int
    leader_epoch: int
    seen_at_ms: int
    """By this host's monotonic clock, so only tasks on the same host can compare it, until the next boot."""


@dataclass(frozen=True, slots=True)
class QuorumReplica:
    """A voter or an observer, as the leader describes it. A value that the leader does not know is None, never 0.

    Ages are in milliseconds by the leader's own clock, so that clock skew has no effect.
    """

    replica_id: int
    directory_id: str | None
    """In Kafka's text form. None for a voter of a static quorum that has not fetched yet."""
    log_end_offset: int | None
    lag_records: int | None
    """Number of records of the metadata log that the leader has and this replica lacks."""
    lag_ms: int | None
    """Time since it last had all records of the leader."""
    since_fetch_ms: int | None
    """Time since its last Fetch. None for the leader, which does not fetch."""
    endpoints: tuple[Endpoint, ...] = ()


@dataclass(frozen=True, slots=True)
class QuorumState:
    """The quorum as one leader describes it. Replicas are in order of their id."""

    leader_id: int
    leader_epoch: int
    high_watermark: int | None
    """None if the leader does not know it yet, because no record of its epoch is committed."""
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]

    @property
    def majority(self) -> int:
        """Return the number of voters that must agree to commit or to elect."""
        return len(self.voters) // 2 + 1

    def voter(self, replica_id: int) -> QuorumReplica | None:
        """Return the voter with this id and any directory id."""
        return next((each for each in self.voters if each.replica_id == replica_id), None)

    def observers_with(self, replica_id: int) -> tuple[QuorumReplica, ...]:
        """Return the observers with this id. A node whose disk was replaced can be listed twice."""
        return tuple(each for each in self.observers if each.replica_id == replica_id)
