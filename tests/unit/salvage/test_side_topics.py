# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A side topic that is refused blocks no other topic."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import RequestRefusedError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.partitions import Description
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.topics import NewTopic
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import PartitionState, TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.side_topics import create_side_topics
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.targets import Targets, TargetTopic
from unit.salvage.saved import SAVED

_POLICY_VIOLATION = 44


class FakeKafka(Kafka):
    """Creates every topic but that of payments."""

    def __init__(self) -> None:
        self.created: dict[str, PartitionState] = {}

    def create_spread_topic(self, _address: Address, topic: NewTopic) -> str:
        if topic.name.startswith("payments"):
            text = "the policy allows no such name"
            raise RequestRefusedError("CreateTopics", _POLICY_VIOLATION, text, is_transient=False)
        topic_id = f"id of {topic.name}"
        self.created[topic.name] = PartitionState(topic.name, 0, topic_id, 1, 0, (1,), (1,), (), (), ())
        return topic_id

    def describe_partitions(self, names: Any = None, span: Any = None) -> Description:
        return Description(tuple(self.created[each] for each in names), ())

    def read_partition_state(self, partition: TopicPartition) -> PartitionState | None:
        return self.created.get(partition.topic)


def test_a_topic_that_is_refused_is_named_and_the_others_are_created() -> None:
    topics = ("orders", "payments", "returns")
    saved = [replace(SAVED, topic=each, partition=0) for each in topics]
    targets = Targets(
        {each: TargetTopic(f"{each}.salvaged", None, 1, 1, 1000, is_compacted=False, states={}) for each in topics},
        frozenset(),
        {TopicPartition("returns", 0): "it is refused already"},
        frozenset(),
    )
    asked: list[str] = []
    ids = create_side_topics(FakeKafka(), {1: Address("b", 9092)}, saved, targets, asked.append)
    assert ids == {"orders.salvaged": "id of orders.salvaged"}
    assert asked == ["orders.salvaged", "payments.salvaged"]
    assert "topic payments.salvaged could not be created: " in targets.refused[TopicPartition("payments", 0)]
    assert "the policy allows no such name" in targets.refused[TopicPartition("payments", 0)]
