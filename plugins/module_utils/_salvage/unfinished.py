# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Say what keeps a transactional id from being used. Reads only.

1. Its partition of ``__transaction_state`` takes no records: brokers must be started.
2. Its last transaction has not ended. A coordinator answers CONCURRENT_TRANSACTIONS until every partition of that
   transaction has its marker (TransactionCoordinator.prepareInitProducerIdTransit). The producer may ask again at any
   time. The transaction's timeout does not matter: a new producer ends one that is still open.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from .._kafka.cluster import Cluster
from .._kafka.errors import RequestRefusedError
from .._kafka.group_commits import partition_of
from .._kafka.port import Kafka
from .._kafka.transactions import find_gaps, is_ended_by_coordinator
from .._model.partition import TRANSACTIONS_TOPIC, PartitionState, TopicPartition, effective_min_isr
from .._model.reasons import join_first, name_brokers, plural
from .._model.run import KafkaOpsError
from .._model.setting import number_of

_MOST_NAMED = 5
_MIN_ISR = "transaction.state.log.min.isr"

Answer = TypeVar("Answer")
_AS_READINESS_SAYS = " (kafkaops.recovery.check_readiness says whether a disk must be saved before)"


def find_obstacle(kafka: Kafka, transactional_id: str) -> str:
    """Return which brokers must be started before a transactional id can be used. Empty if none is known to be needed.

    Raises KafkaOpsError.
    """
    cluster = kafka.describe_cluster()
    states = {each.partition: each for each in kafka.describe_partitions([TRANSACTIONS_TOPIC]).partitions}
    if not states:
        return _find_obstacle_to_create(kafka, cluster)
    # TransactionStateManager.partitionFor is GroupCoordinatorService.partitionFor.
    state = states.get(partition_of(transactional_id, len(states)))
    down = () if state is None else {*state.replicas} - cluster.unfenced.keys()
    if state is None or not down:
        return ""
    place = f"{state.topic_partition} has transactional id {transactional_id}, and"
    if state.is_offline:
        return f"{place} no leader: start {name_brokers(down)}{_AS_READINESS_SAYS}, or recover it"
    leader = {each: address for each, address in cluster.unfenced.items() if each == state.leader_id}
    min_isrs = _ask(lambda: kafka.min_insync_replicas([TRANSACTIONS_TOPIC], leader)) or {}
    needed = effective_min_isr(min_isrs.get(TRANSACTIONS_TOPIC, 1), len(state.replicas))
    if len(state.isr) >= needed:
        return ""
    start = _start(down, needed - len(state.isr))
    return f"{place} {len(state.isr)} of its replicas in sync where it needs {needed}: {start}"


def _ask(question: Callable[[], Answer]) -> Answer | None:
    """Return the answer. None if our principal may not know it: a replay does not need these rights."""
    try:
        return question()
    except RequestRefusedError:
        return None


def _start(down: Collection[int], count: int) -> str:
    few = f"{count} of " if count < len(down) else ""
    return f"start {few}{name_brokers(down)}{_AS_READINESS_SAYS}"


def _find_obstacle_to_create(kafka: Kafka, cluster: Cluster) -> str:
    """Return the same of a cluster that never had a transaction. Fenced brokers may get replicas of the topic, too."""
    down = cluster.addresses.keys() - cluster.unfenced.keys()
    if not down:
        return ""
    broker_id, address = next(iter(cluster.unfenced.items()))
    needed = number_of(_ask(lambda: kafka.broker_config(address, broker_id, _MIN_ISR))) or 0
    count = needed - len(cluster.unfenced)
    if count <= 0:
        return ""
    replicas = plural(needed, "replica")
    return f"{TRANSACTIONS_TOPIC} will need {replicas} in sync ({_MIN_ISR}): {_start(down, count)}"


def explain_unfinished(kafka: Kafka, transactional_id: str) -> str:
    """Return why a transactional id cannot be used yet. Empty if brokers do not say it. Never raises."""
    try:
        return _explain(kafka, transactional_id)
    except KafkaOpsError as error:
        return str(error)


def _explain(kafka: Kafka, transactional_id: str) -> str:
    if obstacle := find_obstacle(kafka, transactional_id):
        return obstacle
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
