# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask the controllers for the history of offline partitions, and the survivors for their log ends. Reads only."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from .._kafka.errors import BrokerCallError
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import Broker, BrokerState, PartitionState, TopicPartition
from .._module.connection import Arguments
from .explanation import OutageRow, explain_outage
from .promise import MIN_INSYNC_REPLICAS
from .reading import HistoryLimits, HistoryQuestion, ReadHistory, read_history

HISTORY = Arguments(
    argument_spec={
        "max_bytes": {"type": "int", "default": 256 * 1024 * 1024},
        "max_seconds": {"type": "int", "default": 10},
    }
)


def explain_offline_partitions(
    kafka: Kafka,
    offline: Sequence[PartitionState],
    brokers: Collection[Broker],
    controllers: Sequence[Address],
    params: Mapping[str, Any],
) -> tuple[list[OutageRow], ReadHistory]:
    """Return a row for each offline partition, and what was read of the metadata log.

    ``params`` are those of HISTORY. A survivor that does not answer has no log end.
    """
    states = {each.topic_partition: each for each in offline}
    if not states:
        return [], ReadHistory(None, "")
    log_ends = _read_log_ends(kafka, states, brokers)
    question = HistoryQuestion(
        {each: state.topic_id for each, state in states.items()},
        {each: tuple(log_ends[each]) for each in states},
        (MIN_INSYNC_REPLICAS,),
    )
    limits = HistoryLimits(params["max_bytes"], params["max_seconds"])
    read = read_history(kafka.wire.controller_side, controllers, question, limits)
    return explain_outage(read.history, states, log_ends), read


def _read_log_ends(
    kafka: Kafka, states: Mapping[TopicPartition, PartitionState], brokers: Collection[Broker]
) -> dict[TopicPartition, dict[int, int | None]]:
    """Return the log end offsets of the replicas on brokers that are online. None if a replica does not answer."""
    online = {
        each.broker_id: Address(each.host, each.port)
        for each in brokers
        if each.state is BrokerState.ONLINE and each.host is not None and each.port is not None
    }
    of_broker = {
        broker_id: [each for each, state in states.items() if broker_id in state.replicas] for broker_id in online
    }
    asked = {broker_id: partitions for broker_id, partitions in of_broker.items() if partitions}
    answers = kafka.in_parallel(lambda broker_id: kafka.log_end_offsets(online[broker_id], asked[broker_id]), asked)
    found: dict[TopicPartition, dict[int, int | None]] = {each: {} for each in states}
    for broker_id, partitions in asked.items():
        answer = answers[broker_id]
        for partition in partitions:
            ends = [] if isinstance(answer, BrokerCallError) else answer.get(partition, [])
            is_known = len(ends) == 1 and not ends[0].error_code
            found[partition][broker_id] = ends[0].offset if is_known else None
    return found
