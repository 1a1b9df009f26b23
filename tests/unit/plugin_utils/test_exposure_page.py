# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a terminal shows of exposure: the disk that is full first, and that nothing was recorded."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._exposure.report import NOTHING_RECORDED
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.exposure_page import blocks, verdict
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.page import Paragraph


def cluster(partitions: int = 9, hours: int | None = None, lately: int | None = None) -> dict[str, Any]:
    lists: dict[str, list[Any]] = {each: [] for each in ("low", "brokers", "cleaners", "racks", "one_rack")}
    size = {"total_bytes": 9, "usable_bytes": 5, "growth_bytes_per_day": -1, "growth_bytes_per_day_lately": 1}
    disk = {"broker_id": 1, "log_dir": "/d", **size, "full_in_hours": hours, "full_in_hours_lately": lately}
    coverage = {"gaps": [], "snapshots": 2, "first": "a", "last": "b", "observed_seconds": 60}
    counts = {f"{each}_partitions": 0 for each in ("low", "below", "offline", "unknown")}
    return {"cluster_id": "c", "partitions": partitions, "coverage": coverage, "disks": [disk], **counts, **lists}


@pytest.mark.parametrize(
    ("hours", "lately", "said"),
    [
        (900, 5, "full in 5 h."),
        (None, 5, "full in 5 h."),  # it shrank over the whole period
        (40, None, "full in 40 h."),
        (None, None, "0 gaps between snapshots."),
    ],
)
def test_the_disk_that_is_full_first_by_either_rate_is_named(hours: int | None, lately: int | None, said: str) -> None:
    assert verdict(cluster(hours=hours, lately=lately)).endswith(said)


@pytest.mark.parametrize("partitions", [0, 9])
def test_recordings_without_a_partition_say_so(partitions: int) -> None:
    shown = blocks({"clusters": [cluster(partitions)], "notes": [], "methods": []})
    said = any(isinstance(each, Paragraph) and each.text == NOTHING_RECORDED for each in shown)
    assert said is (partitions == 0)
