# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Take the records of topics that the cluster does not have: deleted, re-created, or of another cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from .._model.log_contents import subtract, union
from .._model.partition import TopicPartition
from .finding import (
    Absence,
    DiskFinding,
    DiskReplica,
    FileDamage,
    SalvageStatus,
    build_finding,
    contents_of,
    describe_tail,
    group_by_topic_id,
    name_deleted,
    read_errors,
    stretches_on_disk,
    without_deleted,
)
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
    absent = {(each.topic_partition, each.topic_id): each for each in findings if each.absence is not None}
    return [
        Absent(some, absent[name])
        for some in group_by_topic_id(replicas)
        if (name := (some[0].topic_partition, some[0].directory.topic_id)) in absent
    ]


def leave_to_other_cluster(replicas: Sequence[DiskReplica]) -> list[DiskFinding]:
    """Return a finding for each partition of each topic on the disks of another cluster."""
    return [
        build_finding(
            each,
            SalvageStatus.LEFT_ALONE,
            f"the disk is of cluster {each.log_dir.cluster_id}",
            Absence.OTHER_CLUSTER,
        )
        for each, *_others in group_by_topic_id(replicas)
    ]


def take_absent(one: Absent, contents: Mapping[str, SegmentContents], *, is_wanted: bool) -> DiskFinding:
    """Count what the disks hold of a partition that the cluster does not have. Everything is to be saved if wanted."""
    read = contents_of(one.replicas, contents)
    held = union(without_deleted(each, stretches_on_disk(each, contents), contents) for each in one.replicas)
    found = replace(
        one.found,
        held=held,
        damages=tuple(FileDamage(each.path, damage) for each in read for damage in each.damages),
        reason="; ".join([one.found.reason, *name_deleted(one.replicas, contents)]),
    )
    if not is_wanted:
        return found
    if not held:
        tails = [describe_tail(each) for each in found.damages if each.is_tail]
        if not (tails or read_errors(one.replicas, contents)):
            return found
        said = [found.reason, *tails, "no batch of it can be read, so it is unknown what it held"]
        return replace(found, status=SalvageStatus.FAILED, reason="; ".join(said))
    lost = fill_gaps(held)
    return replace(found, status=SalvageStatus.WOULD_BE_SAVED, lost=lost, unreadable=subtract(lost, held))


def keep_one_topic(findings: Sequence[DiskFinding]) -> list[DiskFinding]:
    """Leave all but the first of several topics of one name to runs of their own.

    A salvage names a partition by its topic's name, and offsets of two topics must not be taken for the same.
    """
    saved: dict[TopicPartition, str | None] = {}
    kept = []
    for each in findings:
        if each.status is not SalvageStatus.WOULD_BE_SAVED:
            kept.append(each)
            continue
        first = saved.setdefault(each.topic_partition, each.topic_id)
        kept.append(each if first == each.topic_id else _named_alike(each, first))
    return kept


def _named_alike(finding: DiskFinding, saved: str | None) -> DiskFinding:
    return replace(
        finding,
        status=SalvageStatus.LEFT_ALONE,
        absence=Absence.NAMED_ALIKE,
        lost=(),
        unreadable=(),
        reason=f"{finding.reason}; this run saves another topic of this name, with id {saved}. To save this one: copy "
        "its directory and meta.properties to a directory of their own, and salvage that",
    )
