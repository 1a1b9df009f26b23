# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Prove by the metadata log that a replica holds every promised record (``promise``). Pure; standard library only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from .._model.metadata_history import MetadataHistory, PartitionHistory
from .._model.outage import Assumption
from .._model.partition import NO_LEADER, TopicPartition
from .earlier_losses import CountedRestart, counted_restarts, knows_earlier_losses
from .min_isr import knows_older_topic, min_isrs_in
from .promise import Obstacle, Promise
from .restarts import BrokerRestart

CONFIG_LAG_MS = 300_000
"""How long a broker may be late with a changed config. Brokers apply changes within seconds."""


def judge_promise(history: MetadataHistory, partition: TopicPartition, broker_id: int, *, is_empty: bool) -> Promise:
    """Return whether this replica of an offline partition holds all records that were acknowledged with acks=all.

    ``is_empty``: its log has no records.
    """
    found = history.partitions.get(partition, PartitionHistory())
    lost = found.leader_lost_at_ms
    if lost is None:
        return Promise(broker_id, Obstacle.NO_HISTORY)
    left = found.left_isr_at_ms(broker_id)
    if left is None:
        if broker_id not in (found.moments[-1].isr or ()):
            return Promise(broker_id, Obstacle.LEFT_EARLIER, lost_at_ms=lost)
        left = lost
    promise = Promise(broker_id, None, min(left, lost), lost)
    if is_empty:
        return _broken(promise, Obstacle.EMPTY)
    if history.ends_early:
        return _broken(promise, Obstacle.ENDS_EARLY)
    if history.not_decoded:
        return _broken(promise, Obstacle.NOT_DECODED)
    if promise.left_at_ms is not None and promise.left_at_ms <= history.disordered_until_ms:
        return _broken(promise, Obstacle.CLOCKS_DIFFER)
    restarts = [*counted_restarts(history, found, broker_id, promise.left_at_ms or 0)]
    believed = {(each.broker_id, each.restart.was_clean) for each in restarts if each.restart.is_believed}
    promise = replace(
        promise,
        restarted=tuple(sorted(each for each, was_clean in believed if was_clean)),
        killed=tuple(sorted(each for each, was_clean in believed if not was_clean)),
    )
    # What may have cost it its log, or the end of it, comes before what only breaks the promise.
    broken = min(
        _obstacles_of_log(found, promise, restarts),
        key=lambda each: (each.keeps_its_log, each.keeps_its_end),
        default=None,
    )
    if broken is not None:
        return broken
    judged = _judge_isr(history, partition, found, promise)
    return _judge_unread(history, partition, found, judged) if judged.is_kept else judged


def _judge_isr(
    history: MetadataHistory, partition: TopicPartition, found: PartitionHistory, promise: Promise
) -> Promise:
    left, lost = promise.left_at_ms or 0, promise.lost_at_ms or 0
    smallest: int | None = None
    for moment, end in found.spans(lost):
        # Times are milliseconds, so a change at the time of the loss may have come before it.
        if end < left or moment.at_ms > lost:
            continue
        if moment.isr is None or moment.leader_id is None or moment.replicas is None:
            return _broken(promise, Obstacle.LEFT_EARLIER)
        if moment.leader_id == NO_LEADER:
            continue
        begins = max(moment.at_ms, left) - CONFIG_LAG_MS
        if found.begins_with_creation:
            begins = max(begins, found.moments[0].at_ms)
        used = min_isrs_in(history, partition.topic, moment.leader_id, begins, end)
        if used is None:
            return _broken(promise, Obstacle.MIN_ISR_UNKNOWN, at_ms=moment.at_ms)
        least = min(*used.values, len(moment.replicas))
        if promise.broker_id not in moment.isr and len(moment.isr) >= least:
            return _broken(promise, Obstacle.ISR_WAS_LARGE_ENOUGH, at_ms=moment.at_ms, isr=moment.isr, min_isr=least)
        older = min(used.of_older_topic, default=least)
        if promise.broker_id not in moment.isr and len(moment.isr) >= older:
            return _broken(promise, Obstacle.OLDER_TOPIC, at_ms=moment.at_ms, isr=moment.isr, min_isr=older)
        smallest = least if smallest is None else min(smallest, least)
    return replace(promise, min_isr=smallest)


def _judge_unread(
    history: MetadataHistory, partition: TopicPartition, found: PartitionHistory, kept: Promise
) -> Promise:
    """Return what becomes of a promise by what was not read.

    What can still be read breaks it. What nobody can know any more, because the log has been removed, is an assumption.
    """
    unseen: list[Assumption] = []
    if not knows_earlier_losses(history, found):
        if not history.reads_all:
            return _broken(kept, Obstacle.EARLIER_LOSSES_UNKNOWN, is_unread=True)
        unseen.append(Assumption.NO_EARLIER_LOSSES)
    if not knows_older_topic(history, partition.topic, found, (kept.left_at_ms or 0) - CONFIG_LAG_MS):
        if found.begins_with_creation or not history.reads_all:
            return _broken(kept, Obstacle.OLDER_TOPIC_UNKNOWN, at_ms=found.moments[0].at_ms, is_unread=True)
        unseen.append(Assumption.NO_OLDER_TOPIC)
    return replace(kept, unseen=tuple(unseen), is_unread=bool(unseen))


def _obstacles_of_log(
    found: PartitionHistory, promise: Promise, restarts: Iterable[CountedRestart]
) -> Iterator[Promise]:
    """Yield why the replica may have lost records since it left the ISR."""
    left = promise.left_at_ms or 0
    in_sync_since: set[int] = set()
    for moment in reversed(found.moments):
        in_sync_since |= {*(moment.isr or ())}
        if moment.at_ms >= left and promise.broker_id not in (moment.replicas or (promise.broker_id,)):
            yield _broken(promise, Obstacle.WAS_NO_REPLICA, at_ms=moment.at_ms)
        if moment.is_unclean and moment.at_ms >= left:
            yield _broken(promise, Obstacle.UNCLEAN_ELECTION, at_ms=moment.at_ms)
        elif moment.is_unclean and not found.replicas <= in_sync_since:
            yield _broken(promise, Obstacle.EARLIER_UNCLEAN_ELECTION, at_ms=moment.at_ms)
    for each in restarts:
        for obstacle in _obstacles_of_restart(each, is_own=each.broker_id == promise.broker_id):
            is_unread = each.restart.before is None
            yield _broken(promise, obstacle, at_ms=each.restart.at_ms, other=each.broker_id, is_unread=is_unread)


def _obstacles_of_restart(counted: CountedRestart, *, is_own: bool) -> Iterator[Obstacle]:
    restart = counted.restart
    if counted.is_earlier:
        if not (restart.is_believed and restart.has_same_disk):
            yield Obstacle.EARLIER_RESTART
        return
    if not restart.is_believed:
        yield _why_not_believed(restart) if is_own else Obstacle.LEADER_RESTARTED
    if not restart.has_same_disk and restart.has_new_disk:
        yield Obstacle.DISK_REPLACED if is_own else Obstacle.LEADER_DISK_REPLACED
    elif not restart.has_same_disk:
        yield Obstacle.DISK_UNKNOWN if is_own else Obstacle.LEADER_DISK_UNKNOWN


def _why_not_believed(restart: BrokerRestart) -> Obstacle:
    if not (restart.was_clean or restart.host_ran_on):
        return Obstacle.UNCLEAN_RESTART
    return Obstacle.LOG_DIR_FAILED if restart.log_dir_failed else Obstacle.LEFT_ELR


def _broken(promise: Promise, obstacle: Obstacle, **details: Any) -> Promise:
    return replace(promise, obstacle=obstacle, **details)
