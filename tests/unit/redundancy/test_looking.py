# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a plan is made from is of one moment."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from types import SimpleNamespace
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    PartitionState,
    Reassignment,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._redundancy.looking import look
from ansible_collections.kafkaops.recovery.plugins.module_utils._redundancy.placement import (
    WantedReplicas,
    plan_moves,
)
from unit.redundancy.test_placement import a_broker, a_partition


class FakeKafka:
    """One partition, whose reassignment completes while its log directories are read or before it is listed."""

    def __init__(self, *, completes_first: bool) -> None:
        self.completes_first = completes_first
        self.is_complete = False

    def describe_partitions(self) -> Any:
        done, running = a_partition((1, 4, 6), (1, 4, 6)), a_partition((1, 4, 6, 3, 5), (1, 4, 6))
        found: PartitionState = done if self.is_complete else running
        return SimpleNamespace(partitions=(found,))

    def running_reassignments(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, Reassignment]:
        assert [*partitions] == [TopicPartition("orders", 0)]
        self.is_complete = self.is_complete or self.completes_first
        return {} if self.is_complete else dict.fromkeys(partitions, Reassignment((4, 6), (3, 5)))

    def describe_log_dir_space(self, _address: object) -> tuple[()]:
        self.is_complete = True
        return ()

    def in_parallel(self, ask: Callable[[int], Any], names: Iterable[int]) -> dict[int, Any]:
        return {each: ask(each) for each in names}

    def min_insync_replicas(self, topics: Collection[str]) -> dict[str, int]:
        return dict.fromkeys(topics, 2)

    def hidden_among(self, _topics: object) -> frozenset[str]:
        return frozenset()


def test_a_reassignment_that_completes_meanwhile_leaves_no_lost_replicas() -> None:
    brokers = tuple(a_broker(each, is_up=each not in (3, 5)) for each in range(1, 7))
    cluster = SimpleNamespace(addresses={}, lists_fenced=False, online=lambda _brokers: dict.fromkeys((1, 2, 4, 6)))
    for completes_first in (True, False):
        fake: Any = FakeKafka(completes_first=completes_first)
        found = look(fake, cluster, brokers)  # type: ignore[arg-type]
        assert plan_moves(found, WantedReplicas(lost_brokers=frozenset({3, 5}))) == ((), ())
