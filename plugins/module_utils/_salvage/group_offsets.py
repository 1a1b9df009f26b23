# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find groups whose saved committed offset is higher than the cluster's. Reads records of ``__consumer_offsets``.

Such records are never replayed: the group's coordinator would not read them, and its later commits count. Module
group_recovery commits their offsets instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from .._kafka import groups as live_groups
from .._kafka.cluster import Cluster
from .._kafka.errors import RequestRefusedError
from .._kafka.groups import Commit, GroupCommits
from .._kafka.offset_records import CommitLog, LostLog, SavedCommits, parse_commit, parse_key
from .._kafka.record_batch import ControlType
from .._kafka.transactions import LostMarker
from .._kafka.wire import Wire
from .._model.fields import Offset, PartitionIndex, TopicName
from .._model.log_contents import Stretches
from .._model.partition import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TopicPartition, grouped
from .._model.reasons import name_partitions
from .._module.run import call_all
from .manifest import MANIFEST, Manifest, ManifestError, find_file_problems, read_manifest
from .saved_rows import SavedMarker, read_saved_markers, read_saved_runs
from .saved_run import Position, SavedRun, is_committed, records_with_key

_Place: TypeAlias = "tuple[str, TopicPartition]"
_ShareLog: TypeAlias = "dict[int, dict[Position, tuple[bytes, bytes | None]]]"
_BEFORE_ALL = Position(-1, -1)


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
    """What saved records of ``__consumer_offsets`` say, by group and partition.

    They may come in any order, and several times: several disks have the same ones. The newest record counts.
    """

    undecodable: set[TopicPartition] = field(default_factory=set)
    """Partitions of ``__consumer_offsets`` with a batch that does not decode."""
    _newest: dict[_Place, tuple[Position, Commit | None]] = field(default_factory=dict)
    """None deletes the commit."""
    _unsettled: dict[_Place, dict[Position, int]] = field(default_factory=dict)
    """The offsets in transactions whose outcome one salvage does not know."""
    _aborted: set[tuple[_Place, Position]] = field(default_factory=set)

    @property
    def commits(self) -> dict[_Place, Commit]:
        """Return the last commit of each, without deleted ones."""
        return {place: commit for place, (_at, commit) in self._newest.items() if commit is not None}

    @property
    def unsettled(self) -> dict[_Place, int]:
        """Return the highest offset in a transaction of unknown outcome, if nothing is known after it."""
        found: dict[_Place, int] = {}
        for place, offsets in self._unsettled.items():
            newest, _commit = self._newest.get(place, (_BEFORE_ALL, None))
            for at, offset in offsets.items():
                if at > newest and (place, at) not in self._aborted:
                    found[place] = max(offset, found.get(place, -1))
        return found

    def add(self, run: SavedRun) -> None:
        """Take these records into account."""
        if run.is_undecodable:
            self.undecodable.add(run.topic_partition)
        for at, key, value in () if run.is_control else records_with_key(run):
            about = parse_key(key)
            if about is None or about.partition is None:
                continue
            place, commit = (about.group, about.partition), parse_commit(value)
            if is_committed(run):
                if at >= self._newest.get(place, (_BEFORE_ALL, None))[0]:
                    self._newest[place] = at, commit
            elif run.has_known_outcome:
                self._aborted.add((place, at))
            elif commit is not None:
                self._unsettled.setdefault(place, {})[at] = commit.offset


def read_commits(runs: Iterable[SavedRun]) -> CommitRecords:
    """Return what these records say of committed offsets."""
    found = CommitRecords()
    for each in runs:
        found.add(each)
    return found


def find_newer_commits(
    wire: Wire, cluster: Cluster, saved: Mapping[tuple[str, TopicPartition], Commit]
) -> tuple[NewerCommit, ...]:
    """Return the saved offsets that are higher than the coordinators', in order of group, topic and partition."""
    if not saved:
        return ()
    known: dict[tuple[str, TopicPartition], int] = {}
    groups = sorted({group for group, _partition in saved})
    partitions = sorted({partition for _group, partition in saved})

    def ask(broker_id: int) -> Mapping[str, GroupCommits]:
        address = cluster.addresses[broker_id]
        with suppress(RequestRefusedError):
            led = live_groups.group_states(wire, address)
            return live_groups.read_commits(wire, address, [group for group in groups if group in led], partitions)
        return {}

    for found in wire.in_parallel(ask, cluster.addresses).values():
        # The groups of a coordinator that does not answer have no committed offset here.
        for group, one in found.items() if isinstance(found, Mapping) else ():
            known |= {(group, name): at for name, at in one.offsets.items()}
    return tuple(
        NewerCommit(group, name.topic, name.partition, commit.offset, known.get((group, name)))
        for (group, name), commit in sorted(saved.items(), key=lambda each: each[0])
        if commit.offset > known.get((group, name), -1)
    )


def read_saved_offsets(places: Sequence[str]) -> tuple[str, SavedCommits]:
    """Verify the files of salvage directories. Return their cluster id, and what they have together.

    Each place is a local path or a URI. Raises KafkaOpsError, also if a file differs from its manifest, or if the
    salvages are of several clusters.
    """
    found = CommitRecords()
    share_log: _ShareLog = {}
    read = call_all(*(partial(_read_salvage, place, found, share_log) for place in places))
    manifests: list[Manifest] = [manifest for manifest, _logs in read]
    of_clusters = {each.cluster_id: place for each, place in zip(manifests, places, strict=True)}
    if len(of_clusters) > 1:
        texts = (f"{place} of {cluster_id}" for cluster_id, place in of_clusters.items())
        raise ManifestError(f"the salvages are of several clusters: {', '.join(texts)}")
    lost_logs = [each for _manifest, logs in read for each in logs]
    partitions = [each for manifest in manifests for each in manifest.partitions]
    logs: dict[int, CommitLog] = {}
    for each in partitions:
        if each.topic == OFFSETS_TOPIC and each.ranges:
            times = [each.last_timestamp_ms]
            if each.partition in logs:
                times.append(logs[each.partition].last_timestamp_ms)
            of_all = [log for log in lost_logs if log.name == each.topic_partition]
            first, epoch = min(log.first_lost for log in of_all), min(log.epoch for log in of_all)
            logs[each.partition] = CommitLog(first, epoch, _oldest(times))
    of_groups = (OFFSETS_TOPIC, SHARE_STATE_TOPIC)
    held = (each for manifest in manifests for each in manifest.held)
    unread = {each.topic_partition for each in held if each.unreadable and each.topic in of_groups}
    return manifests[0].cluster_id, SavedCommits(
        salvage_ids=tuple(sorted({each.salvage_id for each in manifests})),
        commits=found.commits,
        lost_logs=lost_logs,
        since_ms=min((each.first_timestamp_ms or 0 for each in partitions if each.topic in of_groups), default=0),
        commit_logs=logs,
        share_log={number: [each for _at, each in sorted(log.items())] for number, log in share_log.items()},
        unsettled=found.unsettled,
        unread=unread | found.undecodable,
    )


def _read_salvage(place: str, found: CommitRecords, share_log: _ShareLog) -> tuple[Manifest, list[LostLog]]:
    """Add the records of one salvage. Return its manifest, and what leaders lacked. Raises KafkaOpsError."""
    from .remote import local_copy  # noqa: PLC0415 - PySpark takes half a second to import

    with local_copy(place) as directory:
        manifest = read_manifest(directory)
        if problems := find_file_problems(directory, manifest.files):
            raise ManifestError("; ".join(problems))
        for run in read_saved_runs(directory, manifest.files, {OFFSETS_TOPIC, SHARE_STATE_TOPIC}, contents=True):
            if run.topic == OFFSETS_TOPIC:
                found.add(run)
                continue
            if run.is_undecodable:
                found.undecodable.add(run.topic_partition)
            records = records_with_key(run) if is_committed(run) else ()
            share_log.setdefault(run.partition, {}).update((at, (key, value)) for at, key, value in records)
        saved_markers = [*read_saved_markers(directory, manifest.files)]
    if unnamed := {each.topic_partition for each in saved_markers} - manifest.by_partition.keys():
        names = name_partitions(unnamed)
        raise ManifestError(f"{place} has records of {names}, and its {MANIFEST} does not name them: it was changed")
    return manifest, _find_lost_logs(manifest, saved_markers)


def _oldest(times: Sequence[int | None]) -> int | None:
    known = [each for each in times if each is not None]
    return min(known) if len(known) == len(times) else None


def _find_lost_logs(manifest: Manifest, saved_markers: Iterable[SavedMarker]) -> list[LostLog]:
    """Return what a salvage holds of each partition, or what losers held of it."""
    held = ((each.topic_partition, each.ranges) for each in manifest.held)
    saved = ((each.topic_partition, each.ranges) for each in manifest.partitions)
    parts = grouped((name, part) for name, ranges in (*held, *saved) for part in ranges)
    first_lost = {name: min(part.start_offset for part in some) for name, some in parts.items()}
    complete = {each.topic_partition: _unbroken_end(each.ranges) for each in manifest.partitions}
    markers: dict[TopicPartition, dict[int, LostMarker]] = {}
    for (name, producer), marker in find_lost_markers(saved_markers, first_lost, complete).items():
        markers.setdefault(name, {})[producer] = marker
    # Saved records without the id of their topic are of one that the cluster did not have.
    topic_ids = {each.topic_partition: each.topic_id or "" for each in manifest.partitions}
    return [
        LostLog(
            name,
            topic_ids.get(name),
            first_lost[name],
            min(part.epoch for part in some),
            markers.get(name, {}),
        )
        for name, some in parts.items()
    ]


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
