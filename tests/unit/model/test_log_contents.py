# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ranges of offsets with a leader epoch are added, subtracted and intersected as sets of records are."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import (
    EpochRange,
    Stretches,
    intersect,
    subtract,
    union,
)

RANGES = st.lists(
    st.builds(
        lambda epoch, start, size: EpochRange(epoch, start, start + size),
        st.integers(0, 2),
        st.integers(0, 20),
        st.integers(1, 8),
    ),
    max_size=6,
)
"""In any order, some of them overlapping: what segments and other salvages hold."""


def records(ranges: Iterable[EpochRange]) -> set[tuple[int, int]]:
    return {(each.epoch, offset) for each in ranges for offset in range(each.start_offset, each.end_offset)}


def assert_sorted_and_apart(found: Stretches) -> None:
    assert [*found] == sorted(found)
    for one, following in pairwise(found):
        assert one.epoch < following.epoch or one.end_offset <= following.start_offset
    assert all(each.records > 0 for each in found)


@given(RANGES, RANGES)
def test_ranges_are_added_subtracted_and_intersected_as_sets(one: list[EpochRange], other: list[EpochRange]) -> None:
    mine, theirs = union([one]), union([other])
    found = {
        "union": (union([one, other]), records(one) | records(other)),
        "subtract": (subtract(mine, other), records(one) - records(other)),
        "intersect": (intersect(one, theirs), records(one) & records(other)),
    }
    for stretches, expected in found.values():
        assert records(stretches) == expected
        assert_sorted_and_apart(stretches)
