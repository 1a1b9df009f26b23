# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the replicas on a dead broker's disks hold that the cluster lacks, and what became of each. Does no I/O."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated

from .._kafka.partitions import Description, TopicError
from .._model.fields import BrokerId, Meta, PartitionIndex, TopicId, TopicName
from .._model.log_contents import Stretches, records_in, union
from .._model.partition import PartitionState, ReplicaLog, TopicPartition
from .log_dir import DirKind, LogDir, PartitionDir, Segment
from .saved import SavedRecords
from .scan import SegmentContents
from .segment import Damage
from .stretch import IncomparableError, lacking, merged, minus, within

_KINDS = (*DirKind,)


class Status(StrEnum):
    """How a replica on a disk compares with the cluster, and what was done about it."""

    SAVED = "saved"
    WOULD_BE_SAVED = "would_be_saved"
    """Check mode."""
    ALREADY_SAVED = "already_saved"
    """The salvage directory has it, from an earlier run."""
    NOTHING_LACKING = "nothing_lacking"
    """The partition's leader has all of it."""
    LEFT_ALONE = "left_alone"
    """The topic is gone, was re-created, or has fewer partitions now: its records have no place in the cluster."""
    FAILED = "failed"
    """It is not known what the cluster lacks, or it could not be saved. The reason says why."""


@dataclass(frozen=True, slots=True)
class FileDamage:
    """What could not be read of one segment file."""

    path: str
    damage: Damage


@dataclass(frozen=True, slots=True)
class DiskFinding:
    """One replica on a disk. Ranges are offsets of one leader epoch each; see also ``log_contents``."""

    topic: TopicName
    partition: PartitionIndex
    topic_id: TopicId | None
    directory_id: str | None
    status: Annotated[Status, Meta("the status")]
    reason: str = ""
    leader_id: BrokerId | None = None
    held: Annotated[Stretches, Meta(description="what the disk holds is a list of stretches")] = ()
    """By the headers of batches; what of it is in ``lost`` has good checksums."""
    lost: Stretches = ()
    """What the leader never held. Offsets that compaction emptied are in it."""
    unreadable: Annotated[Stretches, Meta(description="what is unreadable is a list of stretches")] = ()
    """What of ``lost`` is in no batch that could be read: damaged, in a missing segment, or removed by compaction."""
    before_log_start: Annotated[
        Stretches, Meta(description="what lies before the leader's log start offset is a list of stretches")
    ] = ()
    """What lies before the leader's log start offset: it is unknown whether the leader ever held it."""
    damages: tuple[FileDamage, ...] = ()
    saved: SavedRecords | None = field(default=None)

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def lost_records(self) -> int:
        """Offsets, which count transaction markers and what compaction removed."""
        return records_in(self.lost)

    @property
    def unreadable_records(self) -> int:
        """Offsets."""
        return records_in(self.unreadable)


@dataclass(frozen=True, slots=True)
class DiskReplica:
    """A replica's directory, and the log directory that it lies in."""

    log_dir: LogDir
    directory: PartitionDir

    @property
    def topic_partition(self) -> TopicPartition:
        return self.directory.topic_partition


@dataclass(frozen=True, slots=True)
class Comparable:
    """A partition that the cluster has, with a leader, and the directories of its replica on the disks."""

    replicas: tuple[DiskReplica, ...]
    """The one in use first, if it is there."""
    state: PartitionState


def compare_with_metadata(
    replicas: Sequence[DiskReplica], description: Description
) -> tuple[list[Comparable], list[DiskFinding]]:
    """Return the partitions that can be compared with a leader from those that cannot, each with the reason."""
    states = {each.topic_partition: each for each in description.partitions}
    refused = {each.topic: each for each in description.refused}
    by_partition: dict[TopicPartition, list[DiskReplica]] = defaultdict(list)
    for each in replicas:
        by_partition[each.topic_partition].append(each)
    comparable, findings = [], []
    for partition, found in sorted(by_partition.items()):
        state = states.get(partition)
        ordered = tuple(sorted(found, key=lambda each: _KINDS.index(each.directory.kind)))
        of_topic = tuple(each for each in ordered if state is None or each.directory.topic_id in {None, state.topic_id})
        obstacle = _find_obstacle(of_topic or ordered, state, refused.get(partition.topic))
        if obstacle is not None:
            findings.append(_finding(ordered[0], *obstacle))
        elif state is not None:
            comparable.append(Comparable(of_topic, state))
    return comparable, findings


def compare_with_leader(
    one: Comparable, leader: ReplicaLog | None, contents: Mapping[str, SegmentContents]
) -> DiskFinding:
    """Return what the leader of a partition lacks of what was read from the disks.

    Each directory is compared for itself: two of them may have diverged. The status is ``WOULD_BE_SAVED`` where there
    is something to save. A file that could not be read to its end is named, and keeps nothing else from being saved.
    """
    state, read = one.state, [contents[segment.path] for each in one.replicas for segment in each.directory.segments]
    found = DiskFinding(
        state.topic,
        state.partition,
        one.replicas[0].directory.topic_id,
        one.replicas[0].log_dir.directory_id,
        Status.FAILED,
        leader_id=state.leader_id,
        held=merged(run for each in read for run in each.runs),
        damages=tuple(FileDamage(each.path, damage) for each in read for damage in each.damages),
    )
    if leader is None or not leader.answered:
        why = "the leader's address is unknown" if leader is None else f"{leader.cause}: {leader.error}"
        return replace(found, reason=f"broker {state.leader_id}, the leader, did not say what it holds: {why}")
    try:
        lacked = [lacking(leader, held_in(each, contents)) for each in one.replicas]
    except IncomparableError as error:
        return replace(found, reason=f"what the cluster lacks is unknown, since {error}")
    lost = union(each.lost for each in lacked)
    found = replace(
        found,
        lost=lost,
        unreadable=minus(lost, found.held),
        before_log_start=union(each.earlier for each in lacked if each.divergence_offset is None),
    )
    errors = "; ".join(f"{each.path} could not be read to its end: {each.error}" for each in read if each.error)
    if lost:
        return replace(
            found,
            status=Status.WOULD_BE_SAVED,
            reason="; ".join(filter(None, [_name_set_aside_directories(one), errors])),
        )
    if errors:
        return replace(found, reason=errors)
    return replace(found, status=Status.NOTHING_LACKING, reason=f"broker {state.leader_id}, the leader, has all of it")


def held_in(replica: DiskReplica, contents: Mapping[str, SegmentContents]) -> Stretches:
    """Return what was read from one directory."""
    return merged(run for each in replica.directory.segments for run in contents[each.path].runs)


def segments_with(one: Comparable, wanted: Stretches) -> Iterator[Segment]:
    """Yield the segments that may have wanted records, by their base offsets: whatever else of them can be read."""
    for replica in one.replicas:
        for segment in replica.directory.segments:
            if any(
                segment.base_offset < each.end_offset
                and (segment.end_offset is None or each.start_offset < segment.end_offset)
                for each in wanted
            ):
                yield segment


def segments_to_save(
    replica: DiskReplica, wanted: Stretches, contents: Mapping[str, SegmentContents]
) -> Iterator[Segment]:
    """Yield the segments from the first one with records to save to the end of the log."""
    has_begun = False
    for each in replica.directory.segments:
        has_begun = has_begun or bool(within(contents[each.path].runs, wanted))
        if has_begun:
            yield each


def _name_set_aside_directories(one: Comparable) -> str:
    """Name the directories that Kafka has put aside, and that were read, too."""
    paths = [each.directory.path for each in one.replicas if each.directory.kind is not DirKind.CURRENT]
    return f"compared with {', '.join(paths)}, too" if paths else ""


def _find_obstacle(
    found: Sequence[DiskReplica], state: PartitionState | None, refused: TopicError | None
) -> tuple[Status, str] | None:
    partition = found[0].topic_partition
    if refused is not None and refused.is_unauthorised:
        return Status.FAILED, f"topic {partition.topic} cannot be looked at: {refused}"
    if state is None:
        what = f"topic {partition.topic}" if refused is not None else str(partition)
        return Status.LEFT_ALONE, f"the cluster has no {what}, or our principal needs DESCRIBE on the topic"
    topic_id = found[0].directory.topic_id
    if topic_id is not None and topic_id != state.topic_id:
        return Status.LEFT_ALONE, f"the topic was re-created: its id is {state.topic_id}, and on the disk {topic_id}"
    if state.is_offline:
        return (
            Status.FAILED,
            "it has no leader that the disk could be compared with: recover the partition, then salvage again, and "
            "do not start the broker before",
        )
    return None


def _finding(replica: DiskReplica, status: Status, reason: str) -> DiskFinding:
    directory = replica.directory
    return DiskFinding(
        directory.topic, directory.partition, directory.topic_id, replica.log_dir.directory_id, status, reason
    )
