# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which offsets without a saved record compaction removed, and which could not be read."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.log_dir import LogDir, PartitionDir
from ansible_collections.kafkaops.recovery.plugins.module_utils._disk.segment import Damage, DamageKind, Segment
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.finding import (
    DiskFinding,
    DiskReplica,
    FileDamage,
    SalvageStatus,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.gaps import (
    CompactedGaps,
    find_unreadable,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.ledger import Ledger
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.saved import UnreadableOffsets
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.scan import SegmentContents

_SAVED = (EpochRange(5, 100, 120), EpochRange(5, 130, 150), EpochRange(5, 160, 170))
_BETWEEN = EpochRange(5, 118, 131)
_INSIDE = EpochRange(5, 105, 110)
_DAMAGED = [UnreadableOffsets(120, 130, "corrupt")]


def test_a_gap_inside_saved_batches_is_compaction_s_whatever_the_topic_says_now() -> None:
    assert CompactedGaps(_SAVED).has(_INSIDE)
    assert not CompactedGaps(_SAVED).has(EpochRange(6, 105, 110))


def test_a_gap_between_batches_is_compaction_s_only_if_the_topic_is_compacted() -> None:
    assert not CompactedGaps(_SAVED).has(_BETWEEN)
    assert CompactedGaps(_SAVED, is_compacted=True).has(_BETWEEN)


def test_a_gap_inside_a_batch_shows_that_the_topic_is_compacted() -> None:
    gaps = CompactedGaps(_SAVED)
    assert gaps.has(_INSIDE)
    assert gaps.has(_BETWEEN)


def test_a_gap_that_could_not_be_read_is_never_compaction_s() -> None:
    gaps = CompactedGaps(_SAVED, _DAMAGED, is_compacted=True)
    assert not gaps.has(_BETWEEN)
    assert gaps.has(EpochRange(5, 150, 160))


def test_another_salvage_gives_back_what_this_one_could_not_read_of_a_compacted_topic() -> None:
    ledger, gaps = Ledger(), CompactedGaps(_SAVED, _DAMAGED, is_compacted=True)
    for each in _SAVED:
        ledger.add(each, gaps.has)
    assert ledger.settled == (EpochRange(5, 100, 120), EpochRange(5, 130, 170))
    assert Ledger(ledger.settled).find_unsettled(5, 120, 130) == [(120, 130)]


@pytest.mark.parametrize(
    ("damages", "error", "expected"),
    [
        ([], "", []),
        ([Damage(DamageKind.CORRUPT, 0, 9, 120, 130)], "", [UnreadableOffsets(120, 130, "corrupt")]),
        ([Damage(DamageKind.UNREADABLE, 0, 9, 150, None)], "", [UnreadableOffsets(150, 160, "unreadable")]),
        ([Damage(DamageKind.TORN_TAIL, 0, 9, 170, None)], "", []),
        ([], "no such file", [UnreadableOffsets(120, 130, "read_error"), UnreadableOffsets(150, 160, "read_error")]),
    ],
)
def test_what_could_not_be_read_is_told_from_what_compaction_removed(
    damages: Sequence[Damage], error: str, expected: Sequence[UnreadableOffsets]
) -> None:
    lacking = (EpochRange(5, 120, 130), EpochRange(5, 150, 160))
    found = DiskFinding(
        "orders",
        0,
        None,
        None,
        SalvageStatus.WOULD_BE_SAVED,
        lost=(EpochRange(5, 100, 170),),
        unreadable=lacking,
        damages=tuple(FileDamage("a.log", each) for each in damages),
    )
    directory = PartitionDir("orders", 0, None, (Segment("a.log", 100, 9),), "/d/orders-0")
    replica = DiskReplica(LogDir("/d", "c", 1, None), directory)
    contents = {"a.log": SegmentContents("a.log", _SAVED, tuple(damages), error)}
    assert [*find_unreadable(found, [replica], contents)] == expected
