# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which leader epochs unclean elections began, by the metadata log."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.divergence import LostTail, LostTails
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.lost_tails import find_unclean_elections
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.metadata_history import (
    PartitionHistory,
    PartitionMoment,
)


def _begun(at_ms: int, *, unclean: bool = False, epoch: int | None = None) -> PartitionMoment:
    return PartitionMoment(at_ms, 1, is_unclean=unclean, begins_epoch=True, leader_epoch=epoch)


_ISR_CHANGE = PartitionMoment(5, 1)


@pytest.mark.parametrize(
    ("moments", "expected"),
    [
        pytest.param([], [], id="no change"),
        pytest.param([_begun(1), _begun(2)], [], id="clean"),
        pytest.param([_begun(1, unclean=True)], [(7, 1)], id="the newest epoch is that of now"),
        pytest.param([_begun(1, unclean=True), _ISR_CHANGE, _begun(6)], [(6, 1)], id="one more epoch since"),
        pytest.param(
            [_begun(1, unclean=True), _begun(2), _begun(3, unclean=True), _begun(4)], [(4, 1), (6, 3)], id="two"
        ),
        pytest.param(
            [_begun(1, unclean=True), PartitionMoment(2, 1, leader_epoch=5), _begun(3, epoch=6)],
            [(5, 1)],
            id="a snapshot has the epoch",
        ),
        pytest.param(
            [_begun(1, unclean=True), PartitionMoment(2, 1, is_unclean=True, leader_epoch=7)],
            [(7, 1)],
            id="a snapshot says it again",
        ),
    ],
)
def test_epochs_are_counted_back_from_the_newest(
    moments: Sequence[PartitionMoment], expected: Sequence[tuple[int, int]]
) -> None:
    assert [*find_unclean_elections(PartitionHistory(tuple(moments)), 7)] == expected


def test_what_was_lost_is_found_by_epoch_and_time() -> None:
    lost = LostTails((LostTail(3, 10, 100), LostTail(5, 20, 200)))
    assert [lost.first_lost(epoch, 0) for epoch in (-1, 2, 3, 4, 5)] == [100, 100, 200, 200, None]
    assert [lost.first_lost(-1, since) for since in (10, 11, 21)] == [100, 200, None]


def test_elections_before_the_log_begins_are_not_known() -> None:
    lost = LostTails(begins_at_ms=1_000)
    assert lost.why_not_known(1_000) == ""
    assert lost.why_not_known(999) == "the metadata log says it only since 1970-01-01T00:00:01.000Z"
    assert LostTails(missing="no controller answers").why_not_known(1_000) == "no controller answers"
