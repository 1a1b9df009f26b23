# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the saved records that the leader of their original partition holds again.

Between a salvage and its replay, the broker whose records were saved may return and be elected. The same leader epoch
and offset are the same record (``_model.log_contents``), so the leader's lineage shows which records are back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from .._kafka.cluster import Cluster
from .._kafka.port import Kafka
from .._model.log_contents import Stretches, subtract, union
from .._model.partition import PartitionState, ReplicaLog, TopicPartition
from .leaders import probe_leaders
from .saved import SavedRecords
from .stretch import IncomparableError, find_lacking

_ANSWER_S = 30.0


@dataclass(frozen=True, slots=True)
class Held:
    """What the leader of one partition holds of its saved records."""

    leader_id: int
    leader_epoch: int
    log: ReplicaLog | None = None
    """None if the leader did not say what it holds."""
    ranges: Stretches = ()
    """Saved offsets that are in the leader's log now."""
    reason: str = ""
    """Why it is unknown what the leader holds; empty if it is known."""
    is_of_other_topic: bool = False
    """The topic was deleted, or re-created with another id: it has none of the saved records."""


_NO_TOPIC = Held(-1, -1, is_of_other_topic=True)


class HeldAgain:
    """What the leaders hold of the saved records, as of the last look."""

    def __init__(
        self, kafka: Kafka, saved: Sequence[SavedRecords], reused_epochs: Mapping[TopicPartition, Collection[int]]
    ) -> None:
        """Compare with these saved records. ``reused_epochs`` are leader epochs of them that two leaders had."""
        self._kafka = kafka
        self._reused = reused_epochs
        self._saved = {each.topic_partition: each for each in saved}
        self._held: dict[TopicPartition, Held] = {}

    def __getitem__(self, partition: TopicPartition) -> Held:
        return self._held[partition]

    def look(self, partitions: Collection[TopicPartition]) -> None:
        """Ask the leaders of these partitions. One that was asked in its present epoch is not asked again.

        A log changes within a leader epoch only by appends, and these have that epoch: no saved record has it.

        Raises KafkaOpsError: the cluster does not describe its partitions.
        """
        found = self._kafka.describe_partitions({each.topic for each in partitions})
        states = {each.topic_partition: each for each in found.partitions}
        changed = []
        for each in partitions:
            state, before = states.get(each), self._held.get(each)
            if state is None or self._saved[each].topic_id not in {None, state.topic_id}:
                self._held[each] = _NO_TOPIC
            elif (
                before is None
                or before.reason
                or (before.leader_id, before.leader_epoch) != (state.leader_id, state.leader_epoch)
            ):
                changed.append(state)
        if changed:
            self._ask(self._kafka.describe_cluster(), changed)

    def _ask(self, cluster: Cluster, states: Sequence[PartitionState]) -> None:
        logs = probe_leaders(self._kafka, cluster, states, self._kafka.clock.monotonic() + _ANSWER_S)
        for state in states:
            partition = state.topic_partition
            saved, reused = self._saved[partition].ranges, self._reused.get(partition, ())
            self._held[partition] = compare_with_saved(state, logs.get(partition), saved, reused)


def compare_with_saved(
    state: PartitionState, log: ReplicaLog | None, saved: Stretches, reused_epochs: Collection[int] = ()
) -> Held:
    """Return which saved offsets the leader's log has. ``log`` is None if the leader is not registered.

    If both seem to have the same records of an epoch that two leaders had, it is unknown whether they are the same.
    """
    found = Held(state.leader_id, state.leader_epoch)
    who = f"broker {state.leader_id}, the leader"
    if state.is_offline:
        return replace(found, reason="the partition has no leader")
    if log is None or not log.answered:
        why = "it is not registered" if log is None else f"{log.cause}: {log.error}"
        return replace(found, reason=f"{who}, did not say what it holds: {why}")
    ranges = union([saved])
    try:
        lacking = find_lacking(log, ranges)
    except IncomparableError as error:
        return replace(found, reason=f"{who}, cannot be compared with the saved records: {error}")
    # What lies before the leader's log start offset is not in its log now, whether or not it was there once.
    held = subtract(ranges, union([[*lacking.lost, *lacking.earlier]]))
    if shared := {*reused_epochs} & {each.epoch for each in held}:
        epochs = ", ".join(map(str, sorted(shared)))
        why = f"has records of leader epoch {epochs}, too, which two leaders had: replay these to a side topic"
        return replace(found, reason=f"{who}, {why}")
    return replace(found, log=log, ranges=held)


def find_first_newer_offset(log: ReplicaLog, saved: Stretches) -> int:
    """Return an offset of the leader's log before which no record is newer than a saved one.

    Newer is a record of a newer leader epoch, or of the same epoch at a higher offset. After another unclean election,
    newer records may lie before the first saved offset. The leader must have answered.
    """
    start = log.log_start_offset or 0
    oldest = min(each.epoch for each in saved)
    end_of_old = max((each.end_offset for each in log.lineage if each.epoch <= oldest), default=start)
    return max(start, min(end_of_old, *(each.start_offset for each in saved)))


def describe_held_too(partition: TopicPartition, side: str, held: Held, records: int) -> str:
    """Say that a side topic gets records that the original topic has again; empty if it gets none."""
    if held.is_of_other_topic:
        return f"{partition}: the topic was deleted or re-created, so no saved record was compared with it"
    if held.reason:
        return f"{partition}: it is unknown which of its saved records the topic has again, because {held.reason}"
    if not records:
        return ""
    return (
        f"{partition}: broker {held.leader_id}, the leader, holds {records} of the saved records again. A consumer of "
        f"both {partition.topic} and {side} gets them twice"
    )
