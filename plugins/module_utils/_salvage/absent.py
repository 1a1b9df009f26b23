# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Take the records of topics that the cluster does not have: deleted, re-created, or of another cluster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from .._model.log_contents import subtract, union
from .._model.partition import TopicPartition
from .finding import Absence, DiskFinding, DiskReplica, FileDamage, SalvageStatus, build_finding, by_kind
from .scan import SegmentContents
from .stretch import fill_gaps


@dataclass(frozen=True, slots=True)
class Absent:
    """A partition that the cluster does not have with this topic id, and the directories of its replica."""

    replicas: tuple[DiskReplica, ...]
    """The directory in use first, if it exists."""
    found: DiskFinding

    @property
    def topic_partition(self) -> TopicPartition:
        return self.found.topic_partition

    @property
    def topic_id(self) -> str | None:
        return self.found.topic_id


def find_absent(replicas: Sequence[DiskReplica], findings: Iterable[DiskFinding]) -> list[Absent]:
    """Return the partitions that were left alone, with those directories that have their topic id."""
    absent = {each.topic_partition: each for each in findings if each.absence is not None}
    by_partition: dict[TopicPartition, list[DiskReplica]] = defaultdict(list)
    for each in replicas:
        found = absent.get(each.topic_partition)
        if found is not None and each.directory.topic_id == found.topic_id:
            by_partition[each.topic_partition].append(each)
    return [
        Absent(tuple(sorted(some, key=by_kind)), absent[partition]) for partition, some in sorted(by_partition.items())
    ]


def leave_to_other_cluster(replicas: Sequence[DiskReplica]) -> list[DiskFinding]:
    """Return a finding for each partition on the disks of another cluster."""
    firsts: dict[TopicPartition, DiskReplica] = {}
    for each in sorted(replicas, key=by_kind):
        firsts.setdefault(each.topic_partition, each)
    return [
        build_finding(
            each, SalvageStatus.LEFT_ALONE, f"the disk is of cluster {each.log_dir.cluster_id}", Absence.OTHER_CLUSTER
        )
        for each in firsts.values()
    ]


def take_absent(one: Absent, contents: Mapping[str, SegmentContents], *, is_wanted: bool) -> DiskFinding:
    """Count what the disks hold of a partition that the cluster does not have. Everything is to be saved if wanted."""
    read = [contents[segment.path] for each in one.replicas for segment in each.directory.segments]
    held = union([(run for each in read for run in each.runs)])
    errors = [f"{each.path} could not be read to its end: {each.error}" for each in read if each.error]
    found = replace(
        one.found,
        held=held,
        damages=tuple(FileDamage(each.path, damage) for each in read for damage in each.damages),
        reason="; ".join([one.found.reason, *errors]),
    )
    if not held or not is_wanted:
        return found
    lost = fill_gaps(held)
    return replace(found, status=SalvageStatus.WOULD_BE_SAVED, lost=lost, unreadable=subtract(lost, held))
