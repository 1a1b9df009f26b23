# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find where consumer, streams and share groups stand after elections. Only reads.

The offsets of a consumer or streams group are in __consumer_offsets. A share group's start offsets and acknowledgements
are in __share_group_state (KIP-932, since Kafka 4.2 for all).
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence

from .._kafka.cluster import Registration
from .._kafka.errors import BrokerCallError
from .._kafka.group_commits import partition_of
from .._kafka.groups import GroupCommits
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TopicPartition
from .._model.run import KafkaOpsError
from .aftermath_findings import count_and_name, partition_finding, unknown_finding
from .outcome import AftermathFinding, AftermathKind


def find_group_findings(
    kafka: Kafka,
    brokers: Mapping[int, Registration],
    ends: Mapping[TopicPartition, int],
    starts: Mapping[TopicPartition, int],
    rolled_back: Mapping[str, Collection[int]],
) -> Iterator[AftermathFinding]:
    """Yield the findings on all groups.

    ``ends`` and ``starts`` are the logs' offsets, as far as they are known. ``rolled_back`` are the partitions of
    internal topics that may have lost a tail, by topic.
    """
    count = None
    try:
        description = kafka.describe_partitions([OFFSETS_TOPIC])
    except KafkaOpsError as error:
        yield unknown_finding("whether every group has a coordinator", error)
    else:
        # The topic does not exist in a cluster that never had a group.
        for refusal in description.refused:
            if not refusal.is_unknown:
                yield unknown_finding("whether every group has a coordinator", f"topic {OFFSETS_TOPIC}: {refusal}")
        leaderless = [each.topic_partition for each in description.partitions if each.is_offline]
        if leaderless:
            yield unknown_finding(
                f"groups in {count_and_name(leaderless, 'partition')}",
                "these have no leader, and the groups no coordinator",
            )
        count = len(description.partitions)

    def ask(broker: Registration) -> list[AftermathFinding]:
        found: list[AftermathFinding] = []
        try:
            # What is found before an error counts.
            found.extend(_find_of_coordinator(kafka, broker, ends, starts, rolled_back, count))
        except KafkaOpsError as error:
            found.append(unknown_finding(f"groups that broker {broker.broker_id} coordinates", error))
        return found

    asked = [each for each in brokers.values() if not each.is_fenced and (ends or rolled_back)]
    for found in kafka.in_parallel(ask, asked).values():
        yield from found if isinstance(found, list) else ()


def _find_of_coordinator(  # noqa: PLR0917
    kafka: Kafka,
    broker: Registration,
    ends: Mapping[TopicPartition, int],
    starts: Mapping[TopicPartition, int],
    rolled_back: Mapping[str, Collection[int]],
    offsets_partitions: int | None,
) -> Iterator[AftermathFinding]:
    groups = [*kafka.group_states(broker.address)]
    if lost := rolled_back.get(OFFSETS_TOPIC):
        of_lost = [each for each in groups if offsets_partitions and partition_of(each, offsets_partitions) in lost]
        if of_lost:
            yield AftermathFinding(
                kind=AftermathKind.STATE_LOST,
                explanation=(
                    f"the newest commits of {count_and_name(of_lost, 'group')} may be lost with the tail of "
                    f"{OFFSETS_TOPIC}: their consumers then read records again"
                ),
            )
    yield from _find_commits(kafka, broker, groups, ends, starts)
    share_groups = [*kafka.share_group_states(broker.address)]
    if share_groups:
        if rolled_back.get(SHARE_STATE_TOPIC):
            yield AftermathFinding(
                kind=AftermathKind.STATE_LOST,
                explanation=(
                    f"the newest start offsets and acknowledgements of {count_and_name(share_groups, 'share group')} "
                    f"may be lost with the tail of {SHARE_STATE_TOPIC}: their consumers then get records again"
                ),
            )
        yield from _find_share_offsets(
            kafka, broker.address, share_groups, ends, may_be_forgotten=bool(rolled_back.get(SHARE_STATE_TOPIC))
        )


def _find_commits(
    kafka: Kafka,
    broker: Registration,
    groups: Sequence[str],
    ends: Mapping[TopicPartition, int],
    starts: Mapping[TopicPartition, int],
) -> Iterator[AftermathFinding]:
    if not ends:
        return
    unanswered: dict[str, list[str]] = {}
    for group, committed in kafka.read_commits(broker.address, groups, ends).items():
        if committed.error:
            unanswered.setdefault(committed.error, []).append(group)
        for partition, offset in committed.offsets.items():
            if offset > ends[partition]:
                text = (
                    f"group {group} committed offset {offset}, {offset - ends[partition]} beyond the log end "
                    f"{ends[partition]}: its consumers are reset by auto.offset.reset, or skip new records "
                    "once the log is longer than that"
                )
                yield partition_finding(AftermathKind.COMMITTED_BEYOND_END, text, partition)
            elif offset < starts.get(partition, 0):
                text = (
                    f"group {group} committed offset {offset}, before the log start {starts[partition]}: its consumers "
                    "are reset by auto.offset.reset"
                )
                yield partition_finding(AftermathKind.COMMITTED_BEFORE_START, text, partition)
    for error, some in unanswered.items():
        what = f"committed offsets of {count_and_name(some, 'group')} that broker {broker.broker_id} coordinates"
        yield unknown_finding(what, error)


def find_commits_to_lost(
    kafka: Kafka, brokers: Mapping[int, Registration], lost: Sequence[TopicPartition]
) -> Iterator[AftermathFinding]:
    """Yield the groups whose commits are beyond the end of partitions that can only begin again at offset 0.

    A group coordinator keeps commits to a partition without a leader. It forgets them when the topic is deleted. All
    coordinators are asked in parallel.
    """
    addresses = {each.broker_id: each.address for each in brokers.values() if lost and not each.is_fenced}

    def ask(broker_id: int) -> Mapping[str, GroupCommits]:
        address = addresses[broker_id]
        return kafka.read_commits(address, [*kafka.group_states(address)], lost)

    for broker_id, found in kafka.in_parallel(ask, addresses).items():
        if isinstance(found, BrokerCallError):
            yield unknown_finding(f"commits to lost partitions of groups that broker {broker_id} coordinates", found)
            continue
        for group, committed in found.items():
            if committed.error:
                yield unknown_finding(f"commits of group {group} to lost partitions", committed.error)
            for partition, offset in committed.offsets.items():
                if offset > 0:
                    text = (
                        f"group {group} committed offset {offset}. If the partition begins again with an empty disk, "
                        f"this is {offset} beyond its end: stop the group's consumers first, and reset it with "
                        "kafka-consumer-groups.sh --reset-offsets --to-earliest"
                    )
                    yield partition_finding(AftermathKind.COMMITTED_BEYOND_END, text, partition)


def _find_share_offsets(
    kafka: Kafka,
    coordinator: Address,
    groups: Sequence[str],
    ends: Mapping[TopicPartition, int],
    *,
    may_be_forgotten: bool,
) -> Iterator[AftermathFinding]:
    """Yield the partitions in which a share group stands still: beyond the log end, or without a state.

    Tried on 4.3.1: if the record that initialized a partition is in the lost tail, the group gets nothing from there
    ("Read operation on uninitialized share partition not allowed"), until its offsets are reset.
    """
    servers = ",".join(map(str, kafka.settings.bootstrap_servers))
    for group, found in kafka.share_start_offsets(coordinator, groups).items():
        if found.error:
            yield unknown_finding(f"start offsets of share group {group}", found.error)
        for partition, offset in found.offsets.items():
            if offset > ends.get(partition, offset):
                text = (
                    f"share group {group} starts at offset {offset}, {offset - ends[partition]} beyond the log end "
                    f"{ends[partition]}: {_reset_share_group(servers, group, partition)}"
                )
                yield partition_finding(AftermathKind.COMMITTED_BEYOND_END, text, partition)
        for partition in found.uninitialized if may_be_forgotten else ():
            text = (
                f"share group {group} has no state here, and gets no records: it has never read them, or its state is "
                f"lost; {_reset_share_group(servers, group, partition)}"
            )
            yield partition_finding(AftermathKind.STATE_LOST, text, partition)


def _reset_share_group(servers: str, group: str, partition: TopicPartition) -> str:
    words = (
        *("kafka-share-groups.sh", "--bootstrap-server", servers, "--reset-offsets", "--group", group),
        *("--topic", str(partition.topic), "--to-earliest", "--execute"),
    )
    return f"stop its consumers, and set where it starts, for example: {shlex.join(words)}"
