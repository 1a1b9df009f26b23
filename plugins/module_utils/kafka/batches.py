# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Shapes that Kafka's messages want: partitions grouped by topic, work cut into requests of a bounded size."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition

PARTITIONS_PER_REQUEST = 1000
"""KIP-966's limit. The controller takes at most 10,000 records for one user operation, which this stays well below."""

Item = TypeVar("Item")


def in_batches(items: Sequence[Item], size: int = PARTITIONS_PER_REQUEST) -> Iterator[Sequence[Item]]:
    """Slices of at most ``size`` items, in order; nothing for no items."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Partition numbers by topic, in the order in which they came."""
    grouped: dict[str, list[int]] = defaultdict(list)
    for each in partitions:
        grouped[each.topic].append(each.partition)
    return dict(grouped)
