# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the leaders that a preferred election moves.

No leader moves to a broker that cannot lead, although the controller would elect it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .._kafka.cluster import Cluster
from .._kafka.port import Kafka
from .._model.partition import Broker, PartitionState, TopicPartition
from .._model.silent_leaders import describe_silent_leader, silent_brokers
from .blacklist import matches
from .history import Histories
from .memory import Memory
from .memory_topic import LeadershipOptions
from .moves import Move, MoveStatus, doubt_leader, move_away, move_to
from .orders import find_base, with_last


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveOptions(LeadershipOptions):
    """The leaders to move, and the limits."""

    from_brokers: frozenset[int]
    """Brokers that should not lead any partition that another broker can lead."""
    to_brokers: frozenset[int]
    """Brokers that should lead the partitions whose preferred replica they have."""
    patterns: tuple[str, ...]
    """Patterns of the topics to include; empty for all topics."""
    max_moves: int
    """The number of elections in one batch; at most PARTITIONS_PER_REQUEST."""

    fencing_wait_ms: int = 0
    """How long to wait while leaders do not answer, until the controller fences them. Check mode does not wait."""


@dataclass(slots=True)
class MoveFinder:
    """Judges partitions by the brokers that answer."""

    kafka: Kafka
    options: MoveOptions
    cluster: Cluster
    brokers: tuple[Broker, ...]
    undone: Memory
    """Orders in it count as restored. Empty outside check mode."""
    _histories: Histories = field(init=False)
    _late: dict[int, str] = field(default_factory=dict)
    """What is wrong with brokers that answer, and that the controller would elect."""

    def __post_init__(self) -> None:
        self._histories = Histories(self.kafka, self.cluster.living(self.brokers), self.options.to_brokers)

    def find(self, states: Iterable[PartitionState]) -> dict[TopicPartition, Move]:
        """Return the moves of partitions, sorted. Those without a move are left out. Raises CallError."""
        silent = silent_brokers(self.brokers)
        unfit = self._late | dict.fromkeys(silent, "does not answer")
        found = {}
        for state in sorted(states, key=lambda each: each.topic_partition):
            move = self._judge(state, unfit)
            if move is None and state.leader_id in silent and self._is_wanted(state):
                move = doubt_leader(state, describe_silent_leader(silent[state.leader_id]))
            if move is not None:
                found[state.topic_partition] = move
        return self._histories.hold_back(found)

    def look_for_late(self, moves: Iterable[Move]) -> bool:
        """Ask the brokers that these moves could elect, and return whether one of them applies metadata late.

        One that is elected does not know it, and the former leader leads no more.
        """
        addresses = self.cluster.addresses
        wanted = {each for move in moves if move.status is MoveStatus.WOULD_MOVE for each in move.isr}
        late = self.kafka.find_late({each: addresses[each] for each in sorted(wanted & addresses.keys())})
        self._late = dict.fromkeys(late, "applies metadata late")
        return bool(late)

    def _judge(self, state: PartitionState, unfit: dict[int, str]) -> Move | None:
        options = self.options
        if not self._is_included(state):
            return None
        away = move_away(state, options.from_brokers, unfit, assume_reordered=options.check_mode)
        if away is not None:
            return away
        base = find_base(state.topic_id, state.replicas, self.undone.orders.get(state.topic_partition))
        order = with_last(base.order, self.undone.blacklist.listed_for(state.topic) - options.to_brokers)
        return move_to(state, options.to_brokers, order, unfit)

    def _is_included(self, state: PartitionState) -> bool:
        patterns = self.options.patterns
        return state.topic != self.options.journal.topic and (not patterns or matches(state.topic, patterns))

    def _is_wanted(self, state: PartitionState) -> bool:
        """Return whether it matters who leads. If no broker is named, every leader must be known: nothing is moved."""
        named = self.options.from_brokers | self.options.to_brokers
        return self._is_included(state) and (not named or bool(named.intersection(state.replicas)))
