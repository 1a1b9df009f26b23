# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Say what keeps a transactional id from being used: its last transaction has not ended. Reads only.

A coordinator answers CONCURRENT_TRANSACTIONS until every partition of that transaction has its marker, and until its
own topic takes records (TransactionCoordinator.prepareInitProducerIdTransit). The producer may ask again at any time.
The transaction's timeout does not matter: a new producer ends one that is still open.
"""

from __future__ import annotations

from collections.abc import Mapping

from .._kafka.port import Kafka
from .._kafka.transactions import find_gaps, is_ended_by_coordinator
from .._model.partition import TRANSACTIONS_TOPIC, PartitionState, TopicPartition
from .._model.reasons import join_first
from .._model.run import KafkaOpsError

_MOST_NAMED = 5


def explain_unfinished(kafka: Kafka, transactional_id: str) -> str:
    """Return why a transactional id cannot be used yet. Empty if brokers do not say it. Never raises."""
    try:
        return _explain(kafka, transactional_id)
    except KafkaOpsError as error:
        return str(error)


def _explain(kafka: Kafka, transactional_id: str) -> str:
    unfenced = kafka.describe_cluster().unfenced
    described = kafka.describe_partitions([TRANSACTIONS_TOPIC])
    gaps = [*find_gaps(described, lambda each: each.leader_id in unfenced)]
    if gaps:
        return "; ".join(gaps)

    def ask(broker_id: int) -> tuple[str, frozenset[TopicPartition]] | None:
        address = unfenced[broker_id]
        known = kafka.coordinated_transactions(address).transactions.values()
        state = next((state for name, state in known if name == transactional_id), None)
        if state is None or not is_ended_by_coordinator(state):
            return None
        places = kafka.transaction_partitions(address, [transactional_id])
        return state, places.get(transactional_id, frozenset())

    for broker_id, answer in kafka.in_parallel(ask, unfenced).items():
        if isinstance(answer, tuple):
            state, places = answer
            return (
                f"its last transaction is {state}, and its coordinator, broker {broker_id}, waits for "
                f"{_describe(kafka, places) or 'its own topic'}"
            )
    return ""


def _describe(kafka: Kafka, places: frozenset[TopicPartition]) -> str:
    found = kafka.describe_partitions({each.topic for each in places}).partitions if places else ()
    states = {each.topic_partition: each for each in found}
    return join_first([_describe_place(each, states) for each in sorted(places)], _MOST_NAMED)


def _describe_place(place: TopicPartition, states: Mapping[TopicPartition, PartitionState]) -> str:
    state = states.get(place)
    if state is None:
        return str(place)
    return f"{place} ({'it has no leader: recover it first' if state.is_offline else f'leader {state.leader_id}'})"
