# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Save the records that only the disks of a stopped broker hold. Writes neither to these disks nor to the cluster.

The disks are read in two passes. The headers of a few batches show what the leaders lack. Then only the segments with
such records are read whole. Spark is started if these are large, or if records are saved to another file system.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import TypeAlias

from .._changes.run_topic import RUN_TOPIC
from .._disk.log_dir import LockedLogDirs, list_partition_dirs
from .._disk.segment import Segment
from .._kafka.cluster import Cluster
from .._kafka.header_reading import AskBatches, ask_batches
from .._kafka.port import Kafka
from .._kafka.wire import Wire
from .._model.log_contents import EpochRange, Stretches, intersect, subtract, union
from .._model.near_names import not_found
from .._model.partition import OFFSETS_TOPIC, PartitionState, ReplicaLog, TopicPartition
from .._model.reasons import name_partitions, plural
from .._model.run import Progress
from .._spark.options import SparkOptions, is_uri
from .absent import Absent, find_absent, keep_one_topic, leave_to_other_cluster, take_absent
from .cut_names import complete_names, may_be_of, set_unproven_apart
from .directory import check_destination
from .finding import (
    Comparable,
    DiskFinding,
    DiskReplica,
    SalvageStatus,
    compare_with_leader,
    fail_if_unread,
    find_segments_with,
    keep_claims,
    stretches_on_disk,
)
from .gaps import find_unreadable
from .group_offsets import NewerCommit, find_newer_commits, read_commits
from .leaders import Leaders, read_leader_logs
from .manifest import Manifest, SavedFrom, read_manifest
from .options import DRIVER_MEMORY
from .read_back import ReadBack
from .reused import find_reused
from .rows import Origin, RowSource, WantedReplica, read_replica_rows
from .saved import SavedRecords
from .saved_rows import read_saved_runs
from .scan import SegmentContents, read_outlines, scan_in_process
from .writer import (
    MOST_BYTES_HERE,
    SalvageError,
    SalvageWriter,
    choose_spark,
    read_back_error,
)

_FAILING = "the disk may be failing. Copy it (ddrescue), and salvage the copy to another directory"

Scan: TypeAlias = Callable[[Sequence[Segment]], dict[str, SegmentContents]]


@dataclass(frozen=True, slots=True)
class DiskSalvage:
    """Result of a run."""

    cluster_id: str
    broker_id: int
    log_dirs: tuple[str, ...]
    findings: tuple[DiskFinding, ...]
    """One for every replica on the disks, in order of topic and number."""
    salvage_id: str | None
    """None if nothing was saved."""
    newer_commits: tuple[NewerCommit, ...] = ()
    """From the saved records of ``__consumer_offsets``."""
    notes: tuple[str, ...] = ()
    """Files of the log directories that could not be read, and what follows from that."""


@dataclass(frozen=True, slots=True)
class DiskRequest:
    """What to save, and where."""

    log_dirs: tuple[str, ...]
    destination: str
    topics: frozenset[str] | None
    """None for all topics."""
    duration_ms: int
    """How long the leaders may take to say what they hold."""
    spark: SparkOptions | None = None
    """Spark's options, if the operator set any. If set, Spark writes, and reads more than ``most_bytes_here``."""
    most_bytes_here: int = MOST_BYTES_HERE
    include_absent_topics: bool = False
    """Also save records of topics that the cluster does not have with their ids."""


def salvage_disk(wire: Wire, request: DiskRequest, progress: Progress, *, check_mode: bool) -> DiskSalvage:
    """Save what the disks hold and the leaders' logs lack to a new directory. In check mode, only find it.

    A partition that cannot be compared or saved becomes a finding; the others are saved.

    Raises KafkaOpsError: a log directory must not be read or belongs to another cluster, the salvage directory cannot
    be written, or Spark is needed and cannot be started.
    """
    if not is_uri(request.destination):
        check_destination(request.destination)
    with LockedLogDirs(request.log_dirs) as disks:
        kafka = Kafka(wire)
        cluster = kafka.describe_cluster()
        is_other_cluster = disks.cluster_id != cluster.cluster_id
        if is_other_cluster and not request.include_absent_topics:
            raise SalvageError(
                f"{', '.join(request.log_dirs)}: the disk is of cluster {disks.cluster_id}, and this is cluster "
                f"{cluster.cluster_id}: check bootstrap_servers and the log directories. If cluster "
                f"{disks.cluster_id} is gone, set include_absent_topics to save everything on the disk"
            )
        found = [DiskReplica(each, directory) for each in disks.dirs for directory in list_partition_dirs(each)]
        if any(each.directory.is_cut for each in found):
            found = complete_names(found, () if is_other_cluster else kafka.describe_partitions().partitions)
        replicas, unproven = set_unproven_apart(_choose_topics(disks, found, request.topics))
        if is_other_cluster:
            leaders = Leaders(findings=leave_to_other_cluster(replicas))
        else:
            leaders = read_leader_logs(kafka, replicas, request.duration_ms / 1000, progress)
        absent = find_absent(replicas, leaders.findings)
        ask = partial(ask_batches, wire, leaders.addresses)
        run = _DiskRun(disks, request, [*leaders.comparable, *absent], leaders.logs, progress, ask=ask)
        compared, salvage_id = run.salvage(check_mode=check_mode)
        failed = [each for each in leaders.findings if each.absence is None]
        ordered = tuple(sorted([*unproven, *failed, *compared], key=lambda each: each.topic_partition))
        has_commits = not is_other_cluster and any(
            each.saved is not None and each.topic == OFFSETS_TOPIC for each in ordered
        )
        commits = _read_newer_commits(wire, cluster, request.destination) if has_commits else ()
        not_here = explain_not_here(disks.node_id, found, leaders.described)
        notes = tuple(filter(None, [*(each.note for each in disks.dirs), not_here]))
        return DiskSalvage(disks.cluster_id, disks.node_id, request.log_dirs, ordered, salvage_id, commits, notes)


def explain_not_here(broker_id: int, found: Iterable[DiskReplica], described: Iterable[PartitionState]) -> str:
    """Say which replicas the broker should have, and these directories do not: one of its log.dirs may be left out."""
    here = {each.topic_partition for each in found}
    absent = [each for each in described if broker_id in each.replicas and each.topic_partition not in here]
    if not absent:
        return ""
    return (
        f"the cluster has replicas of {name_partitions(absent)} on broker {broker_id}, and these directories do not: "
        "give every directory of its log.dirs, and salvage again before it starts. Only a partition that was created "
        "or assigned to it after it stopped has no directory anywhere"
    )


class _DiskRun:
    """One run over the partitions on the disks that have a leader in the cluster, or that the cluster does not have."""

    def __init__(
        self,
        disks: LockedLogDirs,
        request: DiskRequest,
        comparable: Sequence[Comparable | Absent],
        leaders: Mapping[TopicPartition, ReplicaLog],
        progress: Progress,
        *,
        ask: AskBatches,
    ) -> None:
        self.disks = disks
        self.request = request
        self.comparable = comparable
        self.leaders = leaders
        self.progress = progress
        self.ask = ask
        self.contents: dict[str, SegmentContents] = {}
        self.reused: dict[str, EpochRange] = {}

    def salvage(self, *, check_mode: bool) -> tuple[list[DiskFinding], str | None]:
        """Compare and save all partitions. Returns the findings and the id of the salvage, None if nothing is saved."""
        findings, salvage_id = self._salvage(check_mode=check_mode)
        pairs = zip(self.comparable, findings, strict=True)
        return [fail_if_unread(found, one.replicas, self.contents) for one, found in pairs], salvage_id

    def _salvage(self, *, check_mode: bool) -> tuple[list[DiskFinding], str | None]:
        logs = [replica.directory.segments for each in self.comparable for replica in each.replicas]
        self.progress.step(f"reading headers of {plural(sum(map(len, logs)), 'segment')}")
        self.contents = read_outlines(logs)
        followed = [each for each in self.comparable if isinstance(each, Comparable)]
        self.reused, silent = find_reused(followed, self.leaders, self.contents, self.ask)
        self.leaders = {**self.leaders, **silent}
        findings = self._compare()
        of_interest = [
            segment
            for one, found in zip(self.comparable, findings, strict=True)
            for segment in find_segments_with(one.replicas, found.lost)
        ]
        if not of_interest:
            return findings, None
        size = sum(each.size for each in of_interest)
        is_read_here = size <= self.request.most_bytes_here
        if is_read_here:
            findings = self._scan_whole_segments(of_interest, size, scan_in_process)
            # Only Spark can check a remote destination, in check mode too.
            if not _has_work(findings) or (check_mode and not is_uri(self.request.destination)):
                return findings, None
        default = SparkOptions(driver_memory=DRIVER_MEMORY)
        spark = choose_spark(self.request.spark, default, self.request.destination, is_little=is_read_here)
        if spark is not None:
            self.progress.step("starting Spark")
        with SalvageWriter(self.request.destination, spark) as writer:
            # Checked before hours of reading: the destination must be absent or a finished salvage.
            earlier = writer.read_finished_manifest()
            if not is_read_here:
                from .on_spark import scan  # noqa: PLC0415 - PySpark takes half a second to import

                findings = self._scan_whole_segments(of_interest, size, partial(scan, writer.spark))
            if check_mode or not _has_work(findings):
                return findings, None
            if earlier is not None:
                return self._accept_finished_salvage(writer, earlier, findings), earlier.salvage_id
            return self._save(writer, findings)

    def _scan_whole_segments(self, segments: Sequence[Segment], size: int, scan: Scan) -> list[DiskFinding]:
        self.progress.step(f"reading {plural(len(segments), 'segment')}, {plural(size, 'byte')}")
        outlined = self._compare()
        self.contents |= scan(segments)
        return [keep_claims(before, after) for before, after in zip(outlined, self._compare(), strict=True)]

    def _compare(self) -> list[DiskFinding]:
        found = [
            take_absent(each, self.contents, is_wanted=self.request.include_absent_topics)
            if isinstance(each, Absent)
            else compare_with_leader(each, self.leaders.get(each.topic_partition), self.contents, self.reused)
            for each in self.comparable
        ]
        return keep_one_topic(found)

    def _save(self, writer: SalvageWriter, findings: list[DiskFinding]) -> tuple[list[DiskFinding], str]:
        wanted = [
            one
            for each, found in zip(self.comparable, findings, strict=True)
            if found.status is SalvageStatus.WOULD_BE_SAVED
            for one in self._choose_sources(each, found)
        ]
        self.progress.step(f"saving records of {plural(len(wanted), 'replica')}, and reading them back")
        # Several directories may have records of one partition: write these in the order of offsets.
        wanted.sort(key=lambda each: each.stretches[0].start_offset)
        written = writer.write(RowSource(wanted, read_replica_rows, attrgetter("size"), attrgetter("topic_partition")))
        findings = find_unsaved(findings, written.back)
        directory_ids = tuple(each.directory_id for each in self.disks.dirs if each.directory_id is not None)
        origin = SavedFrom(self.disks.node_id, directory_ids, tuple(each.path for each in self.disks.dirs))
        held = {each.topic_partition: each.lost for each in findings if each.lost}
        epochs = {
            each.topic_partition: (self.reused[replica.directory.path].epoch,)
            for each in self.comparable
            for replica in each.replicas
            if replica.directory.path in self.reused
        }
        unreadable = {
            each.topic_partition: tuple(find_unreadable(each, one.replicas, self.contents))
            for one, each in zip(self.comparable, findings, strict=True)
            if each.lost
        }
        manifest = writer.finish(written, self.disks.cluster_id, (origin,), held, epochs, unreadable=unreadable)
        saved = manifest.by_partition
        return [_with_status(each, saved, SalvageStatus.SAVED) for each in findings], manifest.salvage_id

    def _accept_finished_salvage(
        self, writer: SalvageWriter, manifest: Manifest, findings: list[DiskFinding]
    ) -> list[DiskFinding]:
        """Check that a finished salvage has all records to be saved, and accept it.

        Raises SalvageDirectoryError or SalvageError.
        """
        wanted = [
            (each.topic_partition, one.topic_id, intersect(each.held, each.lost))
            for one, each in zip(self.comparable, findings, strict=True)
            if each.status is SalvageStatus.WOULD_BE_SAVED
        ]
        writer.require_finished(manifest, self.disks.cluster_id, wanted)
        saved = manifest.by_partition
        return [_with_status(each, saved, SalvageStatus.ALREADY_SAVED) for each in findings]

    def _choose_sources(self, one: Comparable | Absent, finding: DiskFinding) -> Iterator[WantedReplica]:
        """Yield what to save from each directory. A record that several directories have is saved from the first."""
        left = finding.lost
        for replica in one.replicas:
            held = intersect(stretches_on_disk(replica, self.contents), left)
            if not held:
                continue
            left = subtract(left, held)
            origin = Origin(
                self.disks.cluster_id,
                one.topic_id,
                finding.topic,
                finding.partition,
                self.disks.node_id,
                replica.log_dir.directory_id,
            )
            yield WantedReplica(origin, held, tuple(_find_segments_to_save(replica, held, self.contents)))


def _find_segments_to_save(
    replica: DiskReplica, wanted: Stretches, contents: Mapping[str, SegmentContents]
) -> Iterator[Segment]:
    """Yield the segments from the first one that has records to save up to the end of the log."""
    has_begun = False
    for each in replica.directory.segments:
        has_begun = has_begun or bool(intersect(contents[each.path].runs, wanted))
        if has_begun:
            yield each


def _has_work(findings: Sequence[DiskFinding]) -> bool:
    return any(each.status is SalvageStatus.WOULD_BE_SAVED for each in findings)


def _read_newer_commits(wire: Wire, cluster: Cluster, place: str) -> tuple[NewerCommit, ...]:
    from .remote import local_copy  # noqa: PLC0415 - see above

    with local_copy(place) as directory:
        files = read_manifest(directory).files
        commits = read_commits(read_saved_runs(directory, files, {OFFSETS_TOPIC}, contents=True)).commits
    return find_newer_commits(wire, cluster, commits)


def find_unsaved(findings: Sequence[DiskFinding], back: ReadBack) -> list[DiskFinding]:
    """Return the findings, of which those have failed whose records are not all in the files.

    A failing disk may refuse a batch that it has returned before. The records of the other batches are kept.

    Raises SalvageError if the files do not read back as they were written, or if they have nothing.
    """
    saved = back.ranges
    if back.problems:
        raise read_back_error(back.problems)
    found = []
    for each in findings:
        wanted = intersect(each.held, each.lost) if each.status is SalvageStatus.WOULD_BE_SAVED else ()
        absent = subtract(wanted, saved.get(each.topic_partition, ()))
        found.append(_partly_saved(each, absent) if absent else each)
    if not saved and found != [*findings]:
        raise read_back_error([f"{each.topic_partition}: {each.reason}" for each in found if each.unreadable])
    return found


def _partly_saved(finding: DiskFinding, absent: Stretches) -> DiskFinding:
    ranges = ", ".join(each.offsets for each in absent)
    return replace(
        finding,
        status=SalvageStatus.FAILED,
        unreadable=union([finding.unreadable, absent]),
        reason=f"offsets {ranges} could be read at first, and not again when they were to be saved: {_FAILING}",
    )


def _choose_topics(
    disks: LockedLogDirs, found: Sequence[DiskReplica], topics: frozenset[str] | None
) -> Sequence[DiskReplica]:
    """Return the replicas of these topics. Raises SalvageError, which names the topics that the disks do not have."""
    if topics is None:
        # Every run creates the topic of the lock again, and deletes it. Nobody misses its old records.
        return [each for each in found if each.directory.topic != RUN_TOPIC]
    chosen = [each for each in found if may_be_of(each, topics)]
    there = {each.directory.topic for each in found}
    absent = not_found({topic for topic in topics if not any(may_be_of(each, {topic}) for each in chosen)}, there)
    if absent:
        raise SalvageError(f"{'; '.join(absent.values())}; looked in {', '.join(each.path for each in disks.dirs)}")
    return chosen


def _with_status(finding: DiskFinding, saved: dict[TopicPartition, SavedRecords], status: SalvageStatus) -> DiskFinding:
    records = saved.get(finding.topic_partition)
    if finding.status is SalvageStatus.FAILED:
        return replace(finding, saved=records)  # what could be saved of it
    return replace(finding, status=status, saved=records) if finding.status is SalvageStatus.WOULD_BE_SAVED else finding
