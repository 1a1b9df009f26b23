# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keep a broker from leading again while its logs begin after those of the present leaders (KIP-491).

So it is after a swap of hosts that kept only the last segments. Such a replica is in sync. If it leads, all other
replicas move their log start up to its own, and delete the older records (KIP-107).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from .._kafka.errors import BrokerCallError
from .._kafka.held_replicas import known_offsets
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import PartitionState, TopicPartition, in_batches
from .._model.reason import say
from .decide import Decision
from .view import LeadershipView

_LACKS = (
    "the log on broker {broker}, which would be preferred again, begins at offset {offset}, and the log on broker "
    "{broker_leader}, which leads, at {first}: if broker {broker} led, all replicas would delete the records before "
    "{offset}. Run again when retention has deleted them, or let broker {broker} copy the whole log: stop it, remove "
    "the directory of this partition there, and start it"
)


def keep_history(kafka: Kafka, view: LeadershipView, living: Mapping[int, Address]) -> LeadershipView:
    """Return the view, with the order left alone where a returning broker would lead again without the history.

    Sends ListOffsets to such brokers and to the present leaders, if there are any. Where one of both does not answer,
    nothing is proven, and the order is restored.
    """
    returning: dict[int, list[TopicPartition]] = defaultdict(list)
    leading: dict[int, list[TopicPartition]] = defaultdict(list)
    both: dict[TopicPartition, tuple[int, int]] = {}
    for partition, decision in view.decisions.items():
        pair = _returning_and_leader(decision, view.states.get(partition))
        if pair is not None and living.keys() >= {*pair}:
            both[partition] = pair
            returning[pair[0]].append(partition)
            leading[pair[1]].append(partition)
    # A leader's log start only rises, and its followers follow. Asked in this order, no sound replica seems to be late.
    starts = _log_starts(kafka, living, returning)
    first = _log_starts(kafka, living, leading)
    lacking = {
        partition: say(_LACKS, broker=broker, broker_leader=leader, offset=starts[partition], first=first[partition])
        for partition, (broker, leader) in both.items()
        if starts.get(partition, 0) > first.get(partition, math.inf)
    }
    decisions = {
        each: how.leave_alone(lacking[each]) if each in lacking else how for each, how in view.decisions.items()
    }
    return replace(view, decisions=decisions)


def _returning_and_leader(decision: Decision, state: PartitionState | None) -> tuple[int, int] | None:
    """Return the broker that a remembered order would put first again, and the leader, if that is another broker."""
    wanted = decision.outcome.replicas_after
    if state is None or decision.remembered is None or not wanted or wanted[0] == state.replicas[0]:
        return None
    return None if wanted[0] == state.leader_id else (wanted[0], state.leader_id)


def _log_starts(
    kafka: Kafka, living: Mapping[int, Address], asked: Mapping[int, Sequence[TopicPartition]]
) -> dict[TopicPartition, int]:
    """Return the log starts of replicas by broker. Those that do not answer are missing."""

    def ask(broker_id: int) -> dict[TopicPartition, int]:
        found: dict[TopicPartition, int] = {}
        for batch in in_batches(asked[broker_id]):
            found |= known_offsets(kafka.log_start_offsets(living[broker_id], batch))
        return found

    answers = kafka.in_parallel(ask, asked)
    return {
        partition: offset
        for each in answers.values()
        if not isinstance(each, BrokerCallError)
        for partition, offset in each.items()
    }
