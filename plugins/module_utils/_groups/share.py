# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read what share groups have done, now and by a salvage, from ``__share_group_state``. Only reads.

A start offset says too little: brokers move it late, and records after it are done one by one. Only the records of the
share coordinator say which ones. Most of them are changes, so saved ones need the state before: that of the present log
before the first offset that it lacks.

A higher start offset delivers all records from there on again, also those that are done. So a group whose start offset
went back gets it back only if it has done none of them since.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from .._kafka.cluster import Cluster
from .._kafka.errors import CallError
from .._kafka.group_commits import partition_of
from .._kafka.held_replicas import known_offsets
from .._kafka.port import Kafka
from .._kafka.share_state import Place, Record, ShareState, places_of, read_share_states
from .._kafka.topics import UnreadableRecordsError
from .._model.partition import SHARE_STATE_TOPIC, PartitionState, TopicPartition
from .decide import Since

IS_THERE = Since("it has done all records before that since")
_DONE_SINCE = Since("it has done records after that since the election, and would get them again")
_RESET_SINCE = Since("somebody has reset or deleted its start offset since the election")
_UNKNOWN = Since("what it has done since the election is not known: its state cannot be read", is_known=False)


@dataclass(frozen=True, slots=True)
class ShareStates:
    """Reads partitions of ``__share_group_state`` from their leaders, each once."""

    kafka: Kafka
    cluster: Cluster
    partitions: Mapping[int, PartitionState]
    _read: dict[int, Sequence[tuple[int, Record]] | None] = field(default_factory=dict)
    _states: dict[int, Mapping[Place, ShareState | None]] = field(default_factory=dict)

    def since(
        self,
        place: Place,
        target: int,
        saved: ShareState | None = None,
        first_lost: Mapping[TopicPartition, int] = MappingProxyType({}),
    ) -> Since | None:
        """Return what speaks against a higher start offset for a share group; None if nothing does.

        ``saved`` is what the salvage says of it, and ``first_lost`` its first offsets that the logs lacked.
        """
        state = (self._now(place) or {}).get(place)
        if state is None:
            return _UNKNOWN
        if state.next_record() >= target:
            return IS_THERE
        if saved is not None and (state.epoch > saved.epoch or self._was_deleted(place, first_lost)):
            return _RESET_SINCE
        return _DONE_SINCE if state.has_done_from(target) else None

    def _was_deleted(self, place: Place, first_lost: Mapping[TopicPartition, int]) -> bool:
        number = self._number(place)
        records, first = self._records(number) or (), first_lost.get(TopicPartition(SHARE_STATE_TOPIC, number), 0)
        return any(value is None and place in places_of([(key, value)]) for at, (key, value) in records if at >= first)

    def has(self, place: Place) -> bool | None:
        """Return whether there is a state of this group and partition; None if that cannot be read."""
        states = self._now(place)
        return None if states is None else place in states

    def saved(
        self, share_log: Mapping[int, Sequence[Record]], first_lost: Mapping[TopicPartition, int]
    ) -> dict[Place, ShareState | None]:
        """Return what the salvage says of groups' partitions. None if the state before its changes is not known."""
        found: dict[Place, ShareState | None] = {}
        for number, changes in share_log.items():
            first = first_lost.get(TopicPartition(SHARE_STATE_TOPIC, number), 0)
            earlier = (each for offset, each in self._records(number) or () if offset < first)
            states, named = read_share_states(changes, read_share_states(earlier)), places_of(changes)
            found |= {place: each for place, each in states.items() if place in named}
        return found

    def _now(self, place: Place) -> Mapping[Place, ShareState | None] | None:
        """Return all present states of the partition that has this place; None if it cannot be read."""
        if not self.partitions:
            return None
        number = self._number(place)
        records = self._records(number)
        if number not in self._states and records is not None:
            self._states[number] = read_share_states(each for _offset, each in records)
        return self._states.get(number)

    def _number(self, place: Place) -> int:
        """Return the partition with this state (ShareCoordinatorService.partitionFor)."""
        group, topic_id, partition = place
        return partition_of(f"{group}:{topic_id}:{partition}", len(self.partitions))

    def _records(self, number: int) -> Sequence[tuple[int, Record]] | None:
        """Return the records with their offsets; None if they cannot be read."""
        if number not in self._read:
            self._read[number] = self._fetch(number)
        return self._read[number]

    def _fetch(self, number: int) -> Sequence[tuple[int, Record]] | None:
        state = self.partitions.get(number)
        if state is None or (leader := self.cluster.addresses.get(state.leader_id)) is None:
            return None
        name = state.topic_partition
        try:
            start = known_offsets(self.kafka.log_start_offsets(leader, [name])).get(name)
            if start is None:
                return None
            return self.kafka.read_records(leader, state.topic_id, start, number).records
        except (CallError, UnreadableRecordsError):
            return None


def share_states(kafka: Kafka, cluster: Cluster, described: Iterable[PartitionState]) -> ShareStates:
    """Return the reader for these partitions of all topics."""
    own = {each.partition: each for each in described if each.topic == SHARE_STATE_TOPIC}
    return ShareStates(kafka, cluster, own)
