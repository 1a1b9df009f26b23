# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Create the side topics that do not exist. One that cannot be created blocks no other topic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from .._kafka.errors import RequestRefusedError
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._kafka.topics import NewTopic
from .._model.fields import INT64_MAX
from .._model.partition import TopicPartition, grouped
from .replay_progress import ReplayProgressError, create_and_wait
from .saved import SavedRecords
from .targets import Targets, TargetTopic

_NO_LIMIT = str(INT64_MAX - 1)
"""With the greatest number, brokers before 4.0 use message.timestamp.difference.max.ms instead, which is inherited."""
_CONFIG = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "message.timestamp.type": "CreateTime",
    "message.timestamp.before.max.ms": _NO_LIMIT,
    "message.timestamp.after.max.ms": _NO_LIMIT,
}
"""No retention: records keep their old timestamps, so they would expire at once."""


def create_side_topics(
    kafka: Kafka,
    addresses: Mapping[int, Address],
    saved: Iterable[SavedRecords],
    targets: Targets,
    before_each: Callable[[str], None],
) -> dict[str, str]:
    """Create the topics that the records need, and return their ids by name.

    The partitions of a topic that is refused are added to ``targets.refused``, with the reason. ``before_each`` gets
    the name of each topic before it is requested. Raises what it raises, BrokerCallError and NoBrokerAnswersError.
    """
    wanted = grouped(
        (each.topic, each.topic_partition)
        for each in saved
        if each.topic_partition not in targets.refused and each.topic in targets.topics
    )
    ids = {}
    for topic, partitions in sorted(wanted.items()):
        target = targets.topics[topic]
        if target.topic_id is not None:
            continue
        before_each(target.name)
        try:
            ids[target.name] = _create(kafka, addresses, target)
        except (RequestRefusedError, ReplayProgressError) as error:
            targets.refused.update(dict.fromkeys(partitions, f"topic {target.name} could not be created: {error}"))
    return ids


def _create(kafka: Kafka, addresses: Mapping[int, Address], target: TargetTopic) -> str:
    configs = {**_CONFIG, "max.message.bytes": str(target.most_bytes)}
    create_and_wait(kafka, addresses, NewTopic(target.name, target.partitions, target.copies, configs))
    state = kafka.read_partition_state(TopicPartition(target.name, 0))
    if state is None:
        raise ReplayProgressError(f"topic {target.name} was created, and does not exist any more")
    return state.topic_id
