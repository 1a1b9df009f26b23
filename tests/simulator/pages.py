# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The partitions in one answer to DescribeTopicPartitions."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any

from simulator.world import World


@dataclass
class Page:
    """Partitions from the cursor on, up to the requested number."""

    topics: list[tuple[str, list[int] | None]] = field(default_factory=list)
    """None for a topic that does not exist."""
    following: tuple[str, int] | None = None
    """The start of the next page."""


def page_of(world: World, request: Any) -> Page:
    """Return the page that a DescribeTopicPartitions request asks for."""
    names = sorted(each.name for each in request.topics) or sorted(world.topics)
    start = (request.cursor.topic_name, request.cursor.partition_index) if request.cursor else ("", -1)
    page, left = Page(), request.response_partition_limit
    for name in (each for each in names if each >= start[0]):
        topic = world.topics.get(name)
        if topic is None:
            page.topics.append((name, None))
            continue
        first = start[1] if name == start[0] else 0
        if not left:
            page.following = (name, first)
            break
        begin = bisect_left(topic.numbers, first)
        numbers = topic.numbers[begin : begin + left]
        page.topics.append((name, numbers))
        if begin + left < len(topic.numbers):
            page.following = (name, topic.numbers[begin + left])
            break
        left -= len(numbers)
    return page
