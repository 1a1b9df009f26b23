# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Assess an observed quorum: its state, findings and verdicts. Also builds the report, which has no secret.

Pure; standard library only. Schema: docs/schemas/quorum-report.schema.json.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, TypeAlias

from .._documents.dataclass_json import timed_report
from .._model.fields import (
    ClusterId,
    LeaderEpoch,
    Meta,
    Milliseconds,
    NodeId,
    Offset,
)
from .._model.quorum import DirectoryId, Endpoint, FeatureLevel, QuorumReplica, QuorumState, Voter
from .disruption import is_controller
from .finding import Finding
from .observation import Controller, Observation, is_caught_up
from .verdict import Verdict, collect_findings, may_add, may_elect, may_remove, may_stop


@dataclass(frozen=True, slots=True)
class Member:
    """A voter or observer, and whether it is caught up. Unknown values are None."""

    replica_id: NodeId
    directory_id: DirectoryId | None
    endpoints: tuple[Endpoint, ...]
    log_end_offset: Offset | None
    lag_records: Offset | None
    lag_ms: Milliseconds | None
    since_fetch_ms: Milliseconds | None
    is_caught_up: bool


@dataclass(frozen=True, slots=True)
class NodeVerdict:
    """A verdict about one controller."""

    node_id: NodeId
    allowed: bool
    reasons: tuple[str, ...]


NodeVerdicts: TypeAlias = Annotated[tuple[NodeVerdict, ...], Meta(description="the verdicts are a list")]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Which actions the quorum can bear now."""

    elections: Verdict
    restart: NodeVerdicts
    """One verdict per voter."""
    removal: NodeVerdicts
    """One verdict per voter."""
    addition: NodeVerdicts
    """One verdict per observer that is a controller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """The last observed state of the quorum, its findings and verdicts. Unknown values are None."""

    window_ms: Milliseconds
    """How long the quorum was observed."""
    cluster_id: ClusterId | None
    leader_id: NodeId | None
    leader_epoch: LeaderEpoch | None
    high_watermark: Offset | None
    kraft_version: FeatureLevel | None
    metadata_version: FeatureLevel | None
    fetch_timeout_ms: Milliseconds | None
    election_timeout_ms: Milliseconds | None
    voters: tuple[Member, ...]
    observers: tuple[Member, ...]
    controllers: Annotated[tuple[Controller, ...], Meta(description="the controllers that were asked are a list")]
    findings: tuple[Finding, ...]
    verdicts: Annotated[Verdicts, Meta(description="the verdicts are an object")]


def assess(observation: Observation) -> Assessment:
    """Derive findings and verdicts from an observation."""
    state = observation.state
    return Assessment(
        cluster_id=observation.cluster_id,
        leader_id=state.leader_id if state is not None else None,
        leader_epoch=state.leader_epoch if state is not None else None,
        high_watermark=state.high_watermark if state is not None else None,
        kraft_version=observation.kraft_version,
        metadata_version=observation.metadata_version,
        fetch_timeout_ms=observation.fetch_timeout_ms,
        election_timeout_ms=observation.election_timeout_ms,
        window_ms=observation.window_ms,
        voters=_members(observation, state.voters if state is not None else ()),
        observers=_members(observation, state.observers if state is not None else ()),
        controllers=observation.controllers,
        findings=collect_findings(observation),
        verdicts=_verdicts(observation),
    )


def _members(observation: Observation, replicas: Iterable[QuorumReplica]) -> tuple[Member, ...]:
    return tuple(
        Member(
            each.replica_id,
            each.directory_id,
            each.endpoints,
            each.log_end_offset,
            each.lag_records,
            each.lag_ms,
            each.since_fetch_ms,
            is_caught_up(observation, each),
        )
        for each in replicas
    )


def _verdicts(observation: Observation) -> Verdicts:
    state = observation.state
    voters = state.voters if state is not None else ()
    candidates = _candidates(observation, state) if state is not None else ()
    return Verdicts(
        elections=may_elect(observation),
        restart=_judge_each(voters, lambda voter: may_stop(observation, [voter.voter_id])),
        removal=_judge_each(voters, lambda voter: may_remove(observation, voter)),
        addition=_judge_each(candidates, lambda voter: may_add(observation, voter)),
    )


def _candidates(observation: Observation, state: QuorumState) -> tuple[QuorumReplica, ...]:
    """Return the observers that are controllers and no voters. Of a node with several disks, the last to fetch."""
    newest: dict[int, QuorumReplica] = {}
    for each in state.observers:
        if is_controller(observation, each) and state.voter(each.replica_id) is None:
            present = newest.setdefault(each.replica_id, each)
            if _age(each) < _age(present):
                newest[each.replica_id] = each
    return tuple(newest.values())


def _age(replica: QuorumReplica) -> float:
    return math.inf if replica.since_fetch_ms is None else replica.since_fetch_ms


def _judge_each(replicas: Iterable[QuorumReplica], judge: Callable[[Voter], Verdict]) -> tuple[NodeVerdict, ...]:
    judged = ((each, judge(Voter(each.replica_id, each.directory_id))) for each in replicas)
    return tuple(NodeVerdict(each.replica_id, verdict.allowed, verdict.reasons) for each, verdict in judged)


QUORUM_REPORT, encode_quorum_report = timed_report(
    "quorum-report",
    "What was found out about the quorum of the controllers",
    Assessment,
    "a report of a quorum is an object",
)
