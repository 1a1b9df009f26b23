# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What changed among the voters within the window. Pure; standard library only."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.quorum import QuorumReplica, QuorumState
from ansible_collections.kafkaops.recovery.plugins.module_utils.quorum.observation import Observation


def states(observation: Observation) -> list[QuorumState]:
    """The states that were seen, oldest first."""
    return [look.state for look in observation.looks if look.state is not None]


def is_new(observation: Observation, voter: QuorumReplica) -> bool:
    """True for a voter that joined within the window, or that fetches and was never caught up with this leader."""
    return has_joined(observation, voter) or (voter.since_fetch_ms is not None and voter.lag_ms is None)


def has_joined(observation: Observation, voter: QuorumReplica) -> bool:
    """True when the node was no voter at some earlier moment of the window."""
    return any(state.voter(voter.replica_id) is None for state in states(observation))


def histories(observation: Observation) -> Iterator[tuple[QuorumReplica, QuorumReplica, QuorumState]]:
    """Each voter at one look and at the next one, with the state of the first of the two."""
    seen = states(observation)
    for before, after in pairwise(seen):
        for voter in before.voters:
            later = after.voter(voter.replica_id)
            if later is not None:
                yield voter, later, before
