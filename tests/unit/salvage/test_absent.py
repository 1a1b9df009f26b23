# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Replicas of topics that the cluster does not have are counted, and taken whole if this is wanted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.log_dir import (
    DirKind,
    LogDir,
    PartitionDir,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.segment import Damage, DamageKind, Segment
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.partitions import Description, TopicError
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import NO_LEADER, PartitionState
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.absent import (
    find_absent,
    keep_one_topic,
    leave_to_other_cluster,
    take_absent,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.comparable import compare_with_metadata
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.finding import (
    Absence,
    DiskFinding,
    DiskReplica,
    SalvageStatus,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.report import summarize_disks
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.scan import SegmentContents

LOG_DIR = LogDir("/disk", "cluster", 1, "directory")
HELD = (EpochRange(0, 0, 40), EpochRange(2, 45, 60))


def a_replica(topic: str, topic_id: str | None, *, partition: int = 0, kind: DirKind = DirKind.CURRENT) -> DiskReplica:
    path = f"/disk/{topic}-{partition}-{topic_id}-{kind}"
    segments = (Segment(f"{path}/0.log", 0, 100),)
    return DiskReplica(LOG_DIR, PartitionDir(topic, partition, topic_id, segments, path, kind))


def a_state(topic: str, topic_id: str) -> PartitionState:
    return PartitionState(topic, 0, topic_id, 2, 5, (2,), (2,), None, None, ())


def taken(*replicas: DiskReplica, findings: list[DiskFinding], is_wanted: bool) -> list[DiskFinding]:
    contents = {
        segment.path: SegmentContents(segment.path, HELD, ())
        for each in replicas
        for segment in each.directory.segments
    }
    return [take_absent(each, contents, is_wanted=is_wanted) for each in find_absent(replicas, findings)]


def test_offsets_are_counted_by_cause() -> None:
    replicas = [
        a_replica("deleted", "a"),
        a_replica("again", "b"),
        a_replica("fewer", None, partition=7),
        a_replica("kept", "c"),
    ]
    states = (a_state("again", "new"), a_state("fewer", "d"), a_state("kept", "c"))
    description = Description(states, (TopicError("deleted", 3),))
    comparable, findings = compare_with_metadata(replicas, description)
    assert [each.topic_partition.topic for each in comparable] == ["kept"]
    found = taken(*replicas, findings=findings, is_wanted=False)
    assert {each.status for each in found} == {SalvageStatus.LEFT_ALONE}
    summary = summarize_disks(found)
    assert summary.left_alone == {
        Absence.NO_TOPIC: 55,
        Absence.OTHER_TOPIC: 55,
        Absence.OTHER_CLUSTER: 0,
        Absence.NO_PARTITION: 55,
        Absence.NAMED_ALIKE: 0,
    }
    assert summary.lost_offsets == 0


def test_directories_of_several_topics_of_one_name_are_apart() -> None:
    """Kafka keeps the directory of a deleted topic as stray, beside that of its successor."""
    replicas = [a_replica("again", each, kind=DirKind.STRAY) for each in ("first", "second")]
    replicas += [a_replica("again", "now"), a_replica("again", None, kind=DirKind.FUTURE)]
    (one,), findings = compare_with_metadata(replicas, Description((a_state("again", "now"),), ()))
    assert [each.directory.topic_id for each in one.replicas] == ["now", None]
    assert [(each.topic_id, each.absence) for each in findings] == [
        ("first", Absence.OTHER_TOPIC),
        ("second", Absence.OTHER_TOPIC),
    ]
    kept, left = keep_one_topic(taken(*replicas, findings=findings, is_wanted=True))
    assert (kept.topic_id, kept.status) == ("first", SalvageStatus.WOULD_BE_SAVED)
    assert (left.topic_id, left.absence, left.lost, left.held) == ("second", Absence.NAMED_ALIKE, (), HELD)


def test_everything_is_taken_if_wanted() -> None:
    """A gap counts as held and unreadable, as in a comparison with a leader."""
    replicas = [a_replica("orders", "a", kind=DirKind.STRAY), a_replica("orders", "a"), a_replica("orders", "b")]
    findings = leave_to_other_cluster(replicas[:2])
    assert [(each.absence, each.reason) for each in findings] == [
        (Absence.OTHER_CLUSTER, "the disk is of cluster cluster")
    ]
    (one,) = find_absent(replicas, findings)
    assert [each.directory.kind for each in one.replicas] == [DirKind.CURRENT, DirKind.STRAY], "with this topic id"
    (found,) = taken(*replicas, findings=findings, is_wanted=True)
    assert (found.status, found.lost_records, found.unreadable) == (
        SalvageStatus.WOULD_BE_SAVED,
        60,
        (EpochRange(2, 40, 45),),
    )


def test_deleted_records_are_not_taken() -> None:
    """A log start offset beyond the end of the log is not believed."""
    for start, count in ((30, 30), (60, 0), (61, 60)):
        replica = a_replica("orders", "a")
        replica = replace(replica, directory=replace(replica.directory, log_start_offset=start))
        (found,) = taken(replica, findings=leave_to_other_cluster([replica]), is_wanted=True)
        assert found.lost_records == count
        assert (f"records before offset {start} were deleted" in found.reason) == (start <= 60)


def test_a_partition_of_which_no_batch_can_be_read_has_failed() -> None:
    """A power loss leaves files of zeros. A partition without any byte was empty."""
    replica = a_replica("orders", "a")
    (path,) = (each.path for each in replica.directory.segments)
    (one,) = find_absent([replica], leave_to_other_cluster([replica]))
    zeros = Damage(DamageKind.TORN_TAIL, 0, 4096, 0, None)
    for damages, status in (((zeros,), SalvageStatus.FAILED), ((), SalvageStatus.LEFT_ALONE)):
        found = take_absent(one, {path: SegmentContents(path, (), damages)}, is_wanted=True)
        assert found.status is status
    named = take_absent(one, {path: SegmentContents(path, (), (zeros,))}, is_wanted=True).reason
    assert f"{path} ends with 4096 bytes" in named
    assert named.endswith("no batch of it can be read, so it is unknown what it held")


LOOK = (
    "it has no leader to compare the disk with. Look at its recovery (playbook "
    "kafkaops.recovery.recover_offline_partitions with --check). If that can elect another replica, recover "
    "the partition, and salvage again before broker 1 starts. If it says to start broker 1, "
)
ALONE = "it has no leader to compare the disk with, and no online broker has a replica: "
START = (
    "start broker 1 once all other partitions on its disks are saved: without a leader, nothing of this one is deleted"
)


@pytest.mark.parametrize(
    ("replicas", "offline", "reason"),
    [
        ((1,), (1,), ALONE + START),
        ((1, 3), (3, 1), ALONE + START),
        # The metadata still counts it as online right after it was stopped.
        ((1,), (), ALONE + START),
        ((1, 2), (1,), LOOK + START),
        ((3, 2, 1), (3,), LOOK + START),
    ],
)
def test_advice_without_a_leader_leads_on(replicas: tuple[int, ...], offline: tuple[int, ...], reason: str) -> None:
    """A recovery may say to start this broker: the salvage must not forbid the only way."""
    state = PartitionState("orders", 0, "a", NO_LEADER, 5, replicas, replicas[:1], None, None, offline)
    comparable, (finding,) = compare_with_metadata([a_replica("orders", "a")], Description((state,), ()))
    assert (comparable, finding.status, finding.absence) == ([], SalvageStatus.FAILED, None)
    assert finding.reason == reason
