# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find which of the saved records are left to give back.

Left out are those that an earlier run gave back, by its ledger or by what the topic has; those that the leader holds
again; and, of a compacted topic, those whose key has a newer record. Only reads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from .._kafka.cluster import Cluster
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.log_contents import subtract
from .._model.partition import TopicPartition, grouped
from .._model.run import KafkaOpsError, Progress
from .gaps import CompactedGaps
from .given_back import Given, complete_ledger, find_given, read_given_back
from .held_again import HeldAgain, describe_held_too, find_first_newer_offset
from .ledger import Ledger
from .manifest import Manifest
from .partition_replay import NewerKeys, PartitionReplay, collect_key_hashes, count_settled
from .replay_progress import Ledgers
from .replayed import Counts
from .saved import SavedRecords, UnreadableOffsets
from .saved_rows import read_saved_runs
from .saved_run import SavedRun, name_origin
from .targets import Targets

_MOST_NOTES = 20


@dataclass(frozen=True, slots=True)
class Outstanding:
    """Finds what is left of one salvage."""

    kafka: Kafka
    cluster: Cluster
    progress: Progress
    directory: str
    manifest: Manifest
    saved: Sequence[SavedRecords]
    """Those of the manifest that are to be given back."""
    held_again: HeldAgain | None
    """None if the salvage is of another cluster."""
    include_unknown: bool
    wait_s: float | None
    """How long to wait for open transactions; None to count what they have as not written."""

    def find(
        self, targets: Targets, created: Mapping[str, str], ledgers: Ledgers
    ) -> dict[TopicPartition, PartitionReplay]:
        """Return the partitions that are neither refused nor internal. One that cannot be read has a failure.

        ``created`` are the ids of side topics that this run has created, by name.
        """
        unreadable = {each.topic_partition: each.unreadable for each in self.manifest.held}
        parts = {
            each.topic_partition: self._begin(each, targets, created, ledgers, unreadable.get(each.topic_partition, ()))
            for each in self.saved
            if each.topic_partition not in targets.refused and each.topic_partition not in targets.internal
        }
        if self.held_again is not None:
            self.progress.step("asking the leaders which records they hold again")
            self.held_again.look(parts)
            for partition, part in parts.items():
                part.set_held(self.held_again[partition])
        # A side topic has little else than what was given back, perhaps by a run with another topic of ledgers.
        unsure = {
            name: part
            for name, part in parts.items()
            if ledgers.may_lack or (part.is_for_side_topic and not part.ledger.settled)
        }
        self._find_given_back(unsure)
        for part in parts.values():
            part.counts = earlier_counts(part.ledger)
        compacted = {each for each, part in parts.items() if part.target.is_compacted and not part.failure}
        if compacted:
            self._read_newer_keys(parts, compacted)
        return parts

    def count(
        self, parts: Mapping[TopicPartition, PartitionReplay], refused: Mapping[TopicPartition, Ledger]
    ) -> dict[TopicPartition, int]:
        """Count the records to give back. Works on copies, so the ledgers are not changed.

        Returns how many records of this salvage earlier runs have settled, by partition: a ledger is also about
        records that only other salvages have. ``refused`` are the ledgers of the partitions that are not in ``parts``.
        """
        self.progress.step("counting the saved records")
        trial = {
            name: replace(part, ledger=Ledger(part.ledger.settled), counts=Counts()) for name, part in parts.items()
        }
        ledgers = {**refused, **{name: part.ledger for name, part in parts.items()}}
        settled = dict.fromkeys(ledgers, 0)
        for run in self.read_runs({each.topic for each in self.saved}, contents=False):
            if run.topic_partition in ledgers:
                settled[run.topic_partition] += count_settled(ledgers[run.topic_partition], run)
            each = trial.get(run.topic_partition)
            if each is not None:
                each.counts.to_give += sum(one.records for one in each.take(run))
        for name, each in trial.items():
            parts[name].counts = replace(
                earlier_counts(parts[name].ledger),
                to_give=each.counts.to_give,
                held_too=each.counts.held_too,
                left_out=each.counts.left_out,
            )
        return settled

    def describe_held(self, parts: Mapping[TopicPartition, PartitionReplay]) -> list[str]:
        """Return notes about records that are given back to side topics, and that the original topics have too."""
        if self.held_again is None:
            return []
        notes: list[str] = []
        for partition, part in sorted(parts.items()):
            note = describe_held_too(partition, part.target.name, self.held_again[partition], part.counts.held_too)
            if part.is_for_side_topic and note:
                notes.append(note)
        return [*notes[:_MOST_NOTES], *([f"{len(notes) - _MOST_NOTES} more"] if len(notes) > _MOST_NOTES else [])]

    def read_runs(self, topics: Collection[str], *, contents: bool) -> Iterator[SavedRun]:
        """Yield the saved records of these topics."""
        return read_saved_runs(self.directory, self.manifest.files, topics, contents=contents)

    def _begin(
        self,
        saved: SavedRecords,
        targets: Targets,
        created: Mapping[str, str],
        ledgers: Ledgers,
        unreadable: Sequence[UnreadableOffsets],
    ) -> PartitionReplay:
        target = targets.topics[saved.topic]
        key, ledger = ledgers.of(saved, target.topic_id or created.get(target.name, ""))
        gaps = CompactedGaps(saved.ranges, unreadable, saved.topic in targets.compacted)
        return PartitionReplay(saved, target, key, ledger, self.include_unknown, gaps)

    def _find_given_back(self, parts: Mapping[TopicPartition, PartitionReplay]) -> None:
        """Complete the ledgers by the records in the topics. A partition that cannot be read fails."""
        open_parts = grouped(
            (partition.topic, partition)
            for partition, part in parts.items()
            if not part.failure
            and partition.partition in part.target.states
            and subtract(part.saved.ranges, part.ledger.settled)
        )
        for topic, partitions in open_parts.items():
            given: dict[TopicPartition, Given] = {}
            for partition in partitions:
                try:
                    given[partition] = self._read_given_back(partition, parts[partition])
                except KafkaOpsError as error:
                    parts[partition].failure = f"it is unknown which records were given back before: {error}"
            for partition, found in find_given(given, self.read_runs({topic}, contents=False)).items():
                parts[partition].ledger = complete_ledger(parts[partition].ledger, found)

    def _read_given_back(self, partition: TopicPartition, part: PartitionReplay) -> Given:
        """Return what the target's log has of the saved records. Raises KafkaOpsError."""
        target = TopicPartition(part.target.name, partition.partition)
        self.progress.step(f"looking in {target} for records that were given back before")
        address = self._leader_of(partition, part)
        start = self._first_newer_offset(partition, part)
        if start is None:
            (answer,) = self.kafka.log_start_offsets(address, [target])[target]
            start = max(0, answer.offset)
        origin = name_origin(self.manifest.cluster_id, partition)
        return read_given_back(partial(self.kafka.wire.call, address), target, start, origin, self.wait_s)

    def _read_newer_keys(self, parts: Mapping[TopicPartition, PartitionReplay], compacted: set[TopicPartition]) -> None:
        names = {each.topic for each in compacted}
        keys = collect_key_hashes(self.read_runs(names, contents=False))
        for partition in sorted(compacted):
            part = parts[partition]
            self.progress.step(f"reading the keys of {partition}")
            start = self._first_newer_offset(partition, part)
            if start is None:
                raise ValueError(f"{partition} was not compared with its leader")
            try:
                ask = partial(self.kafka.wire.call, self._leader_of(partition, part))
                origin = name_origin(self.manifest.cluster_id, partition)
                part.newer = NewerKeys(ask, partition, start, keys.get(partition, set()), origin, wait_s=self.wait_s)
                part.newer.read_to_end()
            except KafkaOpsError as error:
                part.failure = str(error)

    def _first_newer_offset(self, partition: TopicPartition, part: PartitionReplay) -> int | None:
        """Return where the leader's log may have records that are newer than the saved ones; None if not compared."""
        if part.is_for_side_topic or self.held_again is None:
            return None
        log = self.held_again[partition].log
        return None if log is None else find_first_newer_offset(log, part.saved.ranges)

    def _leader_of(self, partition: TopicPartition, part: PartitionReplay) -> Address:
        leader = part.target.states[partition.partition].leader_id
        address = self.cluster.unfenced.get(leader)
        if address is None:
            raise KafkaOpsError(f"broker {leader}, its leader, has no address")
        return address


def earlier_counts(ledger: Ledger) -> Counts:
    """Return the counts of earlier runs."""
    return Counts(given_before=ledger.given, superseded_before=ledger.superseded)
