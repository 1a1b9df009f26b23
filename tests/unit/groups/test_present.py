# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Groups of one coordinator are of several types, and a broker may not have the requests of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.present import read_groups
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.groups import Commit, GroupCommits
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    OFFSETS_TOPIC,
    Cause,
    PartitionState,
    TopicPartition,
)
from unit.fakes.answers import one_by_one

_WHY = "it does not have DescribeShareGroupOffsets"


class OldBroker:
    """Coordinates a consumer group and a share group, and has no request about start offsets (as 4.0 does)."""

    in_parallel = staticmethod(one_by_one)

    def group_states(self, _address: Any) -> dict[str, str]:
        return {"billing": "Empty"}

    def share_group_states(self, _address: Any) -> dict[str, str]:
        return {"queue": "Empty"}

    def read_commits(self, _address: Any, groups: Sequence[str]) -> dict[str, GroupCommits]:
        return {each: GroupCommits({TopicPartition("orders", 0): Commit(7)}) for each in groups}

    def share_start_offsets(self, address: Any, _groups: Sequence[str]) -> Any:
        raise BrokerCallError(address, Cause.ERROR, _WHY)


def test_a_share_group_that_cannot_be_read_blocks_no_other_group() -> None:
    kafka: Any = OldBroker()
    cluster: Any = SimpleNamespace(addresses={1: "b:9092"}, unfenced={1: "b:9092"})
    offsets = PartitionState(OFFSETS_TOPIC, 0, "A" * 22, 1, 3, (1,), (1,), None, None, (), is_internal=True)
    found = read_groups(kafka, cluster, [offsets], None, ())
    assert found.answered == {"billing"}
    (unknown,) = found.unknown
    assert unknown.groups == ("queue",)
    assert _WHY in unknown.reason
