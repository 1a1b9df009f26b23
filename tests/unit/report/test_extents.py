# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which stretches of the logs of a partition are drawn."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.charts import draw_extents
from ansible_collections.kafkaops.recovery.plugins.module_utils._report.extents import Saved, Stretch, compute_extents
from unit.recovery import outages


def test_offsets_that_the_new_leader_lacks_are_lost() -> None:
    logs = compute_extents(outages.recovered(outages.losing(0, lost=5)))
    assert logs is not None
    assert logs.replicas == ("3 leader", "2", "1 silent")
    assert logs.lost == (Stretch("2", 100, 105),)
    assert logs.divergences == (100,)
    assert (logs.first, logs.end, logs.is_cut) == (95, 110, True)
    assert logs.held == (
        Stretch("3 leader", 95, 100, 0),
        Stretch("3 leader", 100, 110, 2),
        Stretch("2", 95, 105, 0),
    )


def test_a_silent_replica_is_unknown_in_the_whole_picture() -> None:
    logs = compute_extents(outages.would_recover(0, behind=5))
    assert logs is not None
    assert logs.unknown == (Stretch("1 silent", logs.first, logs.end),)


def test_equal_logs_are_drawn_whole() -> None:
    logs = compute_extents(outages.would_recover(0, behind=0))
    assert logs is not None
    assert (logs.first, logs.is_cut) == (0, False)
    assert logs.starts == (Stretch("3 leader", 0, 0), Stretch("2", 0, 0))


def test_a_partition_without_answers_has_no_picture() -> None:
    assert compute_extents(replace(outages.would_recover(), candidates=())) is None


def test_saved_offsets_are_framed_on_the_replica_that_held_them() -> None:
    salvages = [Saved((2,), EpochRange(0, 90, 103)), Saved((1,), EpochRange(2, 110, 360))]
    logs = compute_extents(outages.recovered(outages.losing(0, lost=5)), salvages)
    assert logs is not None
    assert logs.saved == (Stretch("2", 95, 103, 0), Stretch("1 silent", 110, 360, 2))
    assert (logs.end, logs.unknown) == (360, (Stretch("1 silent", 95, 360),))


def test_the_elected_replica_has_no_frame() -> None:
    logs = compute_extents(outages.recovered(outages.losing(0, lost=5)), [Saved((3,), EpochRange(2, 100, 110))])
    assert logs is not None
    assert logs.saved == ()


@pytest.mark.parametrize("end", [0, 1, 2, 3])
def test_each_offset_of_a_short_log_has_one_label(end: int) -> None:
    logs = compute_extents(outages.would_recover(0, behind=0))
    assert logs is not None
    drawn = draw_extents(replace(logs, replicas=("3 leader",), held=(), unknown=(), starts=(), end=end), "")
    labels = re.findall(r">(\d+)</text>", drawn)
    assert labels == [*map(str, range(max(end, 1) + 1))]
