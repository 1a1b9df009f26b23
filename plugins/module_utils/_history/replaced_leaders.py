# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find leaders whose disk seems to have been replaced while all other replicas are down. Only reads.

Shared by the survey of a recovery, which must not call such a partition well, and by the readiness checks, which must
not advise to start the other brokers. ``_model.replaced_disk`` suspects them, and ``kept_disk`` clears them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from contextlib import suppress

from .._kafka.base_port import BaseKafka
from .._kafka.cluster import online_addresses
from .._kafka.errors import BrokerCallError
from .._kafka.groups import GroupCommits
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import Broker, PartitionState, TopicPartition
from .._model.replaced_disk import LogBeginning, explain_replaced, leads_alone
from .._model.run import KafkaOpsError
from .kept_disk import find_kept


def find_replaced_leaders(
    base: BaseKafka, states: Collection[PartitionState], brokers: Collection[Broker], lost: Collection[int] = ()
) -> dict[TopicPartition, str]:
    """Return the partitions with such a leader, each with the reason, and those whose leader could not be asked.

    ``lost`` are brokers that the operator declares lost: what a log lacks that ends too early is not on them.

    Sends no request if every partition with a leader has another replica that is not offline. A group whose commits
    cannot be read proves nothing, and is no error.
    """
    kafka = base if isinstance(base, Kafka) else Kafka(base.wire)
    led = {each.topic_partition: each for each in states if leads_alone(each)}
    addresses = online_addresses(brokers)
    to_ask = {state.leader_id for state in led.values()} & addresses.keys()
    asked = {each: _choose(each, states, led) for each in sorted(to_ask)}
    answers = kafka.in_parallel(
        lambda broker_id: kafka.read_log_beginnings(addresses[broker_id], broker_id, asked[broker_id]), asked
    )
    logs: list[LogBeginning] = []
    reasons: dict[TopicPartition, str] = {}
    for broker_id, answer in answers.items():
        if isinstance(answer, BrokerCallError):
            reasons |= {
                each: f"broker {broker_id} leads it alone, and whether its log is on a new disk is not known: {answer}"
                for each, state in led.items()
                if state.leader_id == broker_id
            }
        else:
            logs += answer
    ends = {
        each.topic_partition: each.log_end_offset
        for each in logs
        if each.topic_partition in led and led[each.topic_partition].leader_id == each.broker_id
    }
    commits = _find_commits_beyond(kafka, addresses, ends) if ends else {}
    found = dict(explain_replaced(logs, led, commits, lost))
    suspected = {each: reason for each, reason in found.items() if each not in commits}
    if suspected:
        kept, missing = find_kept(kafka, [led[each] for each in suspected])
        why = f" (the metadata log may know better, but: {missing})" if missing else ""
        found |= {each: reason + why for each, reason in suspected.items()}
        found = {each: reason for each, reason in found.items() if each not in kept}
    return reasons | found


def _choose(
    broker_id: int, states: Collection[PartitionState], led: Mapping[TopicPartition, PartitionState]
) -> list[TopicPartition]:
    """Return the partitions that it leads alone, and its replicas that it cannot have copied from a living leader."""
    return [
        each.topic_partition
        for each in states
        if broker_id in each.replicas
        and (
            each.is_offline
            or (each.leader_id == broker_id and (len(each.replicas) == 1 or each.topic_partition in led))
        )
    ]


def _find_commits_beyond(
    kafka: Kafka, coordinators: Mapping[int, Address], ends: Mapping[TopicPartition, int]
) -> dict[TopicPartition, str]:
    """Return which group committed the greatest offset beyond the end of each of these logs."""
    greatest: defaultdict[TopicPartition, tuple[int, str]] = defaultdict(lambda: (-1, ""))

    def ask(broker_id: int) -> Mapping[str, GroupCommits]:
        address = coordinators[broker_id]
        with suppress(KafkaOpsError):
            return kafka.read_commits(address, [*kafka.group_states(address)], ends)
        return {}

    for committed in kafka.in_parallel(ask, coordinators).values():
        for group, offsets in committed.items() if isinstance(committed, Mapping) else ():
            for partition, offset in offsets.offsets.items():
                greatest[partition] = max(greatest[partition], (offset, group))
    return {
        each: f"group {group} committed offset {offset}, and the log ends at {ends[each]}"
        for each, (offset, group) in greatest.items()
        if offset > ends[each]
    }
