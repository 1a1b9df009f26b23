# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find what elections leave behind, for a person to act on. Only reads: nothing is aborted or reset."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from .._kafka.errors import BrokerCallError
from .._kafka.port import Kafka
from .._model.partition import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC, Cause, TopicPartition
from .._model.run import KafkaOpsError, garbage_collection_paused
from .aftermath_findings import count_and_name, partition_finding, sort_by_urgency, unknown_finding
from .aftermath_groups import find_commits_to_lost, find_group_findings
from .aftermath_leaders import (
    LeaderLook,
    find_late_leaders,
    find_open_transactions,
    find_unanswered,
    list_led,
    look_at_leaders,
)
from .expected_loss import describe_offsets
from .outcome import AftermathFinding, AftermathKind, Outcome
from .plan import Status, lost_of_live_replicas
from .writability import find_unwritable


@garbage_collection_paused()
def find_aftermath(kafka: Kafka, outcomes: Sequence[Outcome]) -> tuple[AftermathFinding, ...]:
    """Return the findings on the recovered partitions. What cannot be read is a finding too, not an error.

    If the state of groups or transactions may have lost a tail, the partitions that were online are looked at, too.
    """
    recovered = [each for each in outcomes if each.status is Status.RECOVERED]
    unwritable = [*find_unwritable(outcomes)]
    lost = [each.topic_partition for each in outcomes if _is_lost_everywhere(each)]
    if not recovered and not lost:
        return tuple(unwritable)
    findings = [*unwritable, *(finding for each in recovered for finding in find_truncations(each))]
    try:
        brokers = {each.broker_id: each for each in kafka.describe_cluster().registrations}
    except KafkaOpsError as error:
        return sort_by_urgency([*findings, unknown_finding("committed offsets and transactions", error)])
    rolled_back = _find_rolled_back(recovered)
    led: dict[int, list[TopicPartition]] = {}
    findings += _add_recovered(led, brokers, recovered)
    findings += find_late_leaders(kafka, brokers, led)
    if rolled_back:
        findings += _add_online(led, brokers, kafka, recovered)
    looks: dict[int, LeaderLook] = {}
    for leader, found in look_at_leaders(kafka, brokers, led, with_starts=OFFSETS_TOPIC in rolled_back).items():
        if isinstance(found, BrokerCallError):
            findings.append(unknown_finding(f"transactions and log ends on broker {leader}", found))
        else:
            looks[leader] = found
            findings += find_unanswered(leader, found, led[leader])
    findings += find_open_transactions(kafka, brokers, looks)
    ends = {partition: end for each in looks.values() for partition, end in each.ends.items()}
    starts = {partition: start for each in looks.values() for partition, start in each.starts.items()}
    findings += find_group_findings(kafka, brokers, ends, starts, rolled_back)
    findings += find_commits_to_lost(kafka, brokers, lost)
    return sort_by_urgency(findings)


def _is_lost_everywhere(outcome: Outcome) -> bool:
    """Return whether the operator declared all replicas lost: the partition can only begin again, at offset 0."""
    given_up = {each.broker_id for each in outcome.silent if each.cause is Cause.GIVEN_UP}
    return outcome.status is Status.UNRECOVERABLE and bool(given_up) and given_up == {*outcome.replicas}


def _add_recovered(
    led: dict[int, list[TopicPartition]], brokers: Collection[int], recovered: Sequence[Outcome]
) -> Iterator[AftermathFinding]:
    """Add the recovered partitions to ``led`` by their leader, and yield those whose leader cannot be asked."""
    unseen: dict[int | None, list[TopicPartition]] = {}
    for outcome in recovered:
        leader = outcome.leader_after
        if leader is not None and leader in brokers:
            led.setdefault(leader, []).append(outcome.topic_partition)
        else:
            unseen.setdefault(leader, []).append(outcome.topic_partition)
    for leader, partitions in unseen.items():
        why = "no leader was seen" if leader is None else f"broker {leader}, which leads them, is not registered"
        what = f"transactions and log ends of {count_and_name(partitions, 'partition')}"
        yield unknown_finding(what, why)


def _add_online(
    led: dict[int, list[TopicPartition]], brokers: Collection[int], kafka: Kafka, recovered: Sequence[Outcome]
) -> Iterator[AftermathFinding]:
    """Add all other partitions with a leader to ``led``, and yield a finding if they cannot be read."""
    try:
        others = list_led(kafka, {each.topic_partition for each in recovered})
    except KafkaOpsError as error:
        yield unknown_finding("transactions and committed offsets in partitions that were online", error)
        return
    for leader, partitions in others.items():
        if leader in brokers:
            led.setdefault(leader, []).extend(partitions)


def _find_rolled_back(recovered: Sequence[Outcome]) -> dict[str, set[int]]:
    """Return the partitions with the state of clients whose election may have lost records, by topic."""
    found: dict[str, set[int]] = {}
    for each in recovered:
        if each.topic in (OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARE_STATE_TOPIC):
            loss = each.loss_of(each.leader_after)
            if loss is None or loss.at_most != 0:
                found.setdefault(each.topic, set()).add(each.partition)
    return found


def find_truncations(outcome: Outcome) -> Iterator[AftermathFinding]:
    """Yield the replicas that hold, or may hold, records that the new leader does not hold.

    A dropped replica does not truncate: its broker renames the log directory when it starts (LogManager.loadLog).
    """
    for broker_id in outcome.dropped:
        text = (
            f"replica {broker_id} was dropped: if its broker starts with its old disk, the copy becomes a directory "
            "that ends in -stray, which Kafka does not read: kafkaops.recovery.salvage_logs saves what it alone holds"
        )
        yield partition_finding(AftermathKind.DROPPED, text, outcome.topic_partition)
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
                    "does not have"
                )
                if loss.bounded_seconds is None:  # else the loss says in which time that was written
                    text += "; how much that is, is unknown"
            else:
                continue
            yield partition_finding(AftermathKind.WILL_TRUNCATE, text, outcome.topic_partition)
