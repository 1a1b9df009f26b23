# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Outages of any size, with decisions of the code under test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.outage import (
    Estimate,
    IsrChange,
    OutageHistory,
    utc_text,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Broker,
    BrokerState,
    Cause,
    EpochEnd,
    PartitionState,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.reason import because
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import utc_now
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.candidate import (
    Candidate,
    SilentReplica,
    Standing,
    explain_ranks,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.decide import decide
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import Outcome, outcomes_of_plan
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import (
    LeftAlone,
    Plan,
    PlannedElection,
    Status,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Policy, Strategy
from unit.recovery.wreckage import an_offline_partition

ERROR = "DescribeCluster at kafka1.example.com:9092: connection refused"


def brokers(count: int = 3, *, dead: Sequence[int] = (1,)) -> tuple[Broker, ...]:
    """Return this number of brokers on three racks; the dead ones do not answer."""
    return tuple(
        Broker(
            each,
            f"kafka{each}.example.com",
            9092,
            f"rack-{each % 3}",
            each in dead,
            BrokerState.UNREACHABLE if each in dead else BrokerState.ONLINE,
            ERROR.replace("kafka1", f"kafka{each}") if each in dead else "",
            unclean_elections=0,
        )
        for each in range(1, count + 1)
    )


def refused(partition: int = 0, topic: str = "orders") -> Outcome:
    """Return a partition that waits for broker 1, the only member of its ELR."""
    return _outcome(topic, partition, an_offline_partition(elr=(1,), offline=(1,)), ends=(15, 10), strategy="balanced")


def would_recover(partition: int = 0, topic: str = "orders", *, behind: int = 5, start: int = 1) -> Outcome:
    """Return a partition that the best surviving replica would lead. ``behind`` is what the other log lacks."""
    replicas = (1, start + 1, start + 2)
    state = an_offline_partition(replicas=replicas, elr=(1,), offline=(1,))
    end = 1000 + 7 * partition
    return _outcome(topic, partition, state, ends=(end, end - behind), strategy="aggressive")


def losing(partition: int = 0, topic: str = "orders", *, lost: int = 5) -> Outcome:
    """Return a partition whose new leader lacks records of the epoch before its own."""
    state = an_offline_partition(elr=(1,), offline=(1,), partition=partition)
    candidates = ranked([(3, ((0, 100), (2, 110))), (2, ((0, 100 + lost),))])
    return _decided(state._replace(topic=topic), candidates, "aggressive")


def recovered(outcome: Outcome) -> Outcome:
    """Return the same partition after its election."""
    return replace(
        outcome,
        status=Status.RECOVERED,
        leader_after=outcome.designated_leader,
        leader_epoch_after=(outcome.leader_epoch_before or 0) + 1,
        replicas_after=outcome.replicas,
        isr_after=(outcome.designated_leader or 0,),
        required_isr=1,
    )


def already_online(partition: int, topic: str = "orders") -> Outcome:
    """Return a partition that has a leader."""
    return Outcome(
        topic,
        partition,
        Status.ALREADY_ONLINE,
        "broker 2 leads it",
        leader_before=2,
        leader_after=2,
        leader_epoch_before=4,
        leader_epoch_after=4,
        replicas=(2, 3, 1),
        isr=(2, 3, 1),
        elr=(),
        last_known_elr=(),
    )


def failed(partition: int, topic: str = "orders") -> Outcome:
    """Return a partition whose election was not carried out."""
    return replace(
        would_recover(partition, topic), status=Status.FAILED, reason=because("no broker carried the election out")
    )


def fourteen() -> tuple[Outcome, ...]:
    """Return twelve recovered partitions, two of them with lost records, and two that wait for broker 1."""
    return (
        *(recovered(would_recover(each)) for each in range(9)),
        recovered(losing(9, lost=300)),
        recovered(losing(10, lost=40)),
        recovered(would_recover(12)),
        refused(0, "payments"),
        refused(1, "payments"),
    )


def three_thousand() -> tuple[Outcome, ...]:
    """Return an outage of a large cluster: 300 topics with replicas on 20 brokers."""
    return tuple(_many())


def with_history(outcome: Outcome, seconds: int) -> Outcome:
    """Return the same partition, of which the metadata log says how long broker 1 led alone."""
    estimate = Estimate(10 * seconds, 5 * seconds, 30 * seconds, "10 records/s")
    lost_ms = 1_795_816_550_000
    alone_since, lost_at = utc_text(lost_ms - 1000 * seconds) or "", utc_text(lost_ms) or ""
    changes = (IsrChange(alone_since, 1, (1,)), IsrChange(lost_at, -1, (1,)))
    history = OutageHistory(1, alone_since, lost_at, changes, ("the metadata log",), ())
    losses = tuple(replace(each, lacks_seconds=seconds + 6, estimate=estimate) for each in outcome.losses)
    return replace(outcome, losses=losses, history=history)


def _many() -> Iterator[Outcome]:
    for topic in range(300):
        for partition in range(10):
            name, number = f"topic-{topic:03}", topic * 10 + partition
            if number % 100 == 7:
                yield losing(partition, name, lost=number % 40 + 1)
            elif topic % 30 == 3:
                yield refused(partition, name)
            else:
                yield would_recover(partition, name, behind=number % 4, start=number % 18 + 1)


def _outcome(topic: str, partition: int, state: PartitionState, *, ends: tuple[int, int], strategy: str) -> Outcome:
    shorter, longer = state.replicas[1:]
    candidates = ranked([(longer, ((0, 10), (3, ends[0]))), (shorter, ((0, 10), (3, ends[1])))])
    return _decided(state._replace(topic=topic, partition=partition), candidates, strategy)


def ranked(logs: Sequence[tuple[int, tuple[tuple[int, int], ...]]]) -> tuple[Candidate, ...]:
    """Return candidates with these lineages, which are given best first."""
    standings = [Standing(broker, lineage[-1][0], 0, lineage[-1][1], ()) for broker, lineage in logs]
    return tuple(
        Candidate(
            one.broker_id,
            rank,
            one.last_written_epoch,
            0,
            one.log_end_offset,
            tuple(EpochEnd(epoch, end) for epoch, end in lineage),
            one.log_end_offset * 70,
            (),
            explanation,
        )
        for rank, (one, (_broker, lineage), explanation) in enumerate(
            zip(standings, logs, explain_ranks(standings), strict=True), start=1
        )
    )


def _decided(state: PartitionState, candidates: tuple[Candidate, ...], strategy: str) -> Outcome:
    silent = (SilentReplica(1, Cause.UNREACHABLE, ERROR),)
    decision = decide(state, candidates, silent, Policy(Strategy(strategy)))
    elections = (decision,) if isinstance(decision, PlannedElection) else ()
    left_alone = (decision,) if isinstance(decision, LeftAlone) else ()
    return outcomes_of_plan(Plan("cluster", utc_now(), elections, left_alone))[0]
