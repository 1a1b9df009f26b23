# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A controller in memory that follows Kafka's rules, now or at a later time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, TypeVar

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka import error_codes
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    NO_LEADER,
    BrokerState,
    PartitionState,
    TopicPartition,
)
from unit.fakes.answers import FakeAnswers

ELIGIBLE_LEADERS_NOT_AVAILABLE = 83

Subject = TypeVar("Subject")


@dataclass
class FakeController(FakeAnswers):
    """The partitions, and the brokers that are registered and unfenced."""

    states: dict[TopicPartition, PartitionState]
    unfenced: set[int]
    registered: set[int]
    _: KW_ONLY
    removing: dict[TopicPartition, tuple[int, ...]] = field(default_factory=dict)
    """Replicas that are being removed, because an order omitted them."""
    broker_states: dict[int, BrokerState] = field(default_factory=dict)
    """The states of brokers other than "online" or "fenced"."""
    shutting_down: set[int] = field(default_factory=set)
    """Brokers in controlled shutdown: the controller does not elect them, and the metadata does not show it."""
    _late: list[tuple[float, Callable[[], object]]] = field(default_factory=list)

    def later(self, after_s: float, work: Callable[[Subject], object], subjects: Sequence[Subject]) -> None:
        """Do this work on each subject after this number of seconds, by the fake clock."""
        at = self.clock.monotonic() + after_s
        self._late += [(at, partial(work, each)) for each in subjects]

    def execute_late(self) -> None:
        """Do the work whose time has come."""
        for late in [each for each in self._late if each[0] <= self.clock.monotonic()]:
            self._late.remove(late)
            late[1]()

    def will_elect(self, partitions: list[TopicPartition], after_s: float) -> None:
        """Execute another party's UNCLEAN election of these partitions after this number of seconds."""
        self.later(after_s, partial(self.elect_any, unclean=True), partitions)

    def will_reorder(self, partitions: list[TopicPartition], order: tuple[int, ...], after_s: float) -> None:
        """Execute another party's order after this number of seconds."""
        self.later(after_s, lambda each: self.set_replicas(each, order), partitions)

    def will_fence(self, broker_id: int, leader_id: int, after_s: float) -> None:
        """Fence a broker after this number of seconds, and elect another leader for its partitions."""

        def fence(broker_id: int) -> None:
            self.unfenced.discard(broker_id)
            self.broker_states.pop(broker_id, None)
            for partition, state in self.states.items():
                if state.leader_id == broker_id:
                    self.change(partition, leader_id=leader_id)

        self.later(after_s, fence, [broker_id])

    def change(self, partition: TopicPartition, **values: Any) -> None:
        self.states[partition] = self.states[partition]._replace(**values)

    def kill(self, broker_id: int) -> None:
        """Fence a broker. Partitions that it led then have no leader."""
        self.unfenced.discard(broker_id)
        for partition, state in self.states.items():
            if state.leader_id == broker_id:
                self.change(partition, leader_id=NO_LEADER, leader_epoch=state.leader_epoch + 1)

    def revive(self, broker_id: int) -> None:
        """Unfence a broker. It leads partitions at once if it is in the ISR or the ELR, or the last known leader."""
        self.unfenced.add(broker_id)
        for partition in self.states:
            self.elect_any(partition, unclean=False)

    def set_replicas(self, partition: TopicPartition, order: tuple[int, ...]) -> int:
        """Set an order. Replicas that it omits are removed once all others follow a leader."""
        removed = tuple(sorted({*self.states[partition].replicas} - {*order}))
        if removed:
            self.removing[partition] = removed
        self.change(partition, replicas=(*order, *removed))
        self.elect_any(partition, unclean=False)
        self._finish_removal(partition)
        return 0

    def _finish_removal(self, partition: TopicPartition) -> None:
        """Follow PartitionReassignmentReplicas.maybeCompleteReassignment. Unfenced replicas follow a leader at once."""
        state, removed = self.states[partition], self.removing.get(partition, ())
        left = tuple(each for each in state.replicas if each not in removed)
        if removed and state.leader_id in left and {*left} <= self.unfenced:
            self.change(partition, replicas=left)
            del self.removing[partition]

    def elect_any(self, partition: TopicPartition, *, unclean: bool) -> int:
        """Follow PartitionChangeBuilder.electAnyLeader, and return the error code of ElectLeaders."""
        state = self.states[partition]
        if state.leader_id != NO_LEADER:
            return error_codes.ELECTION_NOT_NEEDED
        in_sync = [each for each in state.replicas if each in {*state.isr, *(state.elr or ())}]
        choices: Iterable[int] = in_sync
        if not in_sync and len(state.last_known_elr or ()) == 1:
            choices = state.last_known_elr or ()
        if unclean:
            choices = [*choices, *state.replicas]
        leader = next((each for each in choices if each in self.unfenced - self.shutting_down), None)
        if leader is None:
            return ELIGIBLE_LEADERS_NOT_AVAILABLE
        return self.lead(partition, leader)

    def lead(self, partition: TopicPartition, leader: int) -> int:
        """Make a broker the leader, alone in the ISR."""
        self.change(
            partition,
            leader_id=leader,
            leader_epoch=self.states[partition].leader_epoch + 1,
            isr=(leader,),
            elr=(),
            last_known_elr=(),
        )
        self._finish_removal(partition)
        return 0
