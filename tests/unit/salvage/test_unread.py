# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What was not read of a broker's disks is never green: a file that cannot be opened, and a directory not named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.log_dir import LogDir, PartitionDir
from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.segment import Segment
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    EpochEnd,
    PartitionState,
    ReplicaLog,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.finding import (
    Comparable,
    DiskFinding,
    DiskReplica,
    SalvageStatus,
    compare_with_leader,
    fail_if_unread,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.from_disk import explain_not_here
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.scan import SegmentContents

STATE = PartitionState("orders", 0, "id", 2, 5, (1, 2), (2,), None, None, ())
LEADER = ReplicaLog("orders", 0, 2, log_start_offset=0, log_end_offset=100, lineage=(EpochEnd(0, 100),))
SEGMENTS = (Segment("/disk/orders-0/0.log", 0, 100, 150), Segment("/disk/orders-0/150.log", 150, 100))
REPLICA = DiskReplica(LogDir("/disk", "cluster", 1, None), PartitionDir("orders", 0, "id", SEGMENTS, "/disk/orders-0"))


def compared(error: str = "", directory_error: str = "") -> DiskFinding:
    replica = replace(REPLICA, directory=replace(REPLICA.directory, error=directory_error))
    contents = {
        SEGMENTS[0].path: SegmentContents(SEGMENTS[0].path, (EpochRange(0, 0, 150),), ()),
        SEGMENTS[1].path: SegmentContents(SEGMENTS[1].path, (), (), error),
    }
    found = compare_with_leader(Comparable((replica,), STATE), LEADER, contents)
    assert (found.status, found.lost) == (SalvageStatus.WOULD_BE_SAVED, (EpochRange(0, 100, 150),))
    return fail_if_unread(found, (replica,), contents)


@pytest.mark.parametrize("errors", [("Permission denied", ""), ("", "/disk/orders-0 could not be listed: EIO")])
def test_a_partition_fails_if_not_all_of_it_can_be_read_whatever_else_is_saved(errors: tuple[str, str]) -> None:
    found = compared(*errors)
    assert found.status is SalvageStatus.FAILED
    assert max(errors) in found.reason
    assert "make it readable" in found.reason
    assert found.lost, "the rest is saved"


def test_a_partition_that_was_read_does_not_fail() -> None:
    assert compared().status is SalvageStatus.WOULD_BE_SAVED


def test_replicas_that_the_directories_do_not_have_are_named() -> None:
    others = [STATE._replace(partition=number, replicas=(1, 3)) for number in (1, 2, 7)]
    elsewhere = STATE._replace(partition=8, replicas=(2, 3))
    text = explain_not_here(1, [REPLICA], [STATE, *others, elsewhere])
    assert text.startswith("the cluster has replicas of orders 1-2, 7 on broker 1, and these directories do not")
    assert not explain_not_here(1, [REPLICA], [STATE, elsewhere])
