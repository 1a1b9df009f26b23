# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cut topic name becomes whole by the topic id, and is never taken for another topic."""

from __future__ import annotations

from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.log_dir import DirKind, LogDir, PartitionDir
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.partitions import Description
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import PartitionState
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.comparable import compare_with_metadata
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.cut_names import (
    complete_names,
    may_be_of,
    set_unproven_apart,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.finding import (
    Absence,
    DiskReplica,
    SalvageStatus,
)

CUT, WHOLE = "t" * 214, "t" * 240


def a_replica(topic: str, topic_id: str | None, *, is_cut: bool = True) -> DiskReplica:
    kind = DirKind.STRAY if is_cut else DirKind.CURRENT
    return DiskReplica(
        LogDir("/disk", "cluster", 1, None),
        PartitionDir(topic, 0, topic_id, (), f"/disk/{topic_id}", kind, is_cut=is_cut),
    )


def a_state(topic: str, topic_id: str) -> PartitionState:
    return PartitionState(topic, 0, topic_id, 2, 5, (2,), (2,), None, None, ())


def named(replica: DiskReplica) -> tuple[str, bool]:
    return replica.directory.topic, replica.directory.is_cut


def test_the_cluster_or_another_directory_has_the_whole_name() -> None:
    (by_cluster,) = complete_names([a_replica(CUT, "a")], [a_state(CUT, "b"), a_state(WHOLE, "a")])
    assert named(by_cluster) == (WHOLE, False)
    by_disk, _current = complete_names([a_replica(CUT, "a"), a_replica(WHOLE, "a", is_cut=False)], [])
    assert named(by_disk) == (WHOLE, False)
    (exact,) = complete_names([a_replica(CUT, "b")], [a_state(CUT, "b"), a_state(WHOLE, "a")])
    assert named(exact) == (CUT, False)


def test_a_topic_that_the_cluster_lacks_is_no_topic_of_the_cut_name() -> None:
    replicas = complete_names([a_replica(CUT, "gone")], [a_state(CUT, "b")])
    comparable, (finding,) = compare_with_metadata(replicas, Description((a_state(CUT, "b"),), ()))
    assert (comparable, finding.absence) == ([], Absence.NO_TOPIC)
    assert finding.reason == (
        "the cluster has no topic with id gone; the topic's name may be longer, because Kafka cuts it in such "
        "directories"
    )


def test_a_cut_name_without_a_topic_id_is_compared_with_nothing() -> None:
    replicas = complete_names([a_replica(CUT, None), a_replica("short", None, is_cut=False)], [a_state(CUT, "b")])
    rest, (finding,) = set_unproven_apart(replicas)
    assert [each.directory.topic for each in rest] == ["short"]
    assert (finding.status, finding.absence) == (SalvageStatus.FAILED, None)
    assert finding.reason.startswith("the topic of /disk/None is unknown")


def test_a_wanted_topic_may_be_behind_a_cut_name() -> None:
    assert may_be_of(a_replica(CUT, None), {WHOLE})
    assert not may_be_of(a_replica(CUT, None, is_cut=False), {WHOLE})
    assert not may_be_of(a_replica(CUT, None), {"other"})
