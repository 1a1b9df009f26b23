# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Findings about the servers that disrupt a quorum, after KIP-996 and KIP-853. Pure; standard library only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._model.quorum import QuorumReplica, QuorumState, SeenLeader
from .finding import Finding, Kind, Severity
from .observation import (
    Observation,
    caught_up_voters,
    has_joined,
    histories,
    is_another_disk,
    is_caught_up,
    is_fetching,
    is_new,
    states,
)


def disruption(observation: Observation) -> Iterator[Finding]:
    """Return all findings of this file."""
    yield from _epoch_churn(observation)
    yield from _epoch_ahead(observation)
    yield from _removed_voters(observation)
    yield from _joined_voters(observation)
    yield from _new_voters(observation)
    yield from _replaced_disks(observation)


def _epoch_churn(observation: Observation) -> Iterator[Finding]:
    seen = states(observation)
    leaders: list[SeenLeader | QuorumState] = [*seen]
    if observation.earlier is not None:
        leaders.insert(0, observation.earlier)
    epochs = [leader.leader_epoch for leader in leaders]
    if not seen or epochs[-1] == epochs[0]:
        return
    suspects = tuple(sorted(_suspects(observation)))
    times = len(set(epochs)) - 1
    yield Finding(
        Kind.EPOCH_CHURN,
        Severity.CRITICAL if times > 1 else Severity.WARNING,
        suspects,
        {
            "from_epoch": epochs[0],
            "to_epoch": epochs[-1],
            "leaders": [leader.leader_id for leader in leaders],
            "looks_without_leader": len(observation.looks) - len(seen),
            "window_ms": observation.window_ms,
        },
        f"Leadership of the quorum was contested: the epoch rose from {epochs[0]} to {epochs[-1]} while we looked. "
        "Unless the leader failed, a server disrupts it: a follower that was cut off and returned, timeouts that are "
        "too low, or a voter that was removed.",
        (
            f"Look at {list(suspects)} first: not in touch with the leader, or in a higher epoch, while we looked. "
            if suspects
            else ""
        )
        + "Compare controller.quorum.*.timeout.ms on all controllers, and look at the network and at pauses. Ask for "
        "no election until the epoch stays.",
    )


def _suspects(observation: Observation) -> set[int]:
    found: set[int] = set()
    for look in observation.looks:
        if look.state is None:
            continue
        found |= {
            each.node_id
            for each in look.views
            if each.node_id is not None and (each.epoch or 0) > look.state.leader_epoch
        }
        found |= {
            each.replica_id
            for each in look.state.voters
            if each.replica_id != look.state.leader_id and (each.since_fetch_ms or 0) > observation.caught_up_within_ms
        }
    return found


def _epoch_ahead(observation: Observation) -> Iterator[Finding]:
    state = observation.state
    if state is None:
        return
    for view in observation.looks[-1].views:
        if view.epoch is not None and view.epoch > state.leader_epoch:
            yield Finding(
                Kind.EPOCH_AHEAD,
                Severity.WARNING,
                () if view.node_id is None else (view.node_id,),
                {"epoch": view.epoch, "leader_epoch": state.leader_epoch, "address": view.address},
                "It requests elections that no other controller receives, and raises its epoch each time. "
                f"When its requests arrive again, leader {state.leader_id} must step down (KIP-996).",
                "Repair the network between it and the other controllers in a quiet moment, or stop it first and start "
                "it after. With Pre-Vote (Kafka 4.0 and later) this does not happen.",
            )


def _removed_voters(observation: Observation) -> Iterator[Finding]:
    state = observation.state
    if state is None:
        return
    for observer in state.observers:
        if state.voter(observer.replica_id) is not None or not is_controller(observation, observer):
            continue
        if not _was_fetching(observation, observer.replica_id):
            continue
        was_voter = any(each.voter(observer.replica_id) is not None for each in states(observation))
        auto_join = _auto_join(observation, observer.replica_id)
        yield Finding(
            Kind.REMOVED_VOTER_ACTIVE,
            Severity.WARNING,
            (observer.replica_id,),
            {
                "directory_id": observer.directory_id,
                "since_fetch_ms": observer.since_fetch_ms,
                "lag_records": observer.lag_records,
                "was_voter_in_window": was_voter,
                "auto_join": auto_join,
            },
            "A controller that is no voter is running: one that was removed and not stopped, or one that is to be "
            "added. "
            + (
                "It makes itself a voter again, because its controller.quorum.auto.join.enable is true (KAFKA-19850)."
                if auto_join
                else "It counts for no majority."
            ),
            "If it was removed, stop it, and set controller.quorum.auto.join.enable to false before it is started "
            "again. If it is new, add it with quorum_voter.",
        )


def _was_fetching(observation: Observation, replica_id: int) -> bool:
    """Return whether an observer fetched at any look. One that stalls for a moment is still active."""
    return any(
        is_fetching(observation, each)
        for state in states(observation)
        for each in state.observers
        if each.replica_id == replica_id
    )


def is_controller(observation: Observation, observer: QuorumReplica) -> bool:
    """Return whether an observer is known to be a controller. Brokers are always observers."""
    if observation.controller(observer.replica_id) is not None:
        return True
    return observation.broker_ids is not None and observer.replica_id not in observation.broker_ids


def _joined_voters(observation: Observation) -> Iterator[Finding]:
    state = observation.state
    for voter in state.voters if state is not None else ():
        if has_joined(observation, voter):
            left = states(observation)[0].voter(voter.replica_id) is not None
            yield Finding(
                Kind.VOTER_JOINED,
                Severity.WARNING if left else Severity.INFO,
                (voter.replica_id,),
                {
                    "directory_id": voter.directory_id,
                    "window_ms": observation.window_ms,
                    "was_removed_in_window": left,
                    "auto_join": _auto_join(observation, voter.replica_id),
                },
                "It became a voter while we looked. A voter that is removed while it runs with "
                "controller.quorum.auto.join.enable adds itself again (KAFKA-19850).",
                "If no person added it, stop it before you remove it, or set that to false on it.",
            )


def _new_voters(observation: Observation) -> Iterator[Finding]:
    state = observation.state
    if state is None:
        return
    majority_lags = len(caught_up_voters(observation)) < state.majority
    for voter in state.voters:
        if voter.replica_id != state.leader_id and is_new(observation, voter) and not is_caught_up(observation, voter):
            yield Finding(
                Kind.NEW_VOTER_NOT_CAUGHT_UP,
                Severity.CRITICAL if majority_lags else Severity.WARNING,
                (voter.replica_id,),
                {
                    "lag_records": voter.lag_records,
                    "lag_ms": voter.lag_ms,
                    "since_fetch_ms": voter.since_fetch_ms,
                    "caught_up": list(caught_up_voters(observation)),
                    "majority": state.majority,
                },
                "It may vote, and does not hold what was committed before it joined. With a majority that lags too, a "
                "candidate without committed records can be elected (KIP-996).",
                "Let it catch up before anything else is restarted or changed. If it cannot, remove it with "
                "quorum_voter while a majority without it is caught up.",
            )


def _replaced_disks(observation: Observation) -> Iterator[Finding]:
    evidence = {
        **_empty_voters(observation),
        **_observers_with_a_new_disk(observation),
        **_disks_changed_meanwhile(observation),
    }
    state = observation.state
    for node_id, numbers in sorted(evidence.items()):
        is_safe = state is not None and len(caught_up_voters(observation)) >= state.majority
        yield Finding(
            Kind.DISK_REPLACED,
            Severity.WARNING if is_safe else Severity.CRITICAL,
            (node_id,),
            numbers,
            "Its disk was lost or replaced: it has forgotten what it acknowledged and whom it voted for. If it votes "
            "before it has caught up, committed records can be lost (KIP-996, KAFKA-14205).",
            _disk_remedy(observation, node_id),
        )


def _empty_voters(observation: Observation) -> dict[int, dict[str, Any]]:
    """Return voters that hold no committed record: in a static quorum, the only sign of a new disk."""
    state = observation.state
    if state is None or not state.high_watermark:
        return {}
    return {
        voter.replica_id: {
            "voter_directory_id": voter.directory_id,
            "log_end_offset": 0,
            "lag_records": voter.lag_records,
            "high_watermark": state.high_watermark,
        }
        for voter in state.voters
        if voter.log_end_offset == 0
    }


def _observers_with_a_new_disk(observation: Observation) -> dict[int, dict[str, Any]]:
    state = observation.state
    found: dict[int, dict[str, Any]] = {}
    for observer in state.observers if state is not None else ():
        voter = state.voter(observer.replica_id) if state is not None else None
        if voter is not None and is_another_disk(observation, voter, observer):
            found[observer.replica_id] = {
                "voter_directory_id": voter.directory_id,
                "directory_id": observer.directory_id,
                "log_end_offset": observer.log_end_offset,
                "lag_records": observer.lag_records,
            }
    return found


def _disks_changed_meanwhile(observation: Observation) -> dict[int, dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    for before, after, state in histories(observation):
        is_other = None not in (before.directory_id, after.directory_id) and before.directory_id != after.directory_id
        if is_other or _lost_committed(before, after, state):
            found[before.replica_id] = {
                "voter_directory_id": before.directory_id,
                "directory_id": after.directory_id,
                "log_end_offset_before": before.log_end_offset,
                "log_end_offset": after.log_end_offset,
                "high_watermark_before": state.high_watermark,
            }
    return found


def _lost_committed(before: QuorumReplica, after: QuorumReplica, state: QuorumState) -> bool:
    """Return whether a log end went below a high watermark. A follower may truncate only what was never committed."""
    if before.log_end_offset is None or after.log_end_offset is None or state.high_watermark is None:
        return False
    return after.log_end_offset < min(before.log_end_offset, state.high_watermark)


def _disk_remedy(observation: Observation, node_id: int) -> str:
    wait = "Restart no other controller until a majority without it is caught up. "
    if observation.kraft_version:
        return wait + (
            f"Then replace the voter: ansible-playbook kafkaops.recovery.replace_controller "
            f"-e controller_replacement_voter_id={node_id}. It removes the old directory id, waits until the new one "
            "has caught up, and adds it."
        )
    return (
        wait + "This quorum is static (kraft.version 0): it goes on with the new disk by itself, so watch it catch up."
    )


def _auto_join(observation: Observation, node_id: int) -> bool | None:
    controller = observation.controller(node_id)
    return controller.auto_join if controller is not None else None
