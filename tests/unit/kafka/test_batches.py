# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Batches have every partition once, and no request is too large."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.messages import by_topic
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition, in_batches

partitions = st.builds(TopicPartition, topic=st.sampled_from(["a", "b", "c"]), partition=st.integers(0, 9))


@given(st.lists(st.integers(), max_size=50), st.integers(1, 7))
def test_batches_hold_everything_in_order(items: list[int], size: int) -> None:
    batches = list(in_batches(items, size))
    assert [item for batch in batches for item in batch] == items
    assert all(len(batch) == size for batch in batches[:-1])
    assert all(0 < len(batch) <= size for batch in batches)


def test_a_request_takes_a_thousand_partitions() -> None:
    assert [len(batch) for batch in in_batches(range(2001))] == [1000, 1000, 1]


@given(st.lists(partitions, unique=True))
def test_grouping_by_topic_keeps_partitions_and_their_order(given: list[TopicPartition]) -> None:
    grouped = by_topic(given)
    assert {TopicPartition(topic, number) for topic, numbers in grouped.items() for number in numbers} == set(given)
    for topic, numbers in grouped.items():
        assert numbers == [each.partition for each in given if each.topic == topic]
