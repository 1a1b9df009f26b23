# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find transactions that nothing ends. Only reads.

A lost tail of __transaction_state makes a coordinator forget a transaction. Its records stay open in partitions that
never went offline, and read_committed consumers stand still there.

1. All leaders are asked for open transactions, in parallel, for at most ``_MOST_S`` seconds.
2. If there is one, all brokers are asked which transactions they coordinate, and for which partitions.
3. A leader is asked again about the transactions that no coordinator has. One that ended meanwhile is left out: it was
   open while the coordinators were asked, if its start offset is the same before and after.

Coordinators hide transactional ids that our principal may not DESCRIBE. A transaction of such an id may live for any
time: the times of its records are its producer's own, and one with two-phase commit (KIP-939) has no limit. So it
counts as hanging only if coordinators hide none. And its newest record must be older than transaction.max.timeout.ms:
a coordinator that had it would have ended it.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from .._kafka.cluster import Cluster
from .._kafka.port import Kafka
from .._kafka.transactions import TRANSACTION_LIMIT, LostMarker, OpenTransaction, find_gaps, is_ended_by_coordinator
from .._model.partition import TRANSACTIONS_TOPIC, TopicPartition, grouped
from .._model.reasons import join_first, name_brokers, name_partitions, plural
from .plan import MOST_NAMED, Ending, TransactionStep, UnknownCommits

_MOST_S = 30.0


@dataclass(slots=True)
class TransactionLook:
    """What a look found about open transactions."""

    open: dict[tuple[TopicPartition, int], OpenTransaction] = field(default_factory=dict)
    """The transactions that no coordinator has, by partition and producer id."""
    leaders: dict[TopicPartition, int] = field(default_factory=dict)
    unanswered: set[TopicPartition] = field(default_factory=set)
    """Partitions whose open transactions are not known."""
    unknown: list[UnknownCommits] = field(default_factory=list)
    missing: str = ""
    """Why a coordinator may have one of them. Empty if all coordinators answered."""
    markers: Mapping[tuple[TopicPartition, int], LostMarker] = field(default_factory=dict)
    """Markers that the salvage has and the logs lack, by partition and producer id."""
    limit_ms: int | None = None
    """The largest transaction.max.timeout.ms of all brokers. None if it is not known."""
    now_ms: float = field(default_factory=lambda: time.time() * 1000)
    """When that was, by the active controller's clock if it is known: producers may be on other hosts than this one."""

    @property
    def steps(self) -> Iterator[TransactionStep]:
        """Yield the transactions, in order of topic, partition and producer."""
        for (name, producer), each in sorted(self.open.items(), key=lambda item: item[0]):
            yield TransactionStep(
                topic=name.topic,
                partition=name.partition,
                producer_id=producer,
                start_offset=each.start_offset,
                last_timestamp_ms=each.last_timestamp_ms if each.last_timestamp_ms >= 0 else None,
                ending=_ending(each, self.markers.get((name, producer))),
            )


def _ending(transaction: OpenTransaction, marker: LostMarker | None) -> Ending:
    """Return how a transaction ended in the log of the former leader.

    The two logs are the same up to the first offset that is lost. So a transaction that is open there is the one that
    the producer's next marker ended. A broker never writes a marker of an older producer epoch (KIP-360).
    """
    if (
        marker is None
        or transaction.start_offset >= marker.first_lost
        or transaction.producer_epoch > marker.producer_epoch
    ):
        return Ending.NOT_KNOWN
    return Ending.COMMIT if marker.is_commit else Ending.ABORT


def look_at_transactions(  # noqa: PLR0917 - what is known of the cluster and of the salvage
    kafka: Kafka,
    cluster: Cluster,
    leaders: Mapping[TopicPartition, int],
    wanted: Collection[TopicPartition] | None,
    offline: Sequence[TopicPartition] = (),
    markers: Mapping[tuple[TopicPartition, int], LostMarker] = MappingProxyType({}),
) -> TransactionLook:
    """Look at these partitions, or at all.

    ``leaders`` has every partition with a leader, and ``offline`` those without one that were to be looked at.
    ``markers`` are those that the salvage has and the logs lack, by partition and producer id.

    Raises BrokerCallError or RequestRefusedError.
    """
    asked = {name: leader for name, leader in leaders.items() if wanted is None or name in wanted}
    found = TransactionLook(leaders=asked, markers=markers)
    if offline:
        why = (
            f"open transactions in {join_first(offline, MOST_NAMED)}, {plural(len(offline), 'partition')}: they "
            "have no leader"
        )
        found.unknown.append(UnknownCommits((), why))
    found.open = _ask_leaders(kafka, cluster, asked, found)
    if not found.open:
        return found
    owned, missing = _ask_coordinators(kafka, cluster, leaders, {producer for _name, producer in found.open})
    if missing:
        found.missing = "; ".join(missing)
        found.unknown.append(UnknownCommits((), f"which transactions coordinators have: {found.missing}"))
    candidates = {key: each for key, each in found.open.items() if key not in owned}
    again = _ask_leaders(kafka, cluster, {name: leaders[name] for name, _producer in candidates}, found)
    # One whose leader does not answer any more may hang: it stays, as unknown (end.py).
    again |= {key: each for key, each in candidates.items() if key[0] in found.unanswered}
    found.open = {
        key: again[key]
        for key, each in candidates.items()
        if key in again and again[key].start_offset == each.start_offset
    }
    if found.open:
        found.missing = "; ".join(filter(None, [found.missing, *_explain_hidden(kafka, cluster)]))
        limits = kafka.broker_numbers(cluster.unfenced, TRANSACTION_LIMIT)
        known = [each for each in limits if each is not None]
        found.limit_ms = max(known) if known and len(known) == len(limits) else None
        if (now := kafka.cluster_time()) is not None:
            found.now_ms = now.timestamp() * 1000
    return found


def _explain_unanswered(
    kafka: Kafka, leaders: Mapping[TopicPartition, int], unanswered: Collection[TopicPartition]
) -> Iterator[str]:
    """Yield why leaders did not report these partitions: a missing ACL, or no answer."""
    access = kafka.topic_operations(sorted({each.topic for each in unanswered}))
    lacking = {topic for topic, each in access.items() if "READ" not in each.operations}
    if lacking:
        yield f"our principal needs READ on topics {join_first(sorted(lacking), MOST_NAMED)}"
    silent = {leaders[each] for each in unanswered if each.topic not in lacking}
    if silent:
        yield f"no answer from leaders {join_first(sorted(silent), MOST_NAMED)}"


def _ask_leaders(
    kafka: Kafka, cluster: Cluster, leaders: Mapping[TopicPartition, int], look: TransactionLook
) -> dict[tuple[TopicPartition, int], OpenTransaction]:
    """Return the open transactions, and note the partitions without an answer."""
    until = kafka.clock.monotonic() + _MOST_S
    answers = kafka.ask_replicas(cluster.addresses, sorted(leaders.items()), kafka.open_transactions, until)
    if unanswered := leaders.keys() - {name for name, _leader in answers}:
        look.unanswered |= unanswered
        why = "; ".join(_explain_unanswered(kafka, leaders, unanswered))
        look.unknown.append(UnknownCommits((), f"open transactions of {name_partitions(unanswered)}: {why}"))
    return {(name, each.producer_id): each for (name, _leader), found in answers.items() for each in found}


def _ask_coordinators(
    kafka: Kafka, cluster: Cluster, leaders: Mapping[TopicPartition, int], producers: Collection[int]
) -> tuple[set[tuple[TopicPartition, int]], list[str]]:
    """Return the open transactions that coordinators end, by partition and producer id, and why some may be missing."""
    described = kafka.describe_partitions([TRANSACTIONS_TOPIC])
    missing = [
        *find_gaps(described, lambda each: each.leader_id in cluster.unfenced and each.topic_partition in leaders)
    ]
    owned: set[tuple[TopicPartition, int]] = set()

    def ask(broker_id: int) -> str:
        address = cluster.unfenced[broker_id]
        answer = kafka.coordinated_transactions(address)
        mine = {
            name: producer
            for producer, (name, state) in answer.transactions.items()
            if producer in producers and is_ended_by_coordinator(state)
        }
        described = kafka.transaction_partitions(address, mine) if mine else {}
        owned.update((place, mine[name]) for name, places in described.items() for place in places)
        undescribed = [f"transactional id {each} is not described" for each in mine.keys() - described.keys()]
        return "; ".join(filter(None, [answer.error, *undescribed]))

    for broker_id, problem in kafka.in_parallel(ask, cluster.unfenced).items():
        if problem:
            missing.append(f"broker {broker_id}: {problem}")
    return owned, missing


def _explain_hidden(kafka: Kafka, cluster: Cluster) -> Iterator[str]:
    """Yield why brokers may hide transactional ids from our principal."""
    answers = kafka.in_parallel(lambda each: kafka.why_ids_may_be_hidden(cluster.unfenced[each]), cluster.unfenced)
    for problem, brokers in grouped((str(problem), broker) for broker, problem in answers.items() if problem).items():
        yield f"{name_brokers(brokers)}: {problem}"
