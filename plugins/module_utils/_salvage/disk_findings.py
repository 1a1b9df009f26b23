# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compares the replicas of a dead broker's disks with the cluster. Pure, but for the types that it takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .._kafka.partitions import Description, TopicError
from .._model.log_contents import Lacking
from .._model.partition import PartitionState, TopicPartition
from .._model.replica_log import ReplicaLog
from .finding import DiskFinding, FileDamage, Status
from .log_dir import LogDir, PartitionDir, Segment
from .scan import SegmentContents
from .stretch import IncomparableError, lacking, merged, minus, within


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
    """A replica on disk whose partition the cluster has, with a leader."""

    replica: DiskReplica
    state: PartitionState


def compare_with_metadata(
    replicas: Sequence[DiskReplica], description: Description
) -> tuple[list[Comparable], list[DiskFinding]]:
    """Return the replicas that can be compared with a leader from those that cannot, each with the reason."""
    states = {each.topic_partition: each for each in description.partitions}
    refused = {each.topic: each for each in description.refused}
    by_partition: dict[TopicPartition, list[DiskReplica]] = defaultdict(list)
    for each in replicas:
        by_partition[each.topic_partition].append(each)
    comparable, findings = [], []
    for partition, found in sorted(by_partition.items()):
        state = states.get(partition)
        obstacle = _obstacle(found, state, refused.get(partition.topic))
        if obstacle is not None:
            findings.append(_finding(found[0], *obstacle))
        elif state is not None:
            comparable.append(Comparable(found[0], state))
    return comparable, findings


def compare_with_leader(
    one: Comparable, leader: ReplicaLog | None, contents: Mapping[str, SegmentContents]
) -> DiskFinding:
    """Return what the leader of a partition lacks of what was read from the disk.

    The status is ``WOULD_BE_SAVED`` where there is something to save.
    """
    replica, state = one.replica, one.state
    read = [contents[each.path] for each in replica.directory.segments]
    damages = tuple(FileDamage(each.path, damage) for each in read for damage in each.damages)
    held = merged(run for each in read for run in each.runs)
    found = DiskFinding(
        state.topic,
        state.partition,
        replica.directory.topic_id,
        replica.log_dir.directory_id,
        Status.FAILED,
        leader_id=state.leader_id,
        held=held,
        damages=damages,
    )
    errors = [f"{each.path} could not be read: {each.error}" for each in read if each.error]
    if errors:
        return _with(found, Status.FAILED, "; ".join(errors))
    if leader is None or not leader.answered:
        why = "the leader's address is unknown" if leader is None else f"{leader.cause}: {leader.error}"
        return _with(found, Status.FAILED, f"broker {state.leader_id}, the leader, did not say what it holds: {why}")
    try:
        lacked = lacking(leader, held)
    except IncomparableError as error:
        return _with(found, Status.FAILED, f"what the cluster lacks is unknown, since {error}")
    if not lacked.lost:
        reason = f"broker {state.leader_id}, the leader, has all of it"
        return _with(found, Status.NOTHING_LACKING, reason, lacked)
    return _with(found, Status.WOULD_BE_SAVED, "", lacked)


def segments_to_save(
    finding: DiskFinding, replica: DiskReplica, contents: Mapping[str, SegmentContents]
) -> Iterator[Segment]:
    """Yield the segments from the first one with records to save to the end of the log."""
    has_begun = False
    for each in replica.directory.segments:
        has_begun = has_begun or bool(within(contents[each.path].runs, finding.lost))
        if has_begun:
            yield each


def _obstacle(
    found: Sequence[DiskReplica], state: PartitionState | None, refused: TopicError | None
) -> tuple[Status, str] | None:
    partition = found[0].topic_partition
    if len(found) > 1:
        paths = " and ".join(each.log_dir.path for each in found)
        return Status.FAILED, f"its log is in {paths}: salvage them one at a time"
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


def _with(found: DiskFinding, status: Status, reason: str, lacked: Lacking | None = None) -> DiskFinding:
    lost = lacked.lost if lacked is not None else ()
    return DiskFinding(
        found.topic,
        found.partition,
        found.topic_id,
        found.directory_id,
        status,
        reason,
        found.leader_id,
        found.held,
        lost,
        minus(lost, found.held),
        lacked.earlier if lacked is not None and lacked.divergence_offset is None else (),
        found.damages,
    )
