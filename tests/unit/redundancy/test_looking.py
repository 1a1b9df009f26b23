# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a plan is made from is of one moment."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.log_dir_space import LogDirSpace
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    PartitionState,
    Reassignment,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._redundancy.cluster_now import (
    DirWithSpace,
    WantedReplicas,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._redundancy.looking import (
    explain_brokers,
    explain_volumes,
    look,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._redundancy.placement import plan_moves
from unit.fakes.clock import FakeClock
from unit.redundancy.test_placement import a_broker, a_cluster, a_partition


class FakeKafka:
    """Two partitions. The reassignment of one completes while log directories are read, or before it is listed."""

    def __init__(self, *, completes_first: bool, behind: int = 0) -> None:
        self.completes_first = completes_first
        self.behind = behind
        self.is_complete = False
        self.log_dirs: dict[int, tuple[LogDirSpace, ...]] = {}
        self.reassignments: dict[TopicPartition, Reassignment] = {}
        self.late: dict[int, str] = {}
        self.clock = FakeClock()

    def describe_partitions(self) -> Any:
        done, running = a_partition((1, 4, 6), (1, 4, 6)), a_partition((1, 4, 6, 3, 5), (1, 4, 6))
        found: PartitionState = running
        if self.is_complete:
            self.behind -= 1
            found = running if self.behind >= 0 else done
        return SimpleNamespace(partitions=(found, a_partition((1, 2, 6), (1, 2, 6), 1)))

    def all_reassignments(self) -> dict[TopicPartition, Reassignment]:
        self.is_complete = self.is_complete or self.completes_first
        if self.reassignments:
            return self.reassignments
        return {} if self.is_complete else {TopicPartition("orders", 0): Reassignment((4, 6), (3, 5))}

    def describe_log_dir_space(self, address: Any) -> tuple[LogDirSpace, ...]:
        self.is_complete = True
        return self.log_dirs.get(address, ())

    def find_late(self, _addresses: object) -> dict[int, str]:
        return self.late

    def in_parallel(self, ask: Callable[[int], Any], names: Iterable[int]) -> dict[int, Any]:
        return {each: ask(each) for each in names}

    def min_insync_replicas(self, topics: Collection[str], _living: object) -> dict[str, int]:
        return dict.fromkeys(topics, 2)

    def hidden_among(self, _topics: object) -> frozenset[str]:
        return frozenset()


def test_running_copies_keep_the_space_that_they_still_need() -> None:
    """A future replica of orders 0 has 30 of 100 bytes, and a reassignment has copied 10 of 100 of orders 1."""
    moved, added = TopicPartition("orders", 0), TopicPartition("orders", 1)
    old = LogDirSpace("/old", "", 1_000, 500, False, {moved: 100}, {})
    new = LogDirSpace("/new", "", 1_000, 500, False, {added: 10}, {moved: 30})
    leader = LogDirSpace("/data", "", 1_000, 500, False, {moved: 90, added: 100}, {})
    fake = FakeKafka(completes_first=False)
    fake.log_dirs = {1: (old, new), 2: (leader,)}
    fake.reassignments = {added: Reassignment((1,), ())}
    cluster = SimpleNamespace(addresses={}, lists_fenced=False, online=lambda _brokers: {1: 1, 2: 2})
    brokers = tuple(a_broker(each, is_up=each < 3) for each in range(1, 7))
    found = look(cast("Any", fake), cast("Any", cluster), brokers)
    assert [(each.path, each.usable_bytes, each.replicas) for each in found.log_dirs[1]] == [
        ("/old", 500, 1),
        ("/new", 500 - 70 - 90, 2),
    ]
    assert [each.usable_bytes for each in found.log_dirs[2]] == [500]

    fake.late = {2: "it lacks 9 records"}
    again = look(cast("Any", fake), cast("Any", cluster), brokers)
    assert again.log_dirs.keys() == {1}
    assert again.why_no_dirs == {2: "it applies metadata late: it lacks 9 records"}
    assert again.sizes[added] == 100, "what it holds is known"


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        (4, "broker 4 was declared lost, and is up: its replicas stay, except the 1 that are offline; 1 of 2 are not"),
        (6, "broker 4 is up, and was not declared lost: 1 replica is offline on it, and not replaced: look at its log"),
    ],
)
def test_a_broker_that_is_up_without_a_log_directory_is_named(lost: int, said: str) -> None:
    states = (
        a_partition((1, 2, 4), (1, 2)),
        a_partition((1, 2, 4), (1, 2), 1)._replace(offline_replicas=()),
        a_partition((1, 2, 4), (1, 2, 4), 2),
    )
    found = a_cluster(*states, down=(6,))
    notes = [*explain_brokers(found, WantedReplicas(lost_brokers=frozenset({lost})))]
    assert any(each.startswith(said) for each in notes), notes


@pytest.mark.parametrize(
    ("a", "b", "is_named"),
    [
        ((1_000, 300, 300), (1_000, 299, 300), True),
        ((1_000, 300, 300), (1_000, 290, 300), False),  # they differ by more than was written in between
        ((1_000, 300, 400), (1_000, 300, 400), False),  # one volume would hold 800, and 700 are used
        ((2_000, 300, 300), (1_000, 300, 300), False),
        ((1_000, 400, 300), (1_000, 400, 300), False),  # it is large enough
    ],
)
def test_log_directories_that_may_be_on_one_volume_are_named_if_it_is_too_small(
    a: tuple[int, int, int], b: tuple[int, int, int], is_named: bool
) -> None:
    dirs = [DirWithSpace(path, *space, 200, 1) for path, space in (("/v/a", a), ("/v/b", b))]
    notes = [*explain_volumes(cast("Any", SimpleNamespace(log_dirs={4: dirs})))]
    assert bool(notes) is is_named
    if is_named:
        assert notes == [
            "broker 4: /v/b, /v/a have the same size and the same free space. If they are on one volume, it is too "
            "small: 299 bytes are free, and 400 are to be copied to it"
        ]


def test_a_reassignment_that_completes_meanwhile_leaves_no_lost_replicas() -> None:
    brokers = tuple(a_broker(each, is_up=each not in (3, 5)) for each in range(1, 7))
    cluster = SimpleNamespace(addresses={}, lists_fenced=False, online=lambda _brokers: dict.fromkeys((1, 2, 4, 6)))
    for fake in (FakeKafka(completes_first=False), *(FakeKafka(completes_first=True, behind=each) for each in (0, 3))):
        found = look(cast("Any", fake), cast("Any", cluster), brokers)
        assert plan_moves(found, WantedReplicas(lost_brokers=frozenset({3, 5}))) == ((), ())
