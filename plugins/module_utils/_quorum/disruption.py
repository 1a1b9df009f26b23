# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the servers that disrupt a quorum, according to KIP-996 and KIP-853. Pure; standard library only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._model.quorum import QuorumReplica, QuorumState, SeenLeader
from .finding import Finding, FindingKind, Severity
from .observation import (
    Observation,
    caught_up_voters,
    has_joined,
    is_another_disk,
    is_caught_up,
    is_fetching,
    is_new,
    observed_states,
    pair_states_of_voters,
)


def find_disruption(observation: Observation) -> Iterator[Finding]:
    """Yield all findings about disruptive servers."""
    yield from _find_epoch_churn(observation)
    yield from _find_epoch_ahead(observation)
    yield from _find_removed_voters(observation)
    yield from _find_joined_voters(observation)
    yield from _find_new_voters(observation)
    yield from _find_replaced_disks(observation)


def _find_epoch_churn(observation: Observation) -> Iterator[Finding]:
    seen = observed_states(observation)
    leaders: list[SeenLeader | QuorumState] = [*seen]
    if observation.earlier is not None:
        leaders.insert(0, observation.earlier)
    epochs = [leader.leader_epoch for leader in leaders]
    if not seen or epochs[-1] == epochs[0]:
        return
    suspects = tuple(sorted(_find_suspects(observation)))
    times = len(set(epochs)) - 1
    yield Finding(
        FindingKind.EPOCH_CHURN,
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
        "If the leader did not fail, a server disrupts the quorum: a follower that was cut off and returned, timeouts "
        "that are too low, or a voter that was removed.",
        (
            f"Check {list(suspects)} first: they did not fetch from the leader, or were in a higher epoch. "
            if suspects
            else ""
        )
        + "Compare controller.quorum.*.timeout.ms on all controllers, and check the network and pauses of processes. "
        "Request no election until the epoch stays the same.",
    )


def _find_suspects(observation: Observation) -> set[int]:
    """Return voters that did not fetch in time, and controllers whose epoch was higher than the leader's."""
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


def _find_epoch_ahead(observation: Observation) -> Iterator[Finding]:
    state = observation.state
    if state is None:
        return
    for view in observation.looks[-1].views:
        if view.epoch is not None and view.epoch > state.leader_epoch:
            yield Finding(
                FindingKind.EPOCH_AHEAD,
                Severity.WARNING,
                () if view.node_id is None else (view.node_id,),
                {"epoch": view.epoch, "leader_epoch": state.leader_epoch, "address": view.address},
                "The controller requests elections, but no other controller receives the requests. It raises its epoch "
                f"each time. When its requests arrive again, leader {state.leader_id} must step down (KIP-996).",
                "Repair the network between it and the other controllers when an election does no harm, or stop it "
                "before the repair and start it afterwards. With Pre-Vote (Kafka 4.0 and later) this does not happen.",
            )


def _find_removed_voters(observation: Observation) -> Iterator[Finding]:
    state = observation.state
    if state is None:
        return
    for observer in state.observers:
        if state.voter(observer.replica_id) is not None or not is_controller(observation, observer):
            continue
        if not _was_fetching(observation, observer.replica_id):
            continue
        was_voter = any(each.voter(observer.replica_id) is not None for each in observed_states(observation))
        auto_join = _auto_join(observation, observer.replica_id)
        yield Finding(
            FindingKind.REMOVED_VOTER_ACTIVE,
            Severity.WARNING,
            (observer.replica_id,),
            {
                "directory_id": observer.directory_id,
                "since_fetch_ms": observer.since_fetch_ms,
                "lag_records": observer.lag_records,
                "was_voter_in_window": was_voter,
                "auto_join": auto_join,
            },
            "A controller is running that is no voter: it was removed and not stopped, or it is to be added. "
            + (
                "It makes itself a voter again, because its controller.quorum.auto.join.enable is true (KAFKA-19850)."
                if auto_join
                else "It does not count for a majority."
            ),
            "If it was removed, stop it, and set controller.quorum.auto.join.enable to false before it is started "
            "again. If it is new, add it with quorum_voter.",
        )


def _was_fetching(observation: Observation, replica_id: int) -> bool:
    """Return whether an observer fetched at any look. An observer that pauses for a moment is still active."""
    return any(
        is_fetching(observation, each)
        for state in observed_states(observation)
        for each in state.observers
        if each.replica_id == replica_id
    )


def is_controller(observation: Observation, observer: QuorumReplica) -> bool:
    """Return whether an observer is known to be a controller. Brokers are always observers."""
    if observation.controller(observer.replica_id) is not None:
        return True
    return observation.broker_ids is not None and observer.replica_id not in observation.broker_ids


def _find_joined_voters(observation: Observation) -> Iterator[Finding]:
    state = observation.state
    for voter in state.voters if state is not None else ():
        if has_joined(observation, voter):
            left = observed_states(observation)[0].voter(voter.replica_id) is not None
            yield Finding(
                FindingKind.VOTER_JOINED,
                Severity.WARNING if left else Severity.INFO,
                (voter.replica_id,),
                {
                    "directory_id": voter.directory_id,
                    "window_ms": observation.window_ms,
                    "was_removed_in_window": left,
                    "auto_join": _auto_join(observation, voter.replica_id),
                },
                "The controller became a voter while we looked. A voter that is removed while it runs with "
                "controller.quorum.auto.join.enable adds itself again (KAFKA-19850).",
                "If no person added it, stop it before you remove it, or set this option to false on it.",
            )


def _find_new_voters(observation: Observation) -> Iterator[Finding]:
    state = observation.state
    if state is None:
        return
    majority_lags = len(caught_up_voters(observation)) < state.majority
    for voter in state.voters:
        if voter.replica_id != state.leader_id and is_new(observation, voter) and not is_caught_up(observation, voter):
            yield Finding(
                FindingKind.NEW_VOTER_NOT_CAUGHT_UP,
                Severity.CRITICAL if majority_lags else Severity.WARNING,
                (voter.replica_id,),
                {
                    "lag_records": voter.lag_records,
                    "lag_ms": voter.lag_ms,
                    "since_fetch_ms": voter.since_fetch_ms,
                    "caught_up": list(caught_up_voters(observation)),
                    "majority": state.majority,
                },
                "The new voter may vote, but does not have the records that were committed before it joined. If a "
                "majority lags too, a candidate that lacks committed records can be elected (KIP-996).",
                "Wait until it has caught up before you restart or change anything else. If it cannot catch up, remove "
                "it with quorum_voter while a majority of the other voters is caught up.",
            )


def _find_replaced_disks(observation: Observation) -> Iterator[Finding]:
    evidence = {
        **_empty_voters(observation),
        **_observers_with_a_new_disk(observation),
        **_disks_changed_meanwhile(observation),
    }
    state = observation.state
    for node_id, numbers in sorted(evidence.items()):
        is_safe = state is not None and len(caught_up_voters(observation)) >= state.majority
        yield Finding(
            FindingKind.DISK_REPLACED,
            Severity.WARNING if is_safe else Severity.CRITICAL,
            (node_id,),
            numbers,
            "The controller's disk was lost or replaced: it has lost the records that it acknowledged and its vote. "
            "If it votes before it has caught up, committed records can be lost (KIP-996, KAFKA-14205).",
            _disk_remedy(observation, node_id),
        )


def _empty_voters(observation: Observation) -> dict[int, dict[str, Any]]:
    """Return the voters without any committed record. In a static quorum, nothing else shows a new disk."""
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
    for before, after, state in pair_states_of_voters(observation):
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
    """Return whether the log end fell below the high watermark. A follower never truncates committed records."""
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
        wait + "This quorum is static (kraft.version 0): the controller uses the new disk without any change, so only "
        "wait until it has caught up."
    )


def _auto_join(observation: Observation, node_id: int) -> bool | None:
    controller = observation.controller(node_id)
    return controller.auto_join if controller is not None else None
