# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sample observations: a healthy quorum of voters 101, 102 and 103, led by 101, and variants with problems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.quorum import QuorumReplica, QuorumState
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum.observation import (
    Controller,
    ControllerView,
    Look,
    Observation,
)

LEADER = 101
LEO = 5000
IDS = (101, 102, 103)


def disk(number: int) -> str:
    """Return a directory id."""
    return f"{number:0>22}"


def follower(node_id: int, **changes: Any) -> QuorumReplica:
    """Return a replica that is caught up."""
    healthy = QuorumReplica(node_id, disk(node_id), LEO, lag_records=0, lag_ms=300, since_fetch_ms=300, endpoints=())
    return replace(healthy, **changes)


def down(node_id: int, **changes: Any) -> QuorumReplica:
    """Return a replica that has not fetched for a minute."""
    return follower(
        node_id,
        **{"lag_records": 120, "lag_ms": 60_000, "since_fetch_ms": 60_000, **changes},
    )


def unknown(node_id: int) -> QuorumReplica:
    """Return a replica that has not fetched from this leader yet."""
    return follower(node_id, log_end_offset=None, lag_records=None, lag_ms=None, since_fetch_ms=None)


def state(
    *voters: QuorumReplica, observers: Iterable[QuorumReplica] = (), leader: int = LEADER, epoch: int = 7
) -> QuorumState:
    """Return a quorum with the given voters besides its leader."""
    leads = follower(leader, lag_ms=0, since_fetch_ms=None)
    everyone = sorted([leads, *voters], key=lambda each: each.replica_id)
    return QuorumState(leader, epoch, LEO, tuple(everyone), (follower(1), *observers))


def healthy() -> QuorumState:
    return state(follower(102), follower(103))


def view(
    node_id: int, *, epoch: int | None = 7, leader: int | None = LEADER, leads: bool | None = None
) -> ControllerView:
    return ControllerView(
        f"c{node_id}:9093", node_id, leader, epoch, claims_leadership=node_id == LEADER if leads is None else leads
    )


def controller(node_id: int | None, **changes: Any) -> Controller:
    asked = Controller(
        f"c{node_id}:9093",
        node_id,
        supports_pre_vote=True,
        fetch_timeout_ms=2000,
        election_timeout_ms=1000,
        auto_join=False,
    )
    return replace(asked, **changes)


def observed(
    *states: QuorumState | None,
    views: Iterable[ControllerView] | None = None,
    controllers: Iterable[Controller] | None = None,
    at_ms: int = 0,
    **known: Any,
) -> Observation:
    """Observe the quorum in these states, half a second apart from ``at_ms`` on, all controllers in the last look."""
    last_views = tuple(view(each) for each in IDS) if views is None else tuple(views)
    looks = [
        Look(at_ms + 500 * number, each, last_views if number == len(states) - 1 else ())
        for number, each in enumerate(states)
    ]
    facts: Mapping[str, Any] = {
        "cluster_id": "4L6g3nShT-eMCtK--X86sw",
        "broker_ids": frozenset({1}),
        "listed_broker_ids": frozenset({1}),
        "kraft_version": 1,
        "metadata_version": 30,
        "fetch_timeout_ms": 2000,
        "election_timeout_ms": 1000,
        **known,
    }
    asked = tuple(controller(each) for each in IDS) if controllers is None else tuple(controllers)
    return Observation(looks=tuple(looks), controllers=asked, **facts)
