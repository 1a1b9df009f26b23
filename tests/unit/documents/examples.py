# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An example plan, and Hypothesis strategies that generate any other plan."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.files import digest
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    NO_LEADER,
    Cause,
    EpochEnd,
    PartitionState,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.candidate import (
    Candidate,
    Flag,
    SilentReplica,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.decide import decide
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.expected_loss import (
    ExpectedLoss,
    describe_losses,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.forecast import forecast_losses
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import (
    ElectionType,
    LeftAlone,
    Plan,
    PlannedElection,
    Status,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan_file import plan_document
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Policy, Strategy

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
TOPIC_ID = "0kfAK7wCTDmDzRwEXhGdqg"


def a_candidate(broker_id: int, rank: int, log_end_offset: int) -> Candidate:
    return Candidate(
        broker_id=broker_id,
        rank=rank,
        last_written_epoch=6,
        log_start_offset=10,
        log_end_offset=log_end_offset,
        lineage=(EpochEnd(2, 100), EpochEnd(6, log_end_offset)),
        size_bytes=4096,
        flags=(),
        explanation=f"rank {rank}",
    )


def an_election(topic: str = "foo", partition: int = 1) -> PlannedElection:
    """Return the decision if replica 1 hangs and replica 3 holds the most."""
    state = PartitionState(topic, partition, TOPIC_ID, NO_LEADER, 7, (1, 2, 3), (1,), (), None, (1,))
    candidates = (a_candidate(3, 1, 150), a_candidate(2, 2, 120))
    silent = (SilentReplica(1, Cause.HUNG, "it accepts connections and answers nothing"),)
    decision = decide(state, candidates, silent, Policy(Strategy.AGGRESSIVE, max_lost_records=30))
    assert isinstance(decision, PlannedElection)
    return decision


def a_plan() -> Plan:
    return Plan(
        cluster_id=CLUSTER_ID,
        created_at="2026-01-31T23:59:59Z",
        elections=(an_election("bar", 0), an_election("foo", 1)),
        left_alone=(LeftAlone("gone", 0, Status.UNKNOWN, "no such partition"),),
    )


def edited(*place: str | int, to: Any, renew: bool = True) -> dict[str, Any]:
    """Return the plan's document with another value at a position, and a valid digest unless given otherwise."""
    document = plan_document(a_plan())
    target: Any = document
    for token in place[:-1]:
        target = target[token]
    target[place[-1]] = to
    if renew and place != ("digest",):
        document["digest"] = digest(document)
    return document


_LEFT_ALONE = [each for each in Status if each not in (Status.RECOVERED, Status.WOULD_RECOVER)]
_int32 = st.integers(0, INT32_MAX)
_offsets = st.integers(0, INT64_MAX)
# Any text that UTF-8 can encode.
_texts = st.text(st.characters(codec="utf-8"), max_size=20)
topics = st.text(string.ascii_letters + string.digits + "._-", min_size=1, max_size=249).filter(
    lambda name: name not in {".", ".."}
)
_topic_ids = st.text(string.ascii_letters + string.digits + "_-", min_size=22, max_size=22)
_broker_ids = st.lists(_int32, unique=True, max_size=5)


@st.composite
def _lineages(draw: st.DrawFn) -> tuple[EpochEnd, ...]:
    epochs = sorted(draw(st.lists(_int32, unique=True, max_size=4)))
    ends = sorted(draw(st.lists(_offsets, min_size=len(epochs), max_size=len(epochs))))
    return tuple(EpochEnd(epoch, end) for epoch, end in zip(epochs, ends, strict=True))


@st.composite
def _candidates(draw: st.DrawFn, broker_id: int, rank: int) -> Candidate:
    start, end = sorted((draw(_offsets), draw(_offsets)))
    return Candidate(
        broker_id=broker_id,
        rank=rank,
        last_written_epoch=draw(st.none() | _int32),
        log_start_offset=start,
        log_end_offset=end,
        lineage=draw(_lineages()),
        size_bytes=draw(st.none() | _offsets),
        flags=tuple(draw(st.lists(st.sampled_from(Flag), unique=True))),
        explanation=draw(_texts),
    )


@st.composite
def _replicas(draw: st.DrawFn, least: int) -> tuple[tuple[int, ...], tuple[Candidate, ...], tuple[SilentReplica, ...]]:
    """Return a replica list, at least this number of candidates of it, and its silent replicas."""
    brokers = draw(st.lists(_int32, unique=True, min_size=least, max_size=4))
    count = draw(st.integers(least, len(brokers)))
    candidates = tuple(draw(_candidates(broker, rank)) for rank, broker in enumerate(brokers[:count], start=1))
    silent = tuple(SilentReplica(broker, draw(st.sampled_from(Cause)), draw(_texts)) for broker in brokers[count:])
    return tuple(draw(st.permutations(brokers))), candidates, silent


def _losses(candidates: Sequence[Candidate], silent: Sequence[SilentReplica]) -> tuple[ExpectedLoss, ...]:
    state = PartitionState("orders", 0, TOPIC_ID, NO_LEADER, 7, (), (), (), (), ())
    return describe_losses(forecast_losses(state, candidates, [each.broker_id for each in silent]))


@st.composite
def _elections(draw: st.DrawFn, named: TopicPartition) -> PlannedElection:
    replicas, candidates, silent = draw(_replicas(1))
    return PlannedElection(
        topic=named.topic,
        partition=named.partition,
        topic_id=draw(_topic_ids),
        leader_epoch=draw(_int32),
        replicas=replicas,
        isr=tuple(draw(_broker_ids)),
        elr=draw(st.none() | _broker_ids.map(tuple)),
        last_known_elr=draw(st.none() | _broker_ids.map(tuple)),
        designated_leader=draw(st.sampled_from(candidates)).broker_id,
        reason=draw(_texts),
        candidates=candidates,
        silent=silent,
        losses=_losses(candidates, silent),
        election_type=draw(st.sampled_from(ElectionType)),
        offline_replicas=tuple(draw(_broker_ids)),
        strategy=draw(st.sampled_from(Strategy)),
        max_lost_records=draw(st.none() | _offsets),
    )


@st.composite
def _left_alone(draw: st.DrawFn, named: TopicPartition) -> LeftAlone:
    replicas, candidates, silent = draw(_replicas(0))
    return LeftAlone(
        topic=named.topic,
        partition=named.partition,
        status=draw(st.sampled_from(_LEFT_ALONE)),
        reason=draw(_texts),
        topic_id=draw(st.none() | _topic_ids),
        leader_id=draw(st.none() | st.integers(-1, INT32_MAX)),
        leader_epoch=draw(st.none() | _int32),
        replicas=replicas,
        candidates=candidates,
        silent=silent,
        losses=_losses(candidates, silent),
        isr=draw(st.none() | _broker_ids.map(tuple)),
        elr=draw(st.none() | _broker_ids.map(tuple)),
        last_known_elr=draw(st.none() | _broker_ids.map(tuple)),
    )


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    named = sorted(draw(st.sets(st.builds(TopicPartition, topics, _int32), max_size=5)))
    split = draw(st.integers(0, len(named)))
    return Plan(
        cluster_id=draw(st.text(string.ascii_letters + string.digits + "_-", min_size=1, max_size=22)),
        created_at=f"{draw(st.datetimes().map(lambda time: time.isoformat(timespec='seconds')))}Z",
        elections=tuple(draw(_elections(each)) for each in named[:split]),
        left_alone=tuple(draw(_left_alone(each)) for each in named[split:]),
    )
