# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask all leaders after elections what clients left in their logs. Only reads.

After the loss of a tail of __transaction_state, a transaction may be open in a partition that never went offline,
because its coordinator has forgotten it. After the loss of a tail of __consumer_offsets or __share_group_state, groups
may stand at offsets that no log has, in any topic. So after such an election all leaders are asked, in parallel, for
at most ``_MOST_S`` seconds; else only those of the partitions that were recovered.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from .._kafka.cluster import Registration
from .._kafka.errors import BrokerCallError
from .._kafka.held_replicas import known_offsets
from .._kafka.port import Kafka
from .._kafka.transactions import CoordinatedTransactions, OpenTransaction, find_gaps, is_ended_by_coordinator
from .._model.partition import TRANSACTIONS_TOPIC, TopicPartition, grouped, in_batches
from .._model.run import KafkaOpsError
from .aftermath_findings import count_and_name, partition_finding, unknown_finding
from .outcome import AftermathFinding, AftermathKind

_MOST_S = 30.0


@dataclass(slots=True)
class LeaderLook:
    """What one leader answered about its partitions."""

    transactions: dict[TopicPartition, tuple[OpenTransaction, ...]] = field(default_factory=dict)
    ends: dict[TopicPartition, int] = field(default_factory=dict)
    starts: dict[TopicPartition, int] = field(default_factory=dict)
    unasked: int = 0
    """Partitions that it was not asked about, because the time was over."""


def look_at_leaders(
    kafka: Kafka, brokers: Mapping[int, Registration], led: Mapping[int, Sequence[TopicPartition]], *, with_starts: bool
) -> dict[int, LeaderLook | BrokerCallError]:
    """Ask each leader for open transactions, log ends and, if wanted, log starts of its partitions. In parallel."""
    deadline = kafka.clock.monotonic() + _MOST_S

    def look(leader: int) -> LeaderLook:
        address, found = brokers[leader].address, LeaderLook()
        for batch in in_batches(led[leader]):
            if kafka.clock.monotonic() > deadline:
                found.unasked += len(batch)
                continue
            found.transactions |= kafka.open_transactions(address, batch)
            found.ends |= known_offsets(kafka.log_end_offsets(address, batch))
            if with_starts:
                found.starts |= known_offsets(kafka.log_start_offsets(address, batch))
        return found

    return kafka.in_parallel(look, led)


def find_late_leaders(
    kafka: Kafka, brokers: Mapping[int, Registration], led: Mapping[int, Sequence[TopicPartition]]
) -> Iterator[AftermathFinding]:
    """Yield the leaders that apply metadata late: they do not know yet that they are elected."""
    for leader, lacks in kafka.find_late({each: brokers[each].address for each in led}).items():
        why = (
            f"broker {leader}, which leads them by the metadata, applies metadata late, and refuses records until it "
            f"has applied the election: {lacks}"
        )
        yield unknown_finding(f"whether clients can use {count_and_name(led[leader], 'partition')}", why)


def find_unanswered(leader: int, found: LeaderLook, wanted: Sequence[TopicPartition]) -> Iterator[AftermathFinding]:
    """Yield what one leader did not answer. ``wanted`` are the partitions that it was to be asked about."""
    for what, answered in (("the transactions", found.transactions), ("the log end", found.ends)):
        missing = [each for each in wanted if each not in answered]
        if missing:
            why = f"broker {leader}, which leads them, does not report it"
            if found.unasked:
                why = f"{found.unasked} were not asked for within {_MOST_S:.0f} s, and broker {leader} leads them"
            yield unknown_finding(f"{what} of {count_and_name(missing, 'partition')}", why)


def find_open_transactions(
    kafka: Kafka, brokers: Mapping[int, Registration], looks: Mapping[int, LeaderLook]
) -> Iterator[AftermathFinding]:
    """Yield the open transactions, each with who ends it. Coordinators are asked only if there is one."""
    found = [
        (partition, each)
        for look in looks.values()
        for partition, transactions in look.transactions.items()
        for each in transactions
    ]
    if not found:
        return
    coordinated = _list_coordinated(kafka, brokers)
    servers = ",".join(map(str, kafka.settings.bootstrap_servers))
    if coordinated.error and any(each.producer_id not in coordinated.transactions for _partition, each in found):
        yield unknown_finding("which transactions coordinators still know", coordinated.error)
    for partition, each in found:
        text = _describe_transaction(partition, each, coordinated, servers)
        yield partition_finding(AftermathKind.OPEN_TRANSACTION, text, partition)


def _list_coordinated(kafka: Kafka, brokers: Mapping[int, Registration]) -> CoordinatedTransactions:
    """Return the transactions of all coordinators, and why some may be missing."""
    live = {each.broker_id: each.address for each in brokers.values() if not each.is_fenced}

    def ask(broker_id: int) -> CoordinatedTransactions:
        found = kafka.coordinated_transactions(live[broker_id])
        return replace(found, error=found.error or kafka.why_ids_may_be_hidden(live[broker_id]))

    found: dict[int, tuple[str, str]] = {}
    failed, hidden = [], dict[str, None]()
    for each in kafka.in_parallel(ask, live).values():
        if isinstance(each, BrokerCallError):
            failed.append(str(each))
        else:
            found |= each.transactions
            hidden |= {each.error: None} if each.error else {}
    failed += hidden
    try:
        failed += find_gaps(kafka.describe_partitions([TRANSACTIONS_TOPIC]), lambda each: each.leader_id in live)
    except KafkaOpsError as error:
        failed.append(str(error))
    return CoordinatedTransactions(found, "; ".join(failed))


def _describe_transaction(
    partition: TopicPartition, found: OpenTransaction, coordinated: CoordinatedTransactions, servers: str
) -> str:
    # -1 means that the broker does not know the time.
    age_ms = time.time() * 1000 - found.last_timestamp_ms if found.last_timestamp_ms >= 0 else None
    known = coordinated.transactions.get(found.producer_id)
    end = (
        "its COMMIT marker may be lost, so first let kafkaops.recovery.restore_groups look with a salvage of the "
        "former leader's disks. "
        f"If they have none, abort it: kafka-transactions.sh --bootstrap-server {servers} abort "
        f"--topic {partition.topic} --partition {partition.partition} --start-offset {found.start_offset}"
    )
    if known and is_ended_by_coordinator(known[1]):
        verdict = (
            f"its coordinator lists it as {known[1]} (transactional id {known[0]}): its producer or its timeout ends it"
        )
    elif known or not coordinated.error:
        what = (
            f"its coordinator lists transactional id {known[0]} as {known[1]}, so nothing ends it"
            if known
            else "no coordinator lists it, so nothing ends it"
        )
        verdict = f"{what}: {end}"
    else:
        # Its age proves nothing: its producer dates its records, and two-phase commit (KIP-939) has no time limit.
        verdict = "its producer may still end it, or it hangs: look again later"
    age = "of unknown age" if age_ms is None else f"{age_ms / 1000:.0f} s old"
    return (
        f"producer {found.producer_id} has an open transaction from offset {found.start_offset} on, {age}; "
        f"read_committed consumers stop there; {verdict}"
    )


def list_led(kafka: Kafka, without: Collection[TopicPartition]) -> dict[int, list[TopicPartition]]:
    """Return all partitions by their leader, except these. Raises KafkaOpsError."""
    return grouped(
        (each.leader_id, each.topic_partition)
        for each in kafka.describe_partitions().partitions
        if not each.is_offline and each.topic_partition not in without
    )
