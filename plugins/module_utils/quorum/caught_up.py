# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which voters have what the leader has. Pure; standard library only.

The rule is Strimzi's KafkaRoller's: caught up is who had everything within the last fetch timeout, by the leader's
clock. Unknown means no.
"""

from __future__ import annotations

from collections.abc import Iterable

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.quorum import QuorumReplica, QuorumState
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.observation import Observation


def is_caught_up(observation: Observation, replica: QuorumReplica) -> bool:
    """True for the leader, and for whoever had all its records within the fetch timeout, if it still has them.

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
    """True for a follower that fetched within the fetch timeout. An observer that is gone is listed for some time."""
    return replica.since_fetch_ms is not None and replica.since_fetch_ms <= observation.caught_up_within_ms


def is_another_disk(observation: Observation, voter: QuorumReplica, observer: QuorumReplica) -> bool:
    """True when the voter's node fetches now as an observer, from another directory."""
    return (
        observer.replica_id == voter.replica_id
        and observer.directory_id != voter.directory_id
        and is_fetching(observation, observer)
    )


def caught_up_voters(observation: Observation) -> tuple[int, ...]:
    """Ids of the voters that are caught up, the leader among them."""
    return tuple(each.replica_id for each in _voters(observation.state) if is_caught_up(observation, each))


def lagging_voters(observation: Observation) -> tuple[int, ...]:
    """Ids of the voters that are not, or of which it is not known."""
    return tuple(each.replica_id for each in _voters(observation.state) if not is_caught_up(observation, each))


def _voters(state: QuorumState | None) -> Iterable[QuorumReplica]:
    return state.voters if state is not None else ()
