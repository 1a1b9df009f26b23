# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find groups whose saved committed offset is higher than the cluster's. Reads records of ``__consumer_offsets``.

Such records are never replayed: the group's coordinator would not read them, and its later commits count. Module
group_recovery commits their offsets instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from .._kafka import groups as live_groups
from .._kafka.cluster import Cluster
from .._kafka.errors import BrokerCallError, RequestRefusedError
from .._kafka.groups import Commit
from .._kafka.offset_records import CommitLog, SavedCommits, parse_commit, parse_key
from .._kafka.record_batch import ControlType
from .._kafka.transactions import LostMarker
from .._kafka.wire import Wire
from .._model.fields import Offset, PartitionIndex, TopicName
from .._model.log_contents import Stretches
from .._model.partition import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TopicPartition
from .manifest import ManifestError, find_file_problems, read_manifest
from .options import resolve_place
from .saved_rows import SavedMarker, read_saved_markers, read_saved_runs
from .saved_run import SavedRun, committed_records, records_with_key


@dataclass(frozen=True, slots=True)
class NewerCommit:
    """A saved committed offset that is higher than the cluster's."""

    group: str
    topic: TopicName
    partition: PartitionIndex
    saved_offset: Offset
    committed_offset: Offset | None
    """None if the cluster has none, or if the coordinator did not answer."""


@dataclass(slots=True)
class CommitRecords:
    """What saved records of ``__consumer_offsets`` say, by group and partition."""

    commits: dict[tuple[str, TopicPartition], Commit] = field(default_factory=dict)
    """The last commit of each, without deleted ones."""
    unsettled: dict[tuple[str, TopicPartition], int] = field(default_factory=dict)
    """The highest offset in a transaction of unknown outcome, if nothing is known after it."""
    undecodable: set[TopicPartition] = field(default_factory=set)
    """Partitions of ``__consumer_offsets`` with a batch that does not decode."""

    def add(self, run: SavedRun) -> None:
        """Take the next records into account."""
        if run.is_undecodable:
            self.undecodable.add(run.topic_partition)
        elif not run.is_control and not run.has_known_outcome:
            for place, commit in _commits_in(records_with_key(run)):
                if commit is not None:
                    self.unsettled[place] = max(commit.offset, self.unsettled.get(place, -1))
        for place, commit in _commits_in(committed_records([run])):
            self.unsettled.pop(place, None)
            if commit is None:
                self.commits.pop(place, None)
            else:
                self.commits[place] = commit


def read_commits(runs: Iterable[SavedRun]) -> CommitRecords:
    """Return what these records say of committed offsets."""
    found = CommitRecords()
    for each in runs:
        found.add(each)
    return found


def _commits_in(
    records: Iterable[tuple[bytes, bytes | None]],
) -> Iterator[tuple[tuple[str, TopicPartition], Commit | None]]:
    """Yield the commits among records of ``__consumer_offsets``. None deletes one."""
    for key, value in records:
        about = parse_key(key)
        if about is not None and about.partition is not None:
            yield (about.group, about.partition), parse_commit(value)


def find_newer_commits(
    wire: Wire, cluster: Cluster, saved: Mapping[tuple[str, TopicPartition], Commit]
) -> tuple[NewerCommit, ...]:
    """Return the saved offsets that are higher than the coordinators', in order of group, topic and partition."""
    if not saved:
        return ()
    known: dict[tuple[str, TopicPartition], int] = {}
    groups = sorted({group for group, _partition in saved})
    partitions = sorted({partition for _group, partition in saved})
    for each in cluster.registrations:
        # The groups of a coordinator that does not answer have no committed offset here.
        with suppress(BrokerCallError, RequestRefusedError):
            led = live_groups.group_states(wire, each.address)
            found = live_groups.read_commits(
                wire, each.address, [group for group in groups if group in led], partitions
            )
            known |= {(group, name): at for group, one in found.items() for name, at in one.offsets.items()}
    return tuple(
        NewerCommit(group, name.topic, name.partition, commit.offset, known.get((group, name)))
        for (group, name), commit in sorted(saved.items(), key=lambda each: each[0])
        if commit.offset > known.get((group, name), -1)
    )


def read_saved_offsets(place: str) -> tuple[str, SavedCommits]:
    """Verify the files of a salvage directory. Return its cluster id and its commits.

    ``place`` is a local path or a URI. Raises KafkaOpsError, also if a file differs from the manifest.
    """
    from .remote import local_copy  # noqa: PLC0415 - PySpark takes half a second to import

    with local_copy(resolve_place(place)) as directory:
        manifest = read_manifest(directory)
        problems = find_file_problems(directory, manifest.files)
        if problems:
            raise ManifestError("; ".join(problems))
        found = read_commits(read_saved_runs(directory, manifest.files, {OFFSETS_TOPIC}, contents=True))
        of_groups = (OFFSETS_TOPIC, SHARE_STATE_TOPIC)
        unread = {each.topic_partition for each in manifest.held if each.unreadable and each.topic in of_groups}
        unread |= found.undecodable
        share_log: dict[int, list[tuple[bytes, bytes | None]]] = {}
        for run in read_saved_runs(directory, manifest.files, {SHARE_STATE_TOPIC}, contents=True):
            if run.is_undecodable:
                unread.add(run.topic_partition)
            share_log.setdefault(run.partition, []).extend(committed_records([run]))
        saved_markers = [*read_saved_markers(directory, manifest.files)]
    first_lost: dict[TopicPartition, int] = {}
    lost_epochs: dict[TopicPartition, int] = {}
    held = ((each.topic_partition, each.ranges) for each in manifest.held)
    saved = ((each.topic_partition, each.ranges) for each in manifest.partitions)
    for name, ranges in (*held, *saved):
        for part in ranges:
            first_lost[name] = min(part.start_offset, first_lost.get(name, part.start_offset))
            lost_epochs[name] = min(part.epoch, lost_epochs.get(name, part.epoch))
    complete = {each.topic_partition: _unbroken_end(each.ranges) for each in manifest.partitions}
    logs = {
        name.partition: CommitLog(first_lost[name], lost_epochs[name], each.last_timestamp_ms)
        for name, each in manifest.by_partition.items()
        if name.topic == OFFSETS_TOPIC and each.ranges
    }
    times = [each.first_timestamp_ms or 0 for each in manifest.partitions if each.topic in of_groups]
    markers = find_lost_markers(saved_markers, first_lost, complete)
    return manifest.cluster_id, SavedCommits(
        salvage_id=manifest.salvage_id,
        commits=found.commits,
        first_lost=first_lost,
        lost_epochs=lost_epochs,
        since_ms=min(times, default=0),
        commit_logs=logs,
        markers=markers,
        share_log=share_log,
        unsettled=found.unsettled,
        unread=unread,
    )


def find_lost_markers(
    saved: Iterable[SavedMarker], first_lost: Mapping[TopicPartition, int], complete: Mapping[TopicPartition, int]
) -> dict[tuple[TopicPartition, int], LostMarker]:
    """Return the first marker of each producer after the offset at which the logs diverge.

    Only if everything in between was saved (``complete`` is up to where): an earlier marker may be missing otherwise.
    """
    first: dict[tuple[TopicPartition, int], SavedMarker] = {}
    for each in sorted(saved, key=lambda marker: marker.offset):
        if first_lost[each.topic_partition] <= each.offset < complete[each.topic_partition]:
            first.setdefault((each.topic_partition, each.producer_id), each)
    return {
        place: LostMarker(first_lost[place[0]], each.control is ControlType.COMMIT, each.producer_epoch)
        for place, each in first.items()
        if each.control is not ControlType.OTHER
    }


def _unbroken_end(ranges: Stretches) -> int:
    """Return up to where offsets are saved without a gap, from the first one on."""
    parts = sorted(ranges, key=lambda each: each.start_offset)
    end = parts[0].start_offset if parts else 0
    for each in parts:
        if each.start_offset != end:
            break
        end = each.end_offset
    return end
