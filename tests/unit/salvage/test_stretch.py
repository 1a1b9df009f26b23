# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Stretches that a disk holds and the leader lacks."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import (
    EpochRange,
    intersect,
    subtract,
    union,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import EpochEnd, ReplicaLog
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.stretch import IncomparableError, find_lacking


def leader(*ends: tuple[int, int], start: int = 0) -> ReplicaLog:
    lineage = tuple(EpochEnd(epoch, end) for epoch, end in ends)
    end = lineage[-1].end_offset if lineage else start
    return ReplicaLog("t", 0, 2, log_start_offset=start, log_end_offset=end, lineage=lineage)


@pytest.mark.parametrize(
    ("leader_log", "held", "lost", "earlier"),
    [
        pytest.param(leader((0, 100)), [(0, 0, 350)], [(0, 100, 350)], [], id="the leader has less"),
        pytest.param(leader((0, 400)), [(0, 0, 350)], [], [], id="the leader has more"),
        pytest.param(leader((0, 100), (2, 500)), [(0, 0, 350)], [(0, 100, 350)], [], id="and has gone on since"),
        pytest.param(
            leader((0, 100), (3, 500)),
            [(0, 0, 100), (1, 100, 150), (2, 150, 180)],
            [(1, 100, 150), (2, 150, 180)],
            [],
            id="epochs that the leader never had",
        ),
        pytest.param(leader((2, 900), start=500), [(0, 0, 350)], [], [(0, 0, 350)], id="retention has passed it by"),
        pytest.param(leader((0, 900), start=500), [(0, 0, 350)], [], [], id="the leader had it"),
        pytest.param(leader((1, 900), start=500), [(1, 400, 600), (2, 600, 650)], [(2, 600, 650)], [], id="both"),
        pytest.param(leader(), [(0, 0, 350)], [(0, 0, 350)], [], id="the leader's log is empty"),
        pytest.param(
            leader((0, 100), (2, 220)),
            [(0, 0, 100), (1, 100, 150), (2, 150, 160)],
            [(1, 100, 150), (2, 150, 160)],
            [],
            id="epoch 2 was given to two leaders, and the disk's began later",
        ),
        pytest.param(
            leader((0, 100), (1, 150), (2, 220)),
            [(0, 0, 100), (2, 100, 160)],
            [(2, 100, 160)],
            [],
            id="epoch 2 was given to two leaders, and the leader's began later",
        ),
        pytest.param(
            leader((0, 105), (2, 220)),
            [(0, 0, 100), (2, 100, 160)],
            [(2, 100, 105)],
            [],
            id="a follower that copied a compacted log knows an epoch from its first batch on",
        ),
        pytest.param(
            leader((0, 100)), [(0, 0, 120), (0, 200, 350)], [(0, 100, 350)], [], id="a missing segment was in the log"
        ),
    ],
)
def test_what_the_leader_lacks(
    leader_log: ReplicaLog,
    held: list[tuple[int, int, int]],
    lost: list[tuple[int, int, int]],
    earlier: list[tuple[int, int, int]],
) -> None:
    reported = find_lacking(leader_log, union([(EpochRange(*each) for each in held)]))
    assert reported.lost == tuple(EpochRange(*each) for each in lost)
    is_unknown = reported.divergence_offset is None
    assert (reported.earlier if is_unknown else ()) == tuple(EpochRange(*each) for each in earlier)


def test_logs_without_epochs_are_not_compared() -> None:
    with pytest.raises(IncomparableError, match="the disk"):
        find_lacking(leader((0, 100)), (EpochRange(-1, 0, 100),))
    with pytest.raises(IncomparableError, match="broker 2, the leader"):
        find_lacking(
            ReplicaLog("t", 0, 2, log_start_offset=0, log_end_offset=100, lineage=()), (EpochRange(0, 0, 100),)
        )


def test_intersection_and_difference() -> None:
    runs = (EpochRange(0, 0, 50), EpochRange(0, 60, 90), EpochRange(1, 90, 95))
    wanted = (EpochRange(0, 40, 100), EpochRange(2, 0, 10))
    assert intersect(runs, wanted) == (EpochRange(0, 40, 50), EpochRange(0, 60, 90))
    assert subtract(wanted, runs) == (EpochRange(0, 50, 60), EpochRange(0, 90, 100), EpochRange(2, 0, 10))


def test_offsets_are_shown_as_first_and_last() -> None:
    assert [each.offsets for each in (EpochRange(0, 15, 16), EpochRange(0, 100, 350))] == ["15", "100 to 349"]
