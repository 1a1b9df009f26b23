# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the log of a leader and the one that a salvage was taken from diverge now."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.logs import LogReader
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.cluster import Cluster
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.held_replicas import OffsetAnswer
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    EpochEnd,
    PartitionState,
    TopicPartition,
)

_NAME = TopicPartition("orders", 0)
_STATE = PartitionState("orders", 0, "A" * 22, 2, 3, (1, 2), (1, 2), None, None, ())


class FakeLeader(Kafka):
    """Leads one partition with this lineage."""

    def __init__(self, lineage: Mapping[int, int]) -> None:
        self.lineage = lineage

    def ask_replicas(
        self, addresses: Any, replicas: Iterable[Any], ask: Callable[..., Any], until: float = math.inf
    ) -> Any:
        return {(name, leader): log for name, leader in replicas for log in ask(addresses, [name]).values()}

    def log_start_offsets(self, address: Any, partitions: Sequence[TopicPartition]) -> Any:
        return {each: [OffsetAnswer(0, 0, 3)] for each in partitions}

    def log_end_offsets(self, address: Any, partitions: Sequence[TopicPartition]) -> Any:
        return {each: [OffsetAnswer(0, max(self.lineage.values()), 3)] for each in partitions}

    def epoch_ends(self, address: Any, asked: Mapping[TopicPartition, int]) -> Any:
        ends: dict[str, dict[int, Any]] = {}
        for each, epoch in asked.items():
            ends.setdefault(each.topic, {})[each.partition] = self._end_of(epoch)
        return ends

    def _end_of(self, epoch: int) -> Any:
        newest = max(each for each in self.lineage if each <= epoch)
        return EpochEnd(newest, self.lineage[newest])


@pytest.mark.parametrize(
    ("lineage", "lost_epoch", "expected"),
    [
        pytest.param({1: 2_900, 2: 5_000}, 1, 2_900, id="as when the records were saved"),
        pytest.param({1: 2_500, 3: 5_000}, 1, 2_500, id="another unclean election has lost more since"),
        pytest.param({1: 3_100, 3: 5_000}, 1, 2_900, id="the records are back"),
        pytest.param({1: 2_500, 3: 5_000}, -1, 2_900, id="the epoch of the records is not known"),
    ],
)
def test_an_election_since_the_salvage_moves_the_divergence(
    lineage: dict[int, int], lost_epoch: int, expected: int
) -> None:
    asked = {_NAME: {lost_epoch} - {-1}}
    reader = LogReader(
        FakeLeader(lineage),
        Cluster("cluster", (), lists_fenced=True),
        {_NAME: _STATE},
        asked,
        first_lost={_NAME: 2_900},
        lost_epochs={_NAME: lost_epoch},
        time=None,
    )
    assert reader.read()[_NAME].first_lost == expected
