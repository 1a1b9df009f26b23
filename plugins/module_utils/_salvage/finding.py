# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compare the replicas on the disks of a stopped broker with the cluster: what the leaders lack. Does no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated

from .._disk.log_dir import DirKind, LogDir, PartitionDir
from .._disk.segment import Damage, DamageKind, Segment
from .._model.fields import BrokerId, Meta, PartitionIndex, TopicId, TopicName
from .._model.log_contents import EpochRange, Stretches, intersect, records_in, subtract, union
from .._model.partition import OfPartition, PartitionState, ReplicaLog, TopicPartition, grouped
from .saved import SavedRecords
from .scan import SegmentContents
from .stretch import IncomparableError, find_lacking

_KINDS = (*DirKind,)
_READ_IT = (
    "What the cluster lacks of this is unknown, and not saved: make it readable (permissions, or a copy of a failing "
    "disk by ddrescue), and salvage again to another directory, before the broker starts"
)


class SalvageStatus(StrEnum):
    """Result of comparing and saving one replica on a disk."""

    SAVED = "saved"
    WOULD_BE_SAVED = "would_be_saved"
    """Check mode."""
    ALREADY_SAVED = "already_saved"
    """The salvage directory has it, from an earlier run."""
    NOTHING_LACKING = "nothing_lacking"
    """The partition's leader has all of it that could be read."""
    LEFT_ALONE = "left_alone"
    """The topic was deleted, was re-created, or has fewer partitions now: the cluster has no place for the records."""
    FAILED = "failed"
    """It is unknown what the cluster lacks, or the records could not be saved. The reason says why."""


class Absence(StrEnum):
    """Why the cluster has no place for the records of a replica on a disk."""

    NO_TOPIC = "no_topic"
    """No topic has the name: it was deleted, or our principal lacks DESCRIBE on it."""
    OTHER_TOPIC = "other_topic"
    """The topic of the name has another id: it was re-created."""
    OTHER_CLUSTER = "other_cluster"
    """The disk is of another cluster than the one that was asked."""
    NO_PARTITION = "no_partition"
    """The topic was re-created with fewer partitions, and the disk does not say which topic it had."""
    NAMED_ALIKE = "named_alike"
    """The run saves records of another topic of the same name."""


NOT_COMPARED = frozenset({SalvageStatus.FAILED, SalvageStatus.LEFT_ALONE})
"""If such a replica has no lost offsets, it is unknown what the cluster lacks."""


@dataclass(frozen=True, slots=True)
class FileDamage:
    """One part of a segment file that could not be read."""

    path: str
    damage: Damage

    @property
    def is_tail(self) -> bool:
        """Whether no batch follows in the file, so that it is unknown which offsets these bytes had."""
        return self.damage.to_offset is None


@dataclass(frozen=True, slots=True)
class DiskFinding(OfPartition):
    """One replica on a disk, compared with the partition's leader."""

    topic: TopicName
    partition: PartitionIndex
    topic_id: TopicId | None
    directory_id: str | None
    status: Annotated[SalvageStatus, Meta("the status")]
    reason: str = ""
    leader_id: BrokerId | None = None
    held: Annotated[Stretches, Meta(description="what the disk holds is a list of stretches")] = ()
    """Read from the headers of batches. Batches that are also in ``lost`` have valid checksums."""
    lost: Stretches = ()
    """What the leader never held. Includes offsets whose records compaction removed."""
    unreadable: Annotated[Stretches, Meta(description="what is unreadable is a list of stretches")] = ()
    """The part of ``lost`` that no readable batch has: damaged, in a missing segment, or removed by compaction."""
    before_log_start: Annotated[
        Stretches, Meta(description="what lies before the leader's log start offset is a list of stretches")
    ] = ()
    """What lies before the leader's log start offset. It is unknown whether the leader ever held it."""
    damages: tuple[FileDamage, ...] = ()
    saved: SavedRecords | None = None
    absence: Annotated[Absence | None, Meta("why the cluster has no place for it")] = None
    """Set if the cluster does not have the topic with this id."""

    @property
    def lost_records(self) -> int:
        """Number of offsets in ``lost``, transaction markers and records that compaction removed included."""
        return records_in(self.lost)

    @property
    def unreadable_records(self) -> int:
        """Number of offsets in ``unreadable``."""
        return records_in(self.unreadable)


@dataclass(frozen=True, slots=True)
class DiskReplica:
    """A replica's directory and the log directory that contains it."""

    log_dir: LogDir
    directory: PartitionDir

    @property
    def topic_partition(self) -> TopicPartition:
        return self.directory.topic_partition


@dataclass(frozen=True, slots=True)
class Comparable:
    """A partition that has a leader in the cluster, and the directories of its replica on the disks."""

    replicas: tuple[DiskReplica, ...]
    """The directory in use first, if it exists."""
    state: PartitionState

    @property
    def topic_partition(self) -> TopicPartition:
        return self.state.topic_partition

    @property
    def topic_id(self) -> str | None:
        return self.state.topic_id


def group_by_topic_id(
    replicas: Iterable[DiskReplica], present: Mapping[TopicPartition, str] = MappingProxyType({})
) -> list[tuple[DiskReplica, ...]]:
    """Return the directories of each partition of each topic, the directory in use first.

    Several topics may have had the same name: Kafka keeps the directories of deleted ones as stray. A directory without
    a topic id counts as one of the topic that is ``present`` in the cluster.
    """
    groups = grouped(
        ((each.topic_partition, each.directory.topic_id or present.get(each.topic_partition, "")), each)
        for each in sorted(replicas, key=lambda replica: _KINDS.index(replica.directory.kind))
    )
    return [tuple(some) for (_partition, _topic_id), some in sorted(groups.items(), key=lambda item: item[0][0])]


_UNFINISHED = (
    "the leader has all of an unfinished copy, but the broker was moving this replica from another log directory, and "
    "what the cluster lacks of the log there is unknown: name that directory, too. The copy"
)


def compare_with_leader(
    one: Comparable,
    leader: ReplicaLog | None,
    contents: Mapping[str, SegmentContents],
    reused: Mapping[str, EpochRange] = MappingProxyType({}),
) -> DiskFinding:
    """Compare what was read from the disks with the log of the partition's leader.

    Each directory is compared on its own, because two of them may have diverged. The status is ``WOULD_BE_SAVED`` if
    there is something to save. Files that could not be read are left to ``fail_if_unread``.
    ``reused`` is of ``find_reused``.
    """
    state, read = one.state, contents_of(one.replicas, contents)
    found = DiskFinding(
        state.topic,
        state.partition,
        one.replicas[0].directory.topic_id,
        one.replicas[0].log_dir.directory_id,
        SalvageStatus.FAILED,
        leader_id=state.leader_id,
        held=union([(run for each in read for run in each.runs)]),
        damages=tuple(FileDamage(each.path, damage) for each in read for damage in each.damages),
    )
    if leader is None or not leader.answered:
        why = "the leader's address is unknown" if leader is None else f"{leader.cause}: {leader.error}"
        return replace(found, reason=f"broker {state.leader_id}, the leader, did not say what it holds: {why}")
    try:
        lacked = [
            find_lacking(leader, stretches_up_to_end(each, contents), reused.get(each.directory.path))
            for each in one.replicas
        ]
    except IncomparableError as error:
        return replace(found, reason=f"what the cluster lacks is unknown, because {error}")
    lost = union(without_deleted(each, lacks.lost, contents) for each, lacks in zip(one.replicas, lacked, strict=True))
    found = replace(
        found,
        lost=lost,
        unreadable=subtract(lost, found.held),
        before_log_start=union(each.earlier for each in lacked if each.divergence_offset is None),
    )
    if intersect(found.held, lost):
        said = [_name_set_aside_directories(one), _name_unnamed_topic(one), *name_deleted(one.replicas, contents)]
        return replace(found, status=SalvageStatus.WOULD_BE_SAVED, reason="; ".join(filter(None, said)))
    if lost:
        return without_any_batch(found)
    if all(each.directory.kind is DirKind.FUTURE for each in one.replicas):
        return replace(found, reason=f"{_UNFINISHED}: {', '.join(each.directory.path for each in one.replicas)}")
    tails = "; ".join(describe_tail(each) for each in found.damages if each.is_tail)
    reason = f"broker {state.leader_id}, the leader, has all of it" + (f" that can be read: {tails}" if tails else "")
    reason = "; ".join([reason, *name_deleted(one.replicas, contents)])
    return replace(found, status=SalvageStatus.NOTHING_LACKING, reason=reason)


def without_any_batch(found: DiskFinding) -> DiskFinding:
    """Return the finding for a replica of which nothing can be saved, though it held what the leader lacks."""
    offsets = ", ".join(each.offsets for each in found.lost)
    return replace(
        found,
        status=SalvageStatus.FAILED,
        unreadable=found.lost,
        reason=f"the cluster lacks offsets {offsets}, which were in this log, and no batch with them can be read",
    )


def keep_claims(before: DiskFinding, after: DiskFinding) -> DiskFinding:
    """Return a finding after whole segments were read, with the lost offsets that only the headers had shown.

    A batch whose header is intact, and whose records are not, was in the log.
    """
    claimed = subtract(before.lost, after.lost)
    if not claimed:
        return after
    lost = union([after.lost, claimed])
    after = replace(after, lost=lost, unreadable=subtract(lost, after.held))
    return after if after.status is SalvageStatus.WOULD_BE_SAVED else without_any_batch(after)


def describe_tail(damage: FileDamage) -> str:
    """Describe bytes at the end of a segment, of which nothing is known."""
    tail = damage.damage
    is_old = tail.kind is DamageKind.OLD_FORMAT
    what = "of message format v0 or v1, which a salvage does not read" if is_old else "that are no intact batch"
    return f"{damage.path} ends with {tail.size} bytes, from offset {tail.from_offset} on, {what}"


def contents_of(replicas: Sequence[DiskReplica], contents: Mapping[str, SegmentContents]) -> list[SegmentContents]:
    """Return what was read from the segments of all directories."""
    return [contents[segment.path] for each in replicas for segment in each.directory.segments]


def read_errors(replicas: Sequence[DiskReplica], contents: Mapping[str, SegmentContents]) -> list[str]:
    """Return why something in the directories could not be read. Damaged batches are not among it."""
    return [
        *(each.directory.error for each in replicas if each.directory.error),
        *(
            f"{each.path} could not be read to its end: {each.error}"
            for each in contents_of(replicas, contents)
            if each.error
        ),
    ]


def fail_if_unread(
    found: DiskFinding, replicas: Sequence[DiskReplica], contents: Mapping[str, SegmentContents]
) -> DiskFinding:
    """Name what could not be read. The finding fails then, whatever else was saved, unless it is left alone."""
    errors = read_errors(replicas, contents)
    reason = "; ".join(filter(None, [found.reason, *errors]))
    if not errors or found.status is SalvageStatus.LEFT_ALONE:
        return replace(found, reason=reason)
    return replace(found, status=SalvageStatus.FAILED, reason=f"{reason}. {_READ_IT}")


def stretches_on_disk(replica: DiskReplica, contents: Mapping[str, SegmentContents]) -> Stretches:
    """Return the offsets that were read from one directory."""
    return union([(run for each in replica.directory.segments for run in contents[each.path].runs)])


def stretches_up_to_end(replica: DiskReplica, contents: Mapping[str, SegmentContents]) -> Stretches:
    """Return the offsets that one directory held, up to the base offset of its last segment.

    A log had all offsets up to that one, also if no batch right before it can be read. Their epoch is at least that of
    the last batch that can be read.
    """
    held = stretches_on_disk(replica, contents)
    if not held:
        return held
    last, base = held[-1], replica.directory.segments[-1].base_offset
    return held if base <= last.end_offset else (*held[:-1], last._replace(end_offset=base))


def without_deleted(replica: DiskReplica, stretches: Stretches, contents: Mapping[str, SegmentContents]) -> Stretches:
    """Return the stretches of one directory from its log start offset on.

    Records before it were deleted by DeleteRecords or by retention. Segments keep them until all of their records are.
    """
    start = _log_start_offset(replica, contents)
    return tuple(each._replace(start_offset=max(start, each[1])) for each in stretches if each.end_offset > start)


def name_deleted(replicas: Iterable[DiskReplica], contents: Mapping[str, SegmentContents]) -> list[str]:
    """Say which records the broker had deleted, for each directory."""
    starts = [_log_start_offset(each, contents) for each in replicas]
    return [f"records before offset {each} were deleted on the broker, and are not saved" for each in starts if each]


def _log_start_offset(replica: DiskReplica, contents: Mapping[str, SegmentContents]) -> int:
    """Return the log start offset. One beyond the end of the log is not believed."""
    start = replica.directory.log_start_offset
    return start if any(each.end_offset >= start for each in stretches_up_to_end(replica, contents)) else 0


def find_segments_with(replicas: Sequence[DiskReplica], wanted: Stretches) -> Iterator[Segment]:
    """Yield the segments that may have wanted records according to their base offsets, readable or not."""
    for replica in replicas:
        for segment in replica.directory.segments:
            if any(
                segment.base_offset < each.end_offset
                and (segment.end_offset is None or each.start_offset < segment.end_offset)
                for each in wanted
            ):
                yield segment


def _name_set_aside_directories(one: Comparable) -> str:
    """Name the directories that Kafka has set aside and that were compared too; empty if there are none."""
    paths = [each.directory.path for each in one.replicas if each.directory.kind is not DirKind.CURRENT]
    return f"compared with {', '.join(paths)}, too" if paths else ""


def _name_unnamed_topic(one: Comparable) -> str:
    """Name the directories that do not say which topic they had; empty if there are none."""
    paths = [each.directory.path for each in one.replicas if each.directory.topic_id is None]
    return f"{', '.join(paths)}: no valid topic id, so it counts as one of topic id {one.topic_id}" if paths else ""


def build_finding(replica: DiskReplica, status: SalvageStatus, reason: str, absence: Absence | None) -> DiskFinding:
    """Return the finding about a replica that was not compared."""
    directory = replica.directory
    if directory.is_cut and directory.topic_id is not None:
        reason += "; the topic's name may be longer, because Kafka cuts it in such directories"
    return DiskFinding(
        directory.topic,
        directory.partition,
        directory.topic_id,
        replica.log_dir.directory_id,
        status,
        reason,
        absence=absence,
    )
