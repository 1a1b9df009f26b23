# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A replica was being moved between log directories, and only the directory with the unfinished copy was named."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.log_dir import DirKind, LogDir, PartitionDir
from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.segment import Segment
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    EpochEnd,
    PartitionState,
    ReplicaLog,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.finding import (
    Comparable,
    DiskReplica,
    SalvageStatus,
    compare_with_leader,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.scan import SegmentContents

STATE = PartitionState("orders", 0, "id", 2, 5, (1, 2), (2,), None, None, ())
LEADER = ReplicaLog("orders", 0, 2, log_start_offset=0, log_end_offset=100, lineage=(EpochEnd(0, 100),))


@pytest.mark.parametrize(
    ("kinds", "copied", "expected"),
    [
        pytest.param([DirKind.CURRENT, DirKind.FUTURE], 50, SalvageStatus.NOTHING_LACKING, id="both directories"),
        pytest.param([DirKind.FUTURE], 50, SalvageStatus.FAILED, id="the copy alone"),
        pytest.param([DirKind.FUTURE], 110, SalvageStatus.WOULD_BE_SAVED, id="a copy with what the leader lacks"),
        pytest.param([DirKind.STRAY], 50, SalvageStatus.NOTHING_LACKING, id="no copy"),
    ],
)
def test_an_unfinished_copy_does_not_show_what_the_log_held(
    kinds: list[DirKind], copied: int, expected: SalvageStatus
) -> None:
    replicas = tuple(
        DiskReplica(
            LogDir("/disk", "cluster", 1, "directory"),
            PartitionDir("orders", 0, "id", (Segment(f"/disk/{each}/0.log", 0, 100),), f"/disk/{each}", each),
        )
        for each in kinds
    )
    contents = {
        each.path: SegmentContents(each.path, (EpochRange(0, 0, copied),), ())
        for replica in replicas
        for each in replica.directory.segments
    }
    found = compare_with_leader(Comparable(replicas, STATE), LEADER, contents)
    assert found.status is expected
    assert ("name that directory, too" in found.reason) == (expected is SalvageStatus.FAILED)
