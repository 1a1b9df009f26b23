# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bare pairs of a partition and its leader are checked like a file."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.errors import DocumentError
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.designations import read_given_designations


def given(*entries: tuple[str, int, int]) -> dict[str, object]:
    names = ("topic", "partition", "designated_leader")
    partitions = [dict(zip(names, entry, strict=True)) for entry in entries]
    nothing = dict.fromkeys(("plan_file", "plan", "plan_digest", "max_lost_records", "max_estimated_loss"))
    return {**nothing, "partitions": partitions}


def test_valid_pairs_are_returned() -> None:
    assert read_given_designations(given(("t", 0, 3))) == {TopicPartition("t", 0): 3}


@pytest.mark.parametrize(
    "entries",
    [
        [],
        [("t", 0, 3), ("t", 0, 3)],
        [("t", 0, 3), ("t", 0, 2)],
        [("t", -1, 3)],
        [("..", 0, 3)],
        [("t", 0, -1)],
        [("t", 0, 2**31)],
    ],
)
def test_invalid_pairs_are_refused(entries: list[tuple[str, int, int]]) -> None:
    with pytest.raises(DocumentError):
        read_given_designations(given(*entries))
