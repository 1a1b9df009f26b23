# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Many commits of a group are written by several requests: a coordinator writes those of one request in one batch."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.group_commits import write_commits
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.groups import Commit
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition

COORDINATOR = Address("broker-1.invalid", 9092)
_MAX_MESSAGE_BYTES = 1_048_588
_LARGEST_METADATA = "x" * 4096
"""As large as offset.metadata.max.bytes allows by default."""


class FakeCoordinator:
    """Takes all commits but that of partition 7, and keeps the size of the texts in each request."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def call(self, _address: Address, request: Any) -> Any:
        self.sizes.append(0)
        topics = []
        for topic in request.topics:
            self.sizes[-1] += sum(
                len(request.group_id) + len(topic.name) + len(each.committed_metadata) for each in topic.partitions
            )
            numbers = [each.partition_index for each in topic.partitions]
            answers = [SimpleNamespace(partition_index=each, error_code=25 * (each == 7)) for each in numbers]
            topics.append(SimpleNamespace(name=topic.name, partitions=answers))
        return SimpleNamespace(topics=topics)


def commit(count: int, metadata: str = "") -> tuple[FakeCoordinator, dict[TopicPartition, str | None]]:
    coordinator: Any = FakeCoordinator()
    commits = {TopicPartition("orders", each): Commit(each, 4, metadata) for each in range(count)}
    return coordinator, write_commits(coordinator, COORDINATOR, "billing", commits)


def test_a_group_of_thousands_of_partitions_is_written_in_parts() -> None:
    coordinator, answered = commit(12_000)
    assert len(coordinator.sizes) > 1
    assert len(answered) == 12_000
    assert {each for each, problem in answered.items() if problem} == {TopicPartition("orders", 7)}


def test_no_part_is_larger_than_a_batch_may_be() -> None:
    coordinator, _answered = commit(1_000, _LARGEST_METADATA)
    assert max(coordinator.sizes) < _MAX_MESSAGE_BYTES
    assert sum(coordinator.sizes) > _MAX_MESSAGE_BYTES


def test_a_group_of_few_partitions_is_written_at_once() -> None:
    coordinator, _answered = commit(100)
    assert len(coordinator.sizes) == 1
