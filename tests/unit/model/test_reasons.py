# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Texts about many partitions fit on a screen."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.reasons import first_ranges, ranges


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([], ""),
        ([7], "7"),
        ([512, 2, 0, 1, 1], "0-2, 512"),
        (range(10_000), "0-9999"),
        (range(0, 24, 2), "0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22"),
        (range(0, 10_000, 2), "0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22 and 4,988 more"),
        ([*range(0, 24, 2), 30, 31, 32], "0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22 and 3 more"),
    ],
)
def test_numbers_are_named_as_ranges_and_the_rest_is_counted(numbers: list[int], text: str) -> None:
    assert first_ranges(numbers) == text


def test_a_complete_list_has_all_ranges() -> None:
    """The HTML report says "all topics", and means all of their partitions."""
    assert ranges(range(0, 200, 2)) == ", ".join(map(str, range(0, 200, 2)))
