# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find what may have cost a partition records by its election or by a restart. Pure; standard library only.

A replica that was elected although it was not in sync may lack records that were acknowledged. So may one that stayed
in the ISR while its broker restarted, as the last member does: what its disk lost, it does not copy from a leader. What
such a leader lacks, the others delete when they follow it. A replica that has not been in sync with it since may be the
last one that holds these records.

A broker that leaves the ISR and comes back into it has copied what the leader holds, whatever it lost before. So has
one that stayed in the ISR as a follower for long: 3.9.0 left a broker there that restarted quickly (KAFKA-18106).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from .._model.metadata_history import MetadataHistory, PartitionHistory, PartitionMoment
from .._model.partition import NO_LEADER
from .restarts import BrokerRestart, host_ran_on, restarts_since

_CAUGHT_UP_MS = 300_000
"""Many times replica.lag.time.max.ms, which is 30 s: a follower that was in the ISR for so long has caught up in it."""


class CountedRestart(NamedTuple):
    """A restart of a broker after which a replica, or the whole partition, may lack records."""

    broker_id: int
    restart: BrokerRestart
    is_earlier: bool
    """It came before the replica in question left the ISR."""


def counted_restarts(
    history: MetadataHistory, found: PartitionHistory, broker_id: int, left_ms: int
) -> Iterator[CountedRestart]:
    """Yield the restarts that count for a replica, which left the ISR at a time, in the order of broker ids.

    Those are its own restarts since then, its own earlier ones in which it stayed in the ISR, and those of leaders that
    stayed in the ISR, as long as not every replica has been in sync with them since.
    """
    leaders = {each.leader_id for each in found.moments if each.leader_id is not None}
    for other in sorted(leaders - {NO_LEADER} | {broker_id}):
        for restart in restarts_since(history, other, 0):
            at, is_own = restart.at_ms, other == broker_id
            is_earlier = at < left_ms
            # The first start of all came before it had anything to lose.
            is_first = is_earlier and history.begins_at_start and restart.before is None
            is_late = is_own and not is_earlier
            if is_late or (not is_first and _stayed_in_sync(found, other, at, left_ms if is_own else None)):
                left_elr, ran_on = found.left_elr_at(other, at), host_ran_on(history, other, restart)
                yield CountedRestart(other, replace(restart, left_elr=left_elr, host_ran_on=ran_on), is_earlier)


def knows_earlier_losses(history: MetadataHistory, found: PartitionHistory) -> bool:
    """Return whether no loss before the log that was read matters any more.

    That is so if every replica has been in sync since: then none holds records that the others lost.
    """
    if history.begins_at_start or found.begins_with_creation:
        return True
    replicas = found.replicas
    return bool(replicas) and replicas <= {broker for each in found.moments for broker in each.isr or ()}


def _stayed_in_sync(found: PartitionHistory, broker_id: int, at_ms: int, until_ms: int | None) -> bool:
    """Return whether a broker counted as in sync after a restart, although it may have lost records by it.

    A leader counts if it led with what it had, and not every replica came into the ISR since. The replica itself,
    which left the ISR at ``until_ms``, counts in any case.
    """
    moments = found.moments
    first = sum(each.at_ms <= at_ms for each in moments) - 1
    # What was before the log that was read is another question (knows_earlier_losses).
    if first < 0 or (found.begins_with_creation and at_ms <= moments[0].at_ms):
        return False
    for index, (moment, end) in enumerate(found.spans(moments[-1].at_ms)):
        if index < first:
            continue
        if until_ms is not None and moment.at_ms >= until_ms:
            break
        if moment.isr is not None and broker_id not in (*moment.isr, *(moment.elr or ())):
            return False
        if moment.leader_id == broker_id:
            return not found.replicas <= {broker_id} | _came_in(moments[index:])
        if moment.leader_id not in (None, NO_LEADER) and end - max(moment.at_ms, at_ms) >= _CAUGHT_UP_MS:
            return False
    return until_ms is not None


def _came_in(moments: Sequence[PartitionMoment]) -> set[int]:
    """Return the brokers that came into the ISR after the first of these moments."""
    return {
        broker
        for before, after in pairwise(moments)
        if before.isr is not None
        for broker in {*(after.isr or ())} - {*before.isr}
    }
