# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Salvages what only the disks of a stopped broker hold. Reads disks and cluster, and writes to neither."""

from __future__ import annotations

import os
import pwd
import socket
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from .._kafka.cluster import Cluster, describe_cluster
from .._kafka.partitions import describe_partitions
from .._kafka.wire import Wire
from .._model.log_contents import Stretches
from .._model.partition import TopicPartition
from .._model.run import VERSION, KafkaOpsError, Progress, utc_now
from .._spark.options import SparkOptions
from .._spark.session import spark_session
from .directory import Unfinished, check_destination, unfinished
from .disk_findings import (
    Comparable,
    DiskReplica,
    compare_with_leader,
    compare_with_metadata,
    held_in,
    segments_to_save,
)
from .finding import DiskFinding, Status
from .group_offsets import OFFSETS_TOPIC, NewerCommit, commits_in, newer_commits
from .leaders import logs_of_leaders
from .log_dir import HeldLogDirs, partition_dirs
from .manifest import MANIFEST, HeldRecords, Manifest, SavedFile, SavedFrom, read_manifest
from .places import SalvageDirectoryError, is_remote
from .read_back import ReadBack, SavedRecords, read_back
from .remote import RemoteDirectory, local_copy, unfinished_remote
from .rows import Origin
from .save import Wanted, rows_of
from .saved_rows import saved_rows
from .scan import SegmentContents, scan_segments
from .stretch import minus, within

with suppress(ImportError):  # a missing library is named before anything is done (_module/run.py)
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it ships no types
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession


class SalvageError(KafkaOpsError):
    """Records that could not be saved. The message says which and why; nothing was written to the cluster."""


@dataclass(frozen=True, slots=True)
class DiskSalvage:
    """What a run found and did."""

    cluster_id: str
    broker_id: int
    log_dirs: tuple[str, ...]
    findings: tuple[DiskFinding, ...]
    """One for every replica on the disks, in order of topic and number."""
    salvage_id: str | None
    """Of the salvage directory; None where nothing was saved."""
    read_bytes: int
    newer_commits: tuple[NewerCommit, ...] = ()
    """Of groups, in what was saved of ``__consumer_offsets``."""


@dataclass(frozen=True, slots=True)
class DiskRequest:
    """What to salvage, and where to."""

    log_dirs: tuple[str, ...]
    destination: str
    topics: frozenset[str] | None
    """None for every topic."""
    duration_ms: int
    """How long the leaders may take to say what they hold."""


def salvage_disk(
    wire: Wire, request: DiskRequest, spark_options: SparkOptions, progress: Progress, *, check_mode: bool
) -> DiskSalvage:
    """Save what the disks hold and the leaders' logs lack, into a new directory. In check mode, only find it.

    A partition that cannot be compared or saved is a finding, and does not keep others from being saved.

    Raises KafkaOpsError: a directory that must not be read, another cluster's disk, no destination, no Spark.
    """
    if not is_remote(request.destination):
        check_destination(request.destination)
    with HeldLogDirs(request.log_dirs) as disks:
        cluster = describe_cluster(wire)
        if disks.cluster_id != cluster.cluster_id:
            raise SalvageError(
                f"{', '.join(request.log_dirs)}: the disk is of cluster {disks.cluster_id}, and this is cluster "
                f"{cluster.cluster_id}: check bootstrap_servers and the log directories"
            )
        replicas = _replicas(disks, request.topics)
        description = describe_partitions(wire, {each.directory.topic for each in replicas})
        comparable, findings = compare_with_metadata(replicas, description)
        progress.step(f"asking the leaders of {len(comparable)} partitions")
        leaders = logs_of_leaders(wire.settings, cluster, [each.state for each in comparable], request.duration_ms)
        if not comparable:
            return DiskSalvage(cluster.cluster_id, disks.node_id, request.log_dirs, tuple(findings), None, read_bytes=0)
        progress.step("starting Spark")
        # What Spark and its workers write is for this user only.
        before = os.umask(0o077)
        try:
            # What a failed run leaves is removed once Spark is gone: its tasks may still write until then.
            with ExitStack() as leftovers, spark_session(spark_options) as spark, ExitStack() as remote:
                if is_remote(request.destination):
                    # Before hours of reading: what is there is a finished salvage, or nothing.
                    RemoteDirectory(spark, request.destination).manifest()
                segments = [
                    segment
                    for each in comparable
                    for replica in each.replicas
                    for segment in replica.directory.segments
                ]
                read_bytes = sum(each.size for each in segments)
                progress.step(f"reading {len(segments)} segments, {read_bytes} bytes")
                contents = scan_segments(spark, segments)
                findings += [
                    compare_with_leader(each, leaders.get(each.state.topic_partition), contents) for each in comparable
                ]
                salvage_id = None
                if not check_mode:
                    run = _Saving(spark, leftovers, remote, request, disks, comparable, contents, progress)
                    findings, salvage_id = run.save(findings)
        finally:
            os.umask(before)
        ordered = tuple(sorted(findings, key=lambda each: each.topic_partition))
        has_commits = any(each.saved is not None and each.topic == OFFSETS_TOPIC for each in ordered)
        commits = _newer_commits(wire, cluster, request.destination) if has_commits else ()
        return DiskSalvage(
            cluster.cluster_id, disks.node_id, request.log_dirs, ordered, salvage_id, read_bytes, commits
        )


@dataclass(frozen=True, slots=True)
class _Saving:
    spark: SparkSession
    leftovers: ExitStack
    """Ends after Spark."""
    remote: ExitStack
    """Ends before Spark."""
    request: DiskRequest
    disks: HeldLogDirs
    comparable: Sequence[Comparable]
    contents: dict[str, SegmentContents]
    progress: Progress

    def save(self, findings: list[DiskFinding]) -> tuple[list[DiskFinding], str | None]:
        """Save what would be saved. Returns the findings as they are then, and the salvage's id."""
        to_save = {each.topic_partition: each for each in findings if each.status is Status.WOULD_BE_SAVED}
        if not to_save:
            return findings, None
        there = self._manifest_there()
        if there is not None:
            return self._saved_before(there, findings), there.salvage_id
        wanted = [
            one for each in self._to_save(to_save) for one in self._wanted(each, to_save[each.state.topic_partition])
        ]
        self.progress.step(f"saving what {len(wanted)} partitions lack")
        directory = self._directory()
        try:
            rows_of(self.spark, wanted).write.parquet(directory.records_uri)
        except (PySparkException, Py4JJavaError) as error:
            raise SalvageError(in_short(error)) from None
        files = directory.files()
        self.progress.step("reading back what was saved")
        back = read_back(self.spark.read.parquet(directory.records_uri))
        refuse_what_differs(to_save, back)
        manifest = self._manifest(findings, back, files)
        directory.finish(manifest)
        saved = {each.topic_partition: each for each in back.partitions}
        return [_now(each, saved, Status.SAVED) for each in findings], manifest.salvage_id

    def _manifest_there(self) -> Manifest | None:
        """Return the manifest of a finished salvage at the destination."""
        place = self.request.destination
        if is_remote(place):
            return RemoteDirectory(self.spark, place).manifest()
        return read_manifest(place) if Path(place, MANIFEST).is_file() else None

    def _directory(self) -> Unfinished | RemoteDirectory:
        place = self.request.destination
        if is_remote(place):
            return self.remote.enter_context(unfinished_remote(self.spark, place))
        return self.leftovers.enter_context(unfinished(place))

    def _to_save(self, to_save: Collection[TopicPartition]) -> list[Comparable]:
        return [each for each in self.comparable if each.state.topic_partition in to_save]

    def _saved_before(self, manifest: Manifest, findings: list[DiskFinding]) -> list[DiskFinding]:
        """Accept a finished salvage that has all that is to be saved. Raises SalvageDirectoryError."""
        saved = {each.topic_partition: each for each in manifest.partitions}
        for each in findings:
            if each.status is not Status.WOULD_BE_SAVED:
                continue
            there = saved.get(each.topic_partition)
            wanted = within(each.held, each.lost)
            is_same = manifest.cluster_id == self.disks.cluster_id and there and there.topic_id == each.topic_id
            if there is None or not is_same or minus(wanted, there.ranges):
                raise SalvageDirectoryError(
                    f"{self.request.destination} holds another salvage, which lacks records of "
                    f"{each.topic_partition}: name a directory that does not exist"
                )
        return [_now(each, saved, Status.ALREADY_SAVED) for each in findings]

    def _wanted(self, one: Comparable, finding: DiskFinding) -> Iterator[Wanted]:
        """Yield what to save from each directory: of a record that several hold, the first one's."""
        left = finding.lost
        for replica in one.replicas:
            held = within(held_in(replica, self.contents), left)
            if not held:
                continue
            left = minus(left, held)
            origin = Origin(
                self.disks.cluster_id,
                one.state.topic_id,
                finding.topic,
                finding.partition,
                self.disks.node_id,
                replica.log_dir.directory_id,
            )
            yield Wanted(origin, held, tuple(segments_to_save(replica, held, self.contents)))

    def _manifest(self, findings: Sequence[DiskFinding], back: ReadBack, files: tuple[SavedFile, ...]) -> Manifest:
        directory_ids = tuple(each.directory_id for each in self.disks.dirs if each.directory_id is not None)
        origin = SavedFrom(self.disks.node_id, directory_ids, tuple(each.path for each in self.disks.dirs))
        held = {each.topic_partition: each.lost for each in findings if each.lost}
        return new_manifest(self.disks.cluster_id, (origin,), held, back, files)


def _newer_commits(wire: Wire, cluster: Cluster, place: str) -> tuple[NewerCommit, ...]:
    with local_copy(place) as directory:
        files = read_manifest(directory).files
        commits = commits_in(saved_rows(directory, files, {OFFSETS_TOPIC}, contents=True))
    return newer_commits(wire, cluster, commits)


def new_manifest(
    cluster_id: str,
    origins: tuple[SavedFrom, ...],
    held: Mapping[TopicPartition, Stretches],
    back: ReadBack,
    files: tuple[SavedFile, ...],
) -> Manifest:
    """Return the manifest of a salvage that this run has written."""
    return Manifest(
        salvage_id=str(uuid.uuid4()),
        cluster_id=cluster_id,
        taken_at=utc_now(),
        taken_on=socket.gethostname(),
        taken_by=_user(),
        collection_version=VERSION,
        origins=origins,
        held=tuple(HeldRecords(each.topic, each.partition, ranges) for each, ranges in sorted(held.items())),
        partitions=back.partitions,
        files=files,
    )


def refuse_what_differs(to_save: dict[TopicPartition, DiskFinding], back: ReadBack) -> None:
    """Compare what was read back with what was to be saved. Raises SalvageError with every difference."""
    faults = list(back.faults)
    saved = {each.topic_partition: each for each in back.partitions}
    for partition, finding in to_save.items():
        there = saved.get(partition)
        absent = minus(within(finding.held, finding.lost), there.ranges if there else ())
        if absent:
            ranges = ", ".join(f"{each.start_offset} to {each.end_offset - 1}" for each in absent)
            faults.append(f"{partition}: offsets {ranges} are not in the files")
    if faults:
        raise SalvageError("what was saved does not read back, and was removed: " + "; ".join(faults))


def _replicas(disks: HeldLogDirs, topics: frozenset[str] | None) -> list[DiskReplica]:
    found = [DiskReplica(each, directory) for each in disks.dirs for directory in partition_dirs(each)]
    if topics is None:
        return found
    absent = topics - {each.directory.topic for each in found}
    if absent:
        raise SalvageError(
            f"no replica of topic {', '.join(sorted(absent))} is in {', '.join(each.path for each in disks.dirs)}"
        )
    return [each for each in found if each.directory.topic in topics]


def _now(finding: DiskFinding, saved: dict[TopicPartition, SavedRecords], status: Status) -> DiskFinding:
    if finding.status is not Status.WOULD_BE_SAVED:
        return finding
    return replace(finding, status=status, saved=saved.get(finding.topic_partition))


def _user() -> str:
    with suppress(KeyError):
        return pwd.getpwuid(os.geteuid()).pw_name
    return f"uid {os.geteuid()}"


def in_short(error: Exception) -> str:
    """Return the line of a Java stack that says why the records could not be written."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if "No space left" in line or line.startswith("Caused by:") or "OSError" in line]
    return f"the records could not be written: {(causes or lines or ['unknown'])[0]}. Nothing was kept"
