# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Looks at what elections left behind. Reads only: nothing is aborted or reset."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence

from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.addresses import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.cluster import describe_cluster
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.configs import broker_config
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.groups import (
    committed_offsets,
    coordinated_groups,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.list_offsets import log_end_offsets
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.partitions import describe_partitions
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.transactions import open_transactions
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.errors import KafkaOpsError
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.aftermath import (
    Finding,
    Kind,
    most_urgent_first,
    not_known,
    some_of,
    will_truncate,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.outcome import Outcome
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.plan import Status

_TRANSACTION_LIMIT = "transaction.max.timeout.ms"
_GROUPS_TOPIC = "__consumer_offsets"


def look_at_aftermath(wire: Wire, outcomes: Sequence[Outcome]) -> tuple[Finding, ...]:
    """What is left behind on the recovered partitions. What cannot be found out is a finding, never an error."""
    recovered = [each for each in outcomes if each.status is Status.RECOVERED]
    if not recovered:
        return ()
    findings = [finding for each in recovered for finding in will_truncate(each)]
    led: dict[int | None, list[TopicPartition]] = {}
    for outcome in recovered:
        led.setdefault(outcome.leader_after, []).append(outcome.topic_partition)
    try:
        brokers = {each.broker_id: each for each in describe_cluster(wire).registrations}
    except KafkaOpsError as fault:
        return most_urgent_first([*findings, not_known("committed offsets and transactions", fault)])
    ends: dict[TopicPartition, int] = {}
    for leader, partitions in led.items():
        if leader is None or leader not in brokers:
            why = "no leader was seen" if leader is None else f"broker {leader}, which leads them, is not registered"
            findings.append(not_known(f"transactions and log ends of {some_of(partitions, 'partition')}", why))
            continue
        address = brokers[leader].address
        try:
            findings += _open_transactions(wire, address, leader, partitions)
            found = _log_ends(wire, address, partitions)
        except KafkaOpsError as fault:
            findings.append(not_known(f"transactions and log ends on broker {leader}", fault))
            continue
        findings += _untold("the log end", leader, [each for each in partitions if each not in found])
        ends |= found
    findings += _groups_without_coordinator(wire)
    for broker in brokers.values():
        if broker.is_fenced:
            continue
        try:
            findings += _beyond_end(wire, broker.broker_id, broker.address, ends)
        except KafkaOpsError as fault:
            findings.append(not_known(f"groups that broker {broker.broker_id} coordinates", fault))
    return most_urgent_first(findings)


def _open_transactions(
    wire: Wire, address: Address, leader: int, partitions: Collection[TopicPartition]
) -> Iterator[Finding]:
    found = open_transactions(wire, address, partitions)
    yield from _untold("the transactions", leader, [each for each in partitions if each not in found])
    if not any(found.values()):
        return
    limit = broker_config(wire, address, leader, _TRANSACTION_LIMIT)
    limit_ms = int(limit.value) if limit and limit.value else None
    for partition, transactions in found.items():
        for each in transactions:
            # -1, of a broker that does not tell, is no time in 1969.
            age_ms = time.time() * 1000 - each.last_timestamp_ms if each.last_timestamp_ms >= 0 else None
            verdict = (
                f"older than {_TRANSACTION_LIMIT}, so it hangs: see kafka-transactions.sh find-hanging"
                if limit_ms is not None and age_ms is not None and age_ms > limit_ms
                else "its producer may still end it, or it hangs: look again later"
            )
            age = "of unknown age" if age_ms is None else f"{age_ms / 1000:.0f} s old"
            text = (
                f"producer {each.producer_id} has an open transaction from offset {each.start_offset} on, "
                f"{age}; read_committed consumers stop there; {verdict}"
            )
            yield Finding(Kind.OPEN_TRANSACTION, text, partition.topic, partition.partition)


def _log_ends(wire: Wire, address: Address, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
    answers = log_end_offsets(wire.connection(address), partitions)
    return {each: told[0].offset for each, told in answers.items() if len(told) == 1 and not told[0].error_code}


def _untold(what: str, leader: int, partitions: Sequence[TopicPartition]) -> Iterator[Finding]:
    if partitions:
        yield not_known(
            f"{what} of {some_of(partitions, 'partition')}", f"broker {leader}, which leads them, does not tell"
        )


def _groups_without_coordinator(wire: Wire) -> Iterator[Finding]:
    """Groups whose partition of __consumer_offsets has no leader: no broker lists them."""
    try:
        description = describe_partitions(wire, [_GROUPS_TOPIC])
    except KafkaOpsError as fault:
        yield not_known("whether every group has a coordinator", fault)
        return
    # In a cluster without any group the topic does not exist.
    for refusal in description.refused:
        if not refusal.is_unknown:
            yield not_known("whether every group has a coordinator", f"topic {_GROUPS_TOPIC}: {refusal}")
    leaderless = [each.topic_partition for each in description.partitions if each.is_offline]
    if leaderless:
        yield not_known(
            f"groups in {some_of(leaderless, 'partition')}", "these have no leader, and the groups no coordinator"
        )


def _beyond_end(
    wire: Wire, broker_id: int, coordinator: Address, ends: Mapping[TopicPartition, int]
) -> Iterator[Finding]:
    if not ends:
        return
    groups = coordinated_groups(wire, coordinator)
    untold: dict[str, list[str]] = {}
    for group, committed in committed_offsets(wire, coordinator, groups, ends).items():
        if committed.error:
            untold.setdefault(committed.error, []).append(group)
        for partition, offset in committed.offsets.items():
            if offset > ends[partition]:
                text = (
                    f"group {group} committed offset {offset}, {offset - ends[partition]} beyond the log end "
                    f"{ends[partition]}: its consumers are reset by auto.offset.reset, or skip new records "
                    "once the log is longer than that"
                )
                yield Finding(Kind.COMMITTED_BEYOND_END, text, partition.topic, partition.partition)
    for error, some in untold.items():
        yield not_known(f"committed offsets of {some_of(some, 'group')} that broker {broker_id} coordinates", error)
