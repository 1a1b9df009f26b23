# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find leader epochs that were given to two leaders, by the batches of the replicas.

After the controllers lost the newest part of their metadata (an older disk, a recovery from a copy that was behind),
they give leader epochs again. Then two logs have other records with the same epoch and offset, and a comparison of
epochs takes them for the same. Kafka does so, too. But followers copy batches as they are. So of two logs with a leader
epoch in common, the batch at the last offset that both have of it is the same one. If it is not, the epoch had two
leaders, and no record of it is in both logs. A log cleaner drops batches or rewrites them: that shows nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from .._kafka.errors import BrokerCallError
from .._kafka.header_reading import AskBatches, BatchAnswers, Questions, ask_batches
from .._kafka.own_cluster import OwnCluster
from .._kafka.settings import Address, ConnectionSettings
from .._kafka.wire import Wire
from .._model.partition import Broker, ReplicaLog, TopicPartition
from .candidate import Candidate, Flag
from .decide_again import rank_answers
from .plan import PlannedElection
from .preconditions import PartitionObservation

_MOST_EPOCHS = 16
"""Epochs of two logs that are compared, the newest ones, if the newest one had two leaders."""


class _Pair(NamedTuple):
    """Two logs with a leader epoch in common, and the last offset that both have of it."""

    partition: TopicPartition
    best: int
    other: int
    epoch: int
    offset: int


def mark_reused_epochs(
    ranked: Mapping[TopicPartition, Sequence[Candidate]], ask: AskBatches
) -> tuple[dict[TopicPartition, tuple[Candidate, ...]], Mapping[int, BrokerCallError]]:
    """Return the candidates of the partitions with such epochs. Each one has those that differ from the best one's.

    Also return the brokers that did not answer, by id.
    """
    logs = {partition: {each.broker_id: each for each in candidates} for partition, candidates in ranked.items()}
    newest = [
        pair
        for partition, by_id in logs.items()
        for other in [*by_id.values()][1:]
        for pair in _pairs(partition, next(iter(by_id.values())), other, most=1)
    ]
    answers = _ask_about(newest, ask)
    differing = [*_find_differing(newest, answers)]
    older = [
        pair
        for each in differing
        for pair in _pairs(
            each.partition, logs[each.partition][each.best], logs[each.partition][each.other], most=_MOST_EPOCHS
        )
    ]
    more = _ask_about(older, ask)
    epochs: dict[TopicPartition, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for each in (*differing, *_find_differing(older, more)):
        epochs[each.partition][each.other].add(each.epoch)
    marked = {
        partition: tuple(
            replace(each, reused_epochs=tuple(sorted(found.get(each.broker_id, ())))) for each in ranked[partition]
        )
        for partition, found in epochs.items()
    }
    return marked, {**answers.failed, **more.failed}


def _pairs(partition: TopicPartition, best: Candidate, other: Candidate, *, most: int) -> Iterator[_Pair]:
    """Yield the newest epochs that two logs have in common, if they have records of them on their own disks."""
    if Flag.LOCAL_ONLY in best.flags:
        return
    ends = dict(best.lineage)
    start = max(best.log_start_offset, other.log_start_offset)
    shared = [(each.epoch, min(each.end_offset, ends[each.epoch]) - 1) for each in other.lineage if each.epoch in ends]
    for epoch, offset in shared[-most:]:
        if offset >= start:
            yield _Pair(partition, best.broker_id, other.broker_id, epoch, offset)


def _ask_about(pairs: Sequence[_Pair], ask: AskBatches) -> BatchAnswers:
    offsets: dict[int, dict[TopicPartition, set[int]]] = defaultdict(lambda: defaultdict(set))
    for each in pairs:
        for broker_id in (each.best, each.other):
            offsets[broker_id][each.partition].add(each.offset)
    return ask(offsets) if offsets else BatchAnswers()


def _find_differing(pairs: Sequence[_Pair], answers: BatchAnswers) -> Iterator[_Pair]:
    for each in pairs:
        one, other = (answers.at(broker_id, each.partition, each.offset) for broker_id in (each.best, each.other))
        if one is not None and other is not None and one.differs(other, each.offset):
            yield each


def ask_candidates(
    settings: ConnectionSettings, cluster_id: str, brokers: Iterable[Broker], questions: Questions
) -> BatchAnswers:
    """Read batches from brokers of this cluster that have answered before."""
    addresses = {each.broker_id: Address(each.host, each.port) for each in brokers if each.host and each.port}
    with Wire(settings, own_cluster=OwnCluster(cluster_id)) as wire:
        return ask_batches(wire, addresses, questions)


def observe_reused_epochs(
    elections: Iterable[PlannedElection], observations: Mapping[TopicPartition, PartitionObservation], ask: AskBatches
) -> dict[TopicPartition, PartitionObservation]:
    """Return the observations with these epochs, right before elections.

    A plan made from evidence, or of very many replicas, does not have them. Nobody has compared the batches of a bare
    designation's replicas, nor those of a replica that was silent in the plan. One that does not answer now is silent.
    """
    ranked = {}
    for election in elections:
        candidates = rank_answers(election, observations[election.topic_partition])
        if len(candidates) > 1:
            ranked[election.topic_partition] = candidates
    if not ranked:
        return {**observations}
    marked, failed = mark_reused_epochs(ranked, ask)
    found = {**observations}
    for partition, candidates in marked.items():
        reused = {each.broker_id: each.reused_epochs for each in candidates if each.reused_epochs}
        found[partition] = replace(found[partition], reused_epochs=reused)
    for partition in ranked if failed else ():
        logs = {
            broker_id: ReplicaLog.failed(partition, broker_id, failed[broker_id].cause, str(failed[broker_id]))
            if broker_id in failed
            else log
            for broker_id, log in found[partition].logs.items()
        }
        found[partition] = replace(found[partition], logs=logs)
    return found
