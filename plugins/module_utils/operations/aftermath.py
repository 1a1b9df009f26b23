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
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.transactions import open_transactions
from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.errors import KafkaOpsError
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.aftermath import Finding, Kind, will_truncate
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.outcome import Outcome
from ansible_collections.kafkaops.recovery.plugins.module_utils.recovery.plan import Status

_TRANSACTION_LIMIT = "transaction.max.timeout.ms"


def look_at_aftermath(wire: Wire, outcomes: Sequence[Outcome]) -> tuple[Finding, ...]:
    """What is left behind on the recovered partitions. What cannot be found out is a finding, never an error."""
    recovered = [each for each in outcomes if each.status is Status.RECOVERED]
    if not recovered:
        return ()
    findings = [finding for each in recovered for finding in will_truncate(each)]
    led: dict[int, list[TopicPartition]] = {}
    for outcome in recovered:
        if outcome.leader_after is not None:
            led.setdefault(outcome.leader_after, []).append(outcome.topic_partition)
    try:
        brokers = {each.broker_id: each for each in describe_cluster(wire).registrations}
    except KafkaOpsError as fault:
        return (*findings, _not_known("committed offsets and transactions", fault))
    ends: dict[TopicPartition, int] = {}
    for leader, partitions in led.items():
        if leader not in brokers:
            continue
        address = brokers[leader].address
        try:
            findings += _open_transactions(wire, address, leader, partitions)
            ends |= _log_ends(wire, address, partitions)
        except KafkaOpsError as fault:
            findings.append(_not_known(f"transactions and log ends on broker {leader}", fault))
    for broker in brokers.values():
        if broker.is_fenced:
            continue
        try:
            findings += _beyond_end(wire, broker.address, ends)
        except KafkaOpsError as fault:
            findings.append(_not_known(f"groups that broker {broker.broker_id} coordinates", fault))
    return tuple(findings)


def _open_transactions(
    wire: Wire, address: Address, leader: int, partitions: Collection[TopicPartition]
) -> Iterator[Finding]:
    found = open_transactions(wire, address, partitions)
    if not any(found.values()):
        return
    limit = broker_config(wire, address, leader, _TRANSACTION_LIMIT)
    limit_ms = int(limit.value) if limit and limit.value else None
    for partition, transactions in found.items():
        for each in transactions:
            age_ms = time.time() * 1000 - each.last_timestamp_ms
            verdict = (
                f"older than {_TRANSACTION_LIMIT}, so it hangs: see kafka-transactions.sh find-hanging"
                if limit_ms is not None and age_ms > limit_ms
                else "its producer may still end it, or it hangs: look again later"
            )
            text = (
                f"producer {each.producer_id} has an open transaction from offset {each.start_offset} on, "
                f"{age_ms / 1000:.0f} s old; read_committed consumers stop there; {verdict}"
            )
            yield Finding(Kind.OPEN_TRANSACTION, text, partition.topic, partition.partition)


def _log_ends(wire: Wire, address: Address, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
    answers = log_end_offsets(wire.connection(address), partitions)
    return {each: told[0].offset for each, told in answers.items() if len(told) == 1 and not told[0].error_code}


def _beyond_end(wire: Wire, coordinator: Address, ends: Mapping[TopicPartition, int]) -> Iterator[Finding]:
    groups = coordinated_groups(wire, coordinator)
    for group, committed in committed_offsets(wire, coordinator, groups, ends).items():
        for partition, offset in committed.items():
            if offset > ends[partition]:
                text = (
                    f"group {group} committed offset {offset}, {offset - ends[partition]} beyond the log end "
                    f"{ends[partition]}: its consumers are reset by auto.offset.reset, or skip new records "
                    "once the log is longer than that"
                )
                yield Finding(Kind.COMMITTED_BEYOND_END, text, partition.topic, partition.partition)


def _not_known(what: str, fault: KafkaOpsError) -> Finding:
    return Finding(Kind.NOT_KNOWN, f"{what}: not known: {fault}")
