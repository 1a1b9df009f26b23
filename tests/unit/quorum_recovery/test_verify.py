# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which brokers are missing after a recovery. Real clusters are in tests/integration/quorum_recovery."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from kafka.protocol.admin import DescribeQuorumResponse

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.verify import verify
from unit.quorum_recovery.disks import VOTERS, Disk, a_plan, topic_record

_SURVIVOR = VOTERS[0]


class FakeWire:
    """A quorum that the survivor leads alone, and the nodes that follow it."""

    def __init__(self, following: tuple[int, ...]) -> None:
        self._following = following

    def call(self, _address: Address, _request: Any) -> Any:
        message = DescribeQuorumResponse
        partition = message.TopicData.PartitionData

        def replica(node_id: int) -> Any:
            return partition.ReplicaState(
                replica_id=node_id,
                log_end_offset=1000,
                last_fetch_timestamp=1,
                last_caught_up_timestamp=1,
                replica_directory_id=None,
            )

        found = partition(
            partition_index=0,
            error_code=0,
            leader_id=_SURVIVOR,
            leader_epoch=9,
            high_watermark=1000,
            current_voters=[replica(_SURVIVOR)],
            observers=[replica(each) for each in self._following],
        )
        return message(topics=[message.TopicData(topic_name="__cluster_metadata", partitions=[found])], nodes=[])


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
    plan = a_plan(Disk(tmp_path).add(topic_record("a")))
    plan = replace(plan, contents=replace(plan.contents, brokers=brokers))
    assert verify(cast(Wire, FakeWire(following)), plan, timeout_ms=0).missing_brokers == missing
