# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is told of an observed quorum: its state, the findings and the verdicts. Pure; standard library only."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.quorum import (
    Endpoint,
    QuorumReplica,
    QuorumState,
    Voter,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.caught_up import is_caught_up
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.disruption import is_controller
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.finding import Finding
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.findings import findings
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.observation import Controller, Observation
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.verdict import Verdict, may_elect, may_restart
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.voter_change import may_add, may_remove


@dataclass(frozen=True, slots=True)
class Member:
    """A voter or observer, and whether it is caught up. What is not known is None."""

    replica_id: int
    directory_id: str | None
    endpoints: tuple[Endpoint, ...]
    log_end_offset: int | None
    lag_records: int | None
    lag_ms: int | None
    since_fetch_ms: int | None
    is_caught_up: bool


@dataclass(frozen=True, slots=True)
class NodeVerdict:
    """A verdict about one controller."""

    node_id: int
    allowed: bool
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What may be done now."""

    elections: Verdict
    restart: tuple[NodeVerdict, ...]
    """Of each voter."""
    removal: tuple[NodeVerdict, ...]
    """Of each voter."""
    addition: tuple[NodeVerdict, ...]
    """Of each observer that is a controller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """Everything that is told, with the quorum as it was seen last. What is not known is None."""

    cluster_id: str | None
    leader_id: int | None
    leader_epoch: int | None
    high_watermark: int | None
    kraft_version: int | None
    metadata_version: int | None
    fetch_timeout_ms: int | None
    election_timeout_ms: int | None
    window_ms: int
    voters: tuple[Member, ...]
    observers: tuple[Member, ...]
    controllers: tuple[Controller, ...]
    findings: tuple[Finding, ...]
    verdicts: Verdicts


def assess(observation: Observation) -> Assessment:
    """Makes findings and verdicts of what was observed."""
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
        findings=findings(observation),
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
        restart=_of_each(voters, lambda voter: may_restart(observation, voter.voter_id)),
        removal=_of_each(voters, lambda voter: may_remove(observation, voter)),
        addition=_of_each(candidates, lambda voter: may_add(observation, voter)),
    )


def _candidates(observation: Observation, state: QuorumState) -> tuple[QuorumReplica, ...]:
    """The observers that are controllers; of one with several disks the one that fetched last. A voter is none."""
    newest: dict[int, QuorumReplica] = {}
    for each in state.observers:
        if is_controller(observation, each) and state.voter(each.replica_id) is None:
            present = newest.setdefault(each.replica_id, each)
            if _age(each) < _age(present):
                newest[each.replica_id] = each
    return tuple(newest.values())


def _age(replica: QuorumReplica) -> float:
    return math.inf if replica.since_fetch_ms is None else replica.since_fetch_ms


def _of_each(replicas: Iterable[QuorumReplica], judge: Callable[[Voter], Verdict]) -> tuple[NodeVerdict, ...]:
    judged = ((each, judge(Voter(each.replica_id, each.directory_id))) for each in replicas)
    return tuple(NodeVerdict(each.replica_id, verdict.allowed, verdict.reasons) for each, verdict in judged)
