# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find what elections leave behind, for a person to act on. Only reads: nothing is aborted or reset."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from .._kafka.cluster import Registration
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import OFFSETS_TOPIC, TopicPartition
from .._model.reasons import join_first
from .._model.run import KafkaOpsError, garbage_collection_paused
from .expected_loss import describe_offsets
from .outcome import AftermathFinding, AftermathKind, Outcome
from .plan import Status, lost_of_live_replicas

_TRANSACTION_LIMIT = "transaction.max.timeout.ms"
_MOST_NAMED = 3

_MOST_URGENT = (
    AftermathKind.COMMITTED_BEYOND_END,
    AftermathKind.OPEN_TRANSACTION,
    AftermathKind.NOT_KNOWN,
    AftermathKind.WILL_TRUNCATE,
    AftermathKind.DROPPED,
)


@garbage_collection_paused()
def find_aftermath(kafka: Kafka, outcomes: Sequence[Outcome]) -> tuple[AftermathFinding, ...]:
    """Return the findings on the recovered partitions. What cannot be read is a finding too, not an error."""
    recovered = [each for each in outcomes if each.status is Status.RECOVERED]
    if not recovered:
        return ()
    findings = [finding for each in recovered for finding in find_truncations(each)]
    led: dict[int | None, list[TopicPartition]] = {}
    for outcome in recovered:
        led.setdefault(outcome.leader_after, []).append(outcome.topic_partition)
    try:
        brokers = {each.broker_id: each for each in kafka.describe_cluster().registrations}
    except KafkaOpsError as error:
        return sort_by_urgency([*findings, unknown_finding("committed offsets and transactions", error)])
    ends: dict[TopicPartition, int] = {}
    for leader, partitions in led.items():
        if leader in brokers:
            findings += _ask_leader(kafka, brokers[leader], partitions, ends)
        else:
            why = "no leader was seen" if leader is None else f"broker {leader}, which leads them, is not registered"
            what = f"transactions and log ends of {count_and_name(partitions, 'partition')}"
            findings.append(unknown_finding(what, why))
    findings += _find_groups_without_coordinator(kafka)
    for broker in brokers.values():
        if broker.is_fenced:
            continue
        try:
            findings += _find_commits_beyond_end(kafka, broker.broker_id, broker.address, ends)
        except KafkaOpsError as error:
            findings.append(unknown_finding(f"groups that broker {broker.broker_id} coordinates", error))
    return sort_by_urgency(findings)


def find_truncations(outcome: Outcome) -> Iterator[AftermathFinding]:
    """Yield the replicas that hold, or may hold, records that the new leader does not hold.

    A dropped replica does not truncate: its broker renames the log directory when it starts (LogManager.loadLog).
    """
    for broker_id in outcome.dropped:
        text = (
            f"replica {broker_id} was dropped: if its broker starts with its old disk, the copy becomes a directory "
            "that ends in -stray, which Kafka does not read: salvage_logs saves what it alone holds"
        )
        yield _partition_finding(AftermathKind.DROPPED, text, outcome.topic_partition)
    for loss in outcome.losses:
        if loss.broker_id != outcome.leader_after:
            continue
        live = lost_of_live_replicas(loss.broker_id, outcome.candidates, outcome.losses)
        for other in loss.against:
            if other.broker_id in outcome.dropped:
                continue
            if lost := live.get(other.broker_id, () if other.answered else other.lost):
                least = "" if other.answered else "at least "
                text = f"replica {other.broker_id} deletes {least}offsets {describe_offsets(lost)} when it follows"
                if other.is_incomparable:
                    text += "; whether it deletes others too is unknown, since it cannot be compared with the leader"
            elif other.is_incomparable:
                text = (
                    f"replica {other.broker_id} cannot be compared with the leader: what it deletes when it follows is "
                    "unknown"
                )
            elif not other.answered:
                text = (
                    f"replica {other.broker_id} did not answer: when its broker returns, it deletes what the leader "
                    "does not have; how much that is, is unknown"
                )
            else:
                continue
            yield _partition_finding(AftermathKind.WILL_TRUNCATE, text, outcome.topic_partition)


def _ask_leader(
    kafka: Kafka, broker: Registration, partitions: Sequence[TopicPartition], ends: dict[TopicPartition, int]
) -> Iterator[AftermathFinding]:
    """Yield the findings on partitions that this broker leads, and add their log ends to ``ends``."""
    leader = broker.broker_id
    try:
        yield from _find_open_transactions(kafka, broker.address, leader, partitions)
        found = _read_log_ends(kafka, broker.address, partitions)
    except KafkaOpsError as error:
        yield unknown_finding(f"transactions and log ends on broker {leader}", error)
        return
    yield from _find_unanswered("the log end", leader, [each for each in partitions if each not in found])
    ends.update(found)


def _find_open_transactions(
    kafka: Kafka, address: Address, leader: int, partitions: Collection[TopicPartition]
) -> Iterator[AftermathFinding]:
    found = kafka.open_transactions(address, partitions)
    yield from _find_unanswered("the transactions", leader, [each for each in partitions if each not in found])
    if not any(found.values()):
        return
    limit = kafka.broker_config(address, leader, _TRANSACTION_LIMIT)
    limit_ms = int(limit.value) if limit and limit.value else None
    for partition, transactions in found.items():
        for each in transactions:
            # -1 means that the broker does not know the time.
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
            yield _partition_finding(AftermathKind.OPEN_TRANSACTION, text, partition)


def _read_log_ends(kafka: Kafka, address: Address, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
    answers = kafka.log_end_offsets(address, partitions)
    return {each: found[0].offset for each, found in answers.items() if len(found) == 1 and not found[0].error_code}


def _find_unanswered(what: str, leader: int, partitions: Sequence[TopicPartition]) -> Iterator[AftermathFinding]:
    if partitions:
        yield unknown_finding(
            f"{what} of {count_and_name(partitions, 'partition')}",
            f"broker {leader}, which leads them, does not report it",
        )


def _find_groups_without_coordinator(kafka: Kafka) -> Iterator[AftermathFinding]:
    """Yield groups whose partition of __consumer_offsets has no leader: no broker lists them."""
    try:
        description = kafka.describe_partitions([OFFSETS_TOPIC])
    except KafkaOpsError as error:
        yield unknown_finding("whether every group has a coordinator", error)
        return
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


def _find_commits_beyond_end(
    kafka: Kafka, broker_id: int, coordinator: Address, ends: Mapping[TopicPartition, int]
) -> Iterator[AftermathFinding]:
    if not ends:
        return
    groups = kafka.coordinated_groups(coordinator)
    unanswered: dict[str, list[str]] = {}
    for group, committed in kafka.committed_offsets(coordinator, groups, ends).items():
        if committed.error:
            unanswered.setdefault(committed.error, []).append(group)
        for partition, offset in committed.offsets.items():
            if offset > ends[partition]:
                text = (
                    f"group {group} committed offset {offset}, {offset - ends[partition]} beyond the log end "
                    f"{ends[partition]}: its consumers are reset by auto.offset.reset, or skip new records "
                    "once the log is longer than that"
                )
                yield _partition_finding(AftermathKind.COMMITTED_BEYOND_END, text, partition)
    for error, some in unanswered.items():
        yield unknown_finding(
            f"committed offsets of {count_and_name(some, 'group')} that broker {broker_id} coordinates", error
        )


def _partition_finding(kind: AftermathKind, explanation: str, about: TopicPartition) -> AftermathFinding:
    return AftermathFinding(kind=kind, topic=about.topic, partition=about.partition, explanation=explanation)


def unknown_finding(what: str, why: object) -> AftermathFinding:
    return AftermathFinding(kind=AftermathKind.NOT_KNOWN, explanation=f"{what}: not known: {why}")


def count_and_name(names: Sequence[object], what: str) -> str:
    """Return the number of names and the first of them as text. ``what`` is the noun in the singular."""
    plural = "" if len(names) == 1 else "s"
    return f"{len(names)} {what}{plural} ({join_first(names, _MOST_NAMED)})"


def sort_by_urgency(findings: Iterable[AftermathFinding]) -> tuple[AftermathFinding, ...]:
    """Sort the findings: first those that affect applications now, last replicas that will truncate."""
    return tuple(sorted(findings, key=lambda each: _MOST_URGENT.index(each.kind)))


def limit_findings(findings: Sequence[AftermathFinding], most: int) -> tuple[AftermathFinding, ...]:
    """Return the first findings; if there are more than ``most``, add a finding with the number of the others."""
    rest = findings[most:]
    if not rest:
        return tuple(findings)
    return (
        *findings[:most],
        AftermathFinding(kind=rest[0].kind, explanation=f"and {len(rest)} more: the report file has all of them"),
    )
