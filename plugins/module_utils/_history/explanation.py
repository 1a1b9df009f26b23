# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Say what the history of an outage means for each offline partition and each survivor. Pure; standard library only."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .._model.metadata_history import BrokerChange, MetadataHistory, PartitionHistory
from .._model.outage import Estimate, IsrChange, Outage, OutageHistory, ReplicaPast, utc_text
from .._model.partition import NO_LEADER, TopicPartition
from .promise import Promise, explain_promise
from .proof import judge_promise
from .restarts import has_new_disk

_MOST_CHANGES = 50
_HEARTBEAT_MS = 2_000
"""broker.heartbeat.interval.ms: a broker that died lived at most this long after its last heartbeat."""

_SHRINK_MS = 2_000
"""How long an active controller may take to write a change of the ISR into its log."""

_SILENT_MS = 300_000
"""Many times the default of broker.session.timeout.ms, which is 9 s."""

_SHORTEST_MS = 1_000
"""A rate that was measured for a shorter time says nothing."""


class LogRate(NamedTuple):
    """How fast a log grew in a time that ends with its newest record."""

    records: int
    milliseconds: int


@dataclass(frozen=True, slots=True)
class LogTimes:
    """What a survivor says about its log. None, or empty, is not known."""

    end_offset: int | None = None
    ends_at_ms: int | None = None
    """The timestamp of its newest record."""
    rates: tuple[LogRate, ...] = ()
    """Over several times, all of which end with the newest record. Empty also if the log has only one record."""


@dataclass(frozen=True, slots=True)
class NoticeLimits:
    """Settings that say how late the cluster notices something, in milliseconds. None is not known."""

    replica_lag_ms: int | None = None
    """replica.lag.time.max.ms: how long a replica stays in the ISR after it was caught up last."""
    session_ms: int | None = None
    """broker.session.timeout.ms of the controllers: how long a dead broker keeps its leaderships."""
    session_is_known: bool = False
    """The controllers said it. Otherwise it is a guess."""

    @property
    def silence_ms(self) -> int | None:
        """More than a broker can be silent before it is fenced: each new controller waits for it anew."""
        return max(_SILENT_MS, 10 * self.session_ms) if self.session_is_known and self.session_ms is not None else None


def explain_outage(
    history: MetadataHistory | None,
    times: Mapping[TopicPartition, Mapping[int, LogTimes]],
    limits: NoticeLimits,
    sources: Sequence[str] = (),
    missing: Sequence[str] = (),
) -> dict[TopicPartition, Outage]:
    """Return what is known of the outage of each partition. ``times`` has the survivors of each, by broker id."""
    known = history if history is not None else MetadataHistory(0, 0)
    return {
        partition: Outage(
            _describe(known.partitions.get(partition, PartitionHistory()), tuple(sources), tuple(missing)),
            {
                broker_id: _judge(known, partition, broker_id, each, limits)
                for broker_id, each in sorted(of_partition.items())
            },
            _leader_has_new_disk(known, known.partitions.get(partition, PartitionHistory())),
        )
        for partition, of_partition in times.items()
    }


def _leader_has_new_disk(history: MetadataHistory, found: PartitionHistory) -> bool:
    leader, lost = found.last_leader_id, found.leader_lost_at_ms
    return leader is not None and lost is not None and has_new_disk(history, leader, lost)


def _describe(found: PartitionHistory, sources: tuple[str, ...], missing: tuple[str, ...]) -> OutageHistory:
    leader = found.last_leader_id
    return OutageHistory(
        leader if leader != NO_LEADER else None,
        utc_text(found.alone_since_ms),
        utc_text(found.leader_lost_at_ms),
        tuple(
            IsrChange(utc_text(each.at_ms) or "", each.leader_id, each.isr) for each in found.moments[-_MOST_CHANGES:]
        ),
        sources,
        missing,
    )


def _judge(
    history: MetadataHistory, partition: TopicPartition, broker_id: int, times: LogTimes, limits: NoticeLimits
) -> ReplicaPast:
    promise = judge_promise(history, partition, broker_id, is_empty=not times.end_offset)
    found = history.partitions.get(partition, PartitionHistory())
    caught_up = _caught_up_ms(history, found, promise, limits) if promise.keeps_its_log else None
    lacks_ms = _lacks_ms(promise, caught_up) if promise.keeps_its_end else None
    alone = _LedAlone.of(promise, times, caught_up)
    return ReplicaPast(
        utc_text(times.ends_at_ms),
        None if lacks_ms is None else math.ceil(lacks_ms / 1000),
        True if promise.is_kept else None,
        explain_promise(promise),
        alone and _estimate(alone, times.rates, _unnoticed_ms(history, found, limits), promise.doubt),
        assumptions=promise.assumptions,
        estimated_since=alone and utc_text(alone.since_ms),
    )


def _caught_up_ms(
    history: MetadataHistory, found: PartitionHistory, promise: Promise, limits: NoticeLimits
) -> int | None:
    """Return the earliest time at which the replica may have been caught up last. It held everything then.

    The leader looks for replicas that lag every half of replica.lag.time.max.ms (ReplicaManager.maybeShrinkIsr). In a
    new leader epoch, it takes each member of the ISR for caught up (Replica.resetReplicaState), so that the replica may
    have lagged as long before that. Without an active controller, the ISR cannot shrink.
    """
    if promise.left_at_ms is None or limits.replica_lag_ms is None:
        return None
    first = found.moments[0].at_ms if found.begins_with_creation else None
    until = promise.left_at_ms
    while True:
        since = history.before_gaps(until, limits.replica_lag_ms * 3 // 2 + _SHRINK_MS)
        if first is not None and since <= first:
            return first
        if since < history.begins_at_ms:
            return None
        began = [each.at_ms for each in found.moments if each.begins_epoch and since <= each.at_ms < until]
        if not began:
            return since
        until = min(began)


def _lacks_ms(promise: Promise, caught_up: int | None) -> int | None:
    """Return how long before the loss of the leader records may have been written that the replica does not hold.

    Only the controllers' clock counts. The timestamps of records are their producers', and prove nothing.
    """
    if caught_up is None or promise.lost_at_ms is None:
        return None
    return max(promise.lost_at_ms - caught_up, 0)


def _unnoticed_ms(history: MetadataHistory, found: PartitionHistory, limits: NoticeLimits) -> tuple[int, int] | None:
    """Return the least and greatest time from the death of the last leader until the controller noticed it.

    None if it is not known.
    """
    lost, leader = found.leader_lost_at_ms, found.last_leader_id
    if lost is not None and leader is not None:
        before = [each.change for each in history.brokers.get(leader, ()) if each.at_ms <= lost]
        relevant = [each for each in before if each not in (BrokerChange.FENCED, BrokerChange.LOG_DIR_FAILED)]
        if relevant and relevant[-1] is BrokerChange.SHUTTING_DOWN:
            return 0, 0
    if limits.session_ms is None:
        return None
    if lost is None or leader is None:
        return 0, limits.session_ms
    return max(limits.session_ms - _HEARTBEAT_MS, 0), limits.session_ms


class _LedAlone(NamedTuple):
    """The time in which the last leader took records alone, as far as a replica shows it."""

    since_ms: int
    """When the replica was caught up last. If its newest record is older, nothing was written in between."""
    alone_ms: int
    silent_ms: int
    """From its newest record until it was caught up."""

    @classmethod
    def of(cls, promise: Promise, times: LogTimes, caught_up: int | None) -> _LedAlone | None:
        left, lost = promise.left_at_ms, promise.lost_at_ms
        if caught_up is None or left is None or lost is None or times.ends_at_ms is None:
            return None
        since = min(max(times.ends_at_ms, caught_up), left)
        return cls(since, max(lost - since, 0), max(caught_up - times.ends_at_ms, 0))


def _estimate(
    alone: _LedAlone, measured: Sequence[LogRate], unnoticed_ms: tuple[int, int] | None, doubt_on_end: str
) -> Estimate | None:
    """Return the rate before the log ends times the time in which the last leader took records alone.

    A rate is only known for as long as it was measured: in the time beyond that, it may have been half or twice as
    high.
    """
    if unnoticed_ms is None:
        return None
    _since, alone_ms, silent_ms = alone
    least, most = (max(alone_ms - each, 0) for each in (unnoticed_ms[1], unnoticed_ms[0]))
    unsure = f"; {doubt_on_end}" if doubt_on_end else ""
    rates = [LogRate(each.records, each.milliseconds + silent_ms) for each in measured]
    rates = [each for each in rates if each.milliseconds >= _SHORTEST_MS]
    if not rates:
        return _idle(silent_ms, alone_ms, f"for {(least + most) / 2000:.0f} s{unsure}")
    speeds = [each.records / each.milliseconds for each in rates]
    measured_ms = [each.milliseconds for each in rates]
    beyond_low, beyond_high = (max(each - max(measured_ms), 0) for each in (least, alone_ms))
    measured_s = [f"{each / 1000:.0f}" for each in measured_ms]
    spread = f"the rates of the last {', '.join(measured_s)} s, and by " if len(measured_s) > 1 else ""
    doubt = "; half and twice the rate beyond the time that was measured" if beyond_high else ""
    return Estimate(
        round(speeds[0] * (least + most) / 2),
        math.floor(min(speeds) * (least - beyond_low / 2)),
        math.ceil(max(speeds) * (alone_ms + beyond_high)),
        f"{speeds[0] * 1000:.3g} records/s, as in the last {measured_s[0]} s of the log, for "
        f"{(least + most) / 2000:.0f} s; low and high by {spread}when the leader died{doubt}{unsure}",
    )


def _idle(silent_ms: int, alone_ms: int, duration: str) -> Estimate | None:
    """Return the estimate of a log without a rate, whose newest record is older than the time that it was caught up.

    Nothing was written in that time. So more than one record in as long a time would be a surprise.
    """
    if silent_ms < _SHORTEST_MS:
        return None
    return Estimate(
        0,
        0,
        math.ceil(alone_ms / silent_ms),
        f"no records, as in the last {silent_ms / 1000:.0f} s of the log by the timestamps of its records, {duration}; "
        "high by one record in as long a time",
    )
