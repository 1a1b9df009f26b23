# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ranked rows become partitions in order, with candidates best first, and silent replicas."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Cause,
    EpochEnd,
    ReplicaLog,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.candidate import (
    Candidate,
    Flag,
    SilentReplica,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.rows import (
    RankedPartition,
    rank_table,
    read_ranked_partitions,
)
from unit.fakes.brokers import a_log
from unit.recovery.test_ranking import to_table


def collected(*logs: ReplicaLog) -> list[RankedPartition]:
    return [*read_ranked_partitions(rank_table(to_table(logs)))]


def test_a_partition_keeps_all_its_values() -> None:
    [partition] = collected(
        ReplicaLog("t", 0, 9, cause=Cause.HUNG, error="no answer in 5 s"),
        replace(a_log("t", 0, 1), size_bytes=None),
        a_log("t", 0, 2, (5, 10), (7, 20)),
        ReplicaLog("t", 0, 8, cause=Cause.FENCED),
    )
    assert partition == RankedPartition(
        TopicPartition("t", 0),
        (
            Candidate(
                broker_id=2,
                rank=1,
                last_written_epoch=7,
                log_start_offset=0,
                log_end_offset=20,
                lineage=(EpochEnd(5, 10), EpochEnd(7, 20)),
                size_bytes=1,
                flags=(),
                explanation="rank 1: last written epoch 7 is the highest, log end offset 20",
            ),
            Candidate(
                broker_id=1,
                rank=2,
                last_written_epoch=None,
                log_start_offset=0,
                log_end_offset=0,
                lineage=(),
                size_bytes=None,
                flags=(Flag.EMPTY_LOG,),
                explanation="rank 2: no leader epoch, and broker 2 has epoch 7; "
                "its log is empty: electing it empties the partition",
            ),
        ),
        (SilentReplica(9, Cause.HUNG, "no answer in 5 s"), SilentReplica(8, Cause.FENCED, "")),
    )


def test_a_partition_without_an_answer() -> None:
    [partition] = collected(ReplicaLog("t", 0, 1, cause=Cause.HUNG), ReplicaLog("t", 0, 2, log_end_offset=1))
    assert partition.candidates == ()
    assert [(each.broker_id, each.cause) for each in partition.silent] == [(1, Cause.HUNG), (2, Cause.BAD_ANSWER)]


def test_partitions_come_in_order_of_topic_and_number() -> None:
    logs = [a_log(topic, number, 1, (0, 1)) for topic in ("b", "a.b", "a") for number in (10, 9, 2)]
    assert [each.topic_partition for each in collected(*logs)] == [
        TopicPartition(topic, number) for topic in ("a", "a.b", "b") for number in (2, 9, 10)
    ]


def test_no_rows_give_no_partitions() -> None:
    empty = to_table([a_log("t", 0, 1)]).slice(1)
    assert [*read_ranked_partitions(rank_table(empty))] == []
