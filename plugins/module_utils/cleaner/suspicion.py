# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which copies of compacted partitions are suspicious by their size. Pure functions; standard library only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ansible_collections.kafkaops.recovery.plugins.module_utils.cleaner.diagnosis import CopyTrend, Thresholds
from ansible_collections.kafkaops.recovery.plugins.module_utils.cleaner.facts import Suspect

_OFFSETS = "__consumer_offsets"
_LOOKS_OF_A_TREND = 3


def suspects_of(trends: Iterable[CopyTrend], thresholds: Thresholds) -> tuple[Suspect, ...]:
    """The suspicious ones, ``__consumer_offsets`` first, then the largest first."""
    found = [
        Suspect(
            each.topic,
            each.partition,
            each.broker_id,
            each.log_dir,
            each.last_bytes,
            each.smallest_copy_bytes,
            reason,
        )
        for each in trends
        if (reason := _why(each, thresholds))
    ]
    return in_order(found)


def in_order(suspects: Sequence[Suspect]) -> tuple[Suspect, ...]:
    """``__consumer_offsets`` first: what fails there fails every consumer group."""
    return tuple(
        sorted(
            suspects,
            key=lambda each: (each.topic != _OFFSETS, not each.is_proven, -each.size_bytes, each.topic, each.partition),
        )
    )


def _why(trend: CopyTrend, thresholds: Thresholds) -> str:
    if trend.has_shrunk:
        return ""
    smallest = trend.smallest_copy_bytes
    if (
        smallest is not None
        and trend.last_bytes >= smallest * thresholds.suspect_ratio
        and trend.last_bytes - smallest >= thresholds.suspect_bytes
    ):
        return f"it holds {trend.last_bytes} bytes where the smallest other copy holds {smallest}"
    grown = trend.last_bytes - trend.first_bytes
    if trend.looks >= _LOOKS_OF_A_TREND and trend.others_shrank and grown >= thresholds.suspect_bytes:
        return f"it grew by {grown} bytes in {trend.span_ms} ms and was not compacted, while another copy was"
    return ""
