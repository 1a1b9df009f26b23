# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The recovered quorum, also when it is verified late. Real clusters are in tests/integration/quorum_recovery."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from kafka.protocol.admin import DescribeQuorumResponse

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.apply import apply
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.journal import read_pending
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.plan import QuorumPlan
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.report import Verified
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.verify import VerifyError, verify
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.words import describe_verified
from unit.quorum_recovery.disks import VOTERS, Disk, a_plan, directory_id, topic_record

_SURVIVOR = VOTERS[0]
_OLD = {each: directory_id(each) for each in VOTERS}
_NEW = {each: f"B{directory_id(each)[1:]}" for each in VOTERS}
_BOTH_KINDS = pytest.mark.parametrize("dynamic", [True, False], ids=["dynamic", "static"])


class FakeWire:
    """A quorum, and the nodes that follow it. Only its leader answers what it is asked."""

    def __init__(
        self,
        following: Sequence[int] = (),
        voters: Sequence[int] = (_SURVIVOR,),
        leader: int = _SURVIVOR,
        disks: dict[int, str] | None = None,
    ) -> None:
        self._following, self._voters, self._leader, self._disks = following, voters, leader, disks or {}

    def call(self, address: Address, _request: Any) -> Any:
        message = DescribeQuorumResponse
        partition = message.TopicData.PartitionData
        leads = str(self._leader) in address.host

        def replica(node_id: int) -> Any:
            return partition.ReplicaState(
                replica_id=node_id,
                log_end_offset=1000,
                last_fetch_timestamp=1,
                last_caught_up_timestamp=1,
                replica_directory_id=_uuid(self._disks.get(node_id)),
            )

        found = partition(
            partition_index=0,
            error_code=0 if leads else 6,
            leader_id=self._leader,
            leader_epoch=9,
            high_watermark=1000,
            current_voters=[replica(each) for each in self._voters],
            observers=[replica(each) for each in self._following],
        )
        return message(topics=[message.TopicData(topic_name="__cluster_metadata", partitions=[found])], nodes=[])


def _uuid(directory: str | None) -> uuid.UUID | None:
    return None if directory is None else uuid.UUID(bytes=base64.urlsafe_b64decode(f"{directory}=="))


def verified(plan: QuorumPlan, wire: FakeWire) -> Verified:
    return verify(cast(Wire, wire), plan, timeout_ms=0)


@pytest.mark.parametrize(
    ("brokers", "following", "missing"),
    [
        ((1, 2), (1, 2), 0),
        ((1, 2), (1,), 1),
        ((1, *VOTERS), (1,), 0),
        ((1, 2, *VOTERS), (1, VOTERS[1]), 1),
    ],
    ids=["all follow", "one is down", "combined nodes", "combined nodes, and one broker is down"],
)
def test_brokers_that_do_not_follow_are_counted(
    tmp_path: Path, brokers: tuple[int, ...], following: tuple[int, ...], missing: int
) -> None:
    """The survivor is no follower, and lost nodes are not expected."""
    plan = recovered(Disk(tmp_path).add(topic_record("a")))
    plan = replace(plan, contents=replace(plan.contents, brokers=brokers))
    assert verified(plan, FakeWire(following)).missing_brokers == missing


def recovered(disk: Disk) -> QuorumPlan:
    """Carry out the plan for a disk, and let its controller lead. Return the plan."""
    plan = a_plan(disk)
    apply(plan, disk.host, None)
    disk.end_offset = plan.changed_end_offset
    disk.add(topic_record("since"), epoch=plan.new_epoch + 1).add(topic_record("later"), epoch=plan.new_epoch + 1)
    return plan


@_BOTH_KINDS
@pytest.mark.parametrize("more", [0, 1, 2])
def test_a_newer_snapshot_covers_the_planned_log(tmp_path: Path, *, dynamic: bool, more: int) -> None:
    disk = Disk(tmp_path, dynamic=dynamic).add(topic_record("a"))
    plan = recovered(disk)
    disk.add_snapshot(plan.changed_end_offset + more, topic_record("a"), epoch=plan.new_epoch + 1)
    found = verified(plan, FakeWire())
    assert "topic later was created with id bGF0ZXIAAAAAAAAAAAAAAA" in found.since
    assert read_pending(str(disk.log_dir)) is None


@_BOTH_KINDS
def test_the_snapshot_of_the_plan_is_removed_since(tmp_path: Path, *, dynamic: bool) -> None:
    """Then the epochs say that the log is the same. Kafka removes it with the log before the next snapshot."""
    disk = Disk(tmp_path, dynamic=dynamic).add(topic_record("a"))
    old = disk.add_snapshot(disk.end_offset - 1, topic_record("a"))
    plan = recovered(disk)
    assert plan.snapshot is not None
    old.unlink()
    disk.add_snapshot(plan.changed_end_offset + 1, topic_record("a"), epoch=plan.new_epoch + 1)
    verified(plan, FakeWire())
    assert read_pending(str(disk.log_dir)) is None


@_BOTH_KINDS
def test_another_log_is_not_taken_for_the_planned_one(tmp_path: Path, *, dynamic: bool) -> None:
    disk = Disk(tmp_path, dynamic=dynamic).add(topic_record("a"))
    old = disk.add_snapshot(disk.end_offset - 1, topic_record("a"))
    plan = recovered(disk)
    disk.segment.unlink()
    disk.end_offset = 0
    for number in range(9):
        disk.add(topic_record(f"other{number}"), epoch=plan.new_epoch + 1)
    for _each in range(2):
        with pytest.raises(VerifyError, match="differs from the planned one"):
            verified(plan, FakeWire())
        old.unlink(missing_ok=True)
        disk.add_snapshot(8, topic_record("a"), epoch=plan.new_epoch + 1)
    assert read_pending(str(disk.log_dir)) is not None


def test_controllers_that_were_added_since_are_voters_and_may_lead(tmp_path: Path) -> None:
    disk = Disk(tmp_path).add(topic_record("a"))
    plan = recovered(disk)
    disk.add_voters(VOTERS)
    found = verified(plan, FakeWire(voters=VOTERS, leader=102, disks=_NEW | {_SURVIVOR: _OLD[_SURVIVOR]}))
    assert (found.leader_id, found.voters) == (102, VOTERS)
    lines = describe_verified(plan, found)
    assert lines[0].startswith("Controller 102 leads in epoch 9")
    assert lines[-1] == "Voters: 101, 102, 103."
    assert read_pending(str(disk.log_dir)) is None


def test_lost_voters_with_their_old_disks_are_the_old_quorum(tmp_path: Path) -> None:
    disk = Disk(tmp_path).add(topic_record("a"))
    plan = recovered(disk)
    with pytest.raises(VerifyError, match="voter 102 is not known to have another disk than before"):
        verified(plan, FakeWire(voters=VOTERS, disks=_OLD))
    assert read_pending(str(disk.log_dir)) is not None


def test_static_voters_are_those_that_the_survivor_s_properties_name(tmp_path: Path) -> None:
    disk = Disk(tmp_path, dynamic=False).add(topic_record("a"))
    plan = recovered(disk)
    with pytest.raises(VerifyError, match="the properties of controller 101 do not name voter 102"):
        verified(plan, FakeWire(voters=(101, 102)))
    alone, both = "101@c101.invalid:9093", "101@c101.invalid:9093,102@c102.invalid:9093"
    disk.properties.write_text(disk.properties.read_text("utf-8").replace(alone, both, 1), encoding="utf-8")
    apply(plan, disk.host, None)
    assert verified(plan, FakeWire(voters=(101, 102), leader=102)).voters == (101, 102)
