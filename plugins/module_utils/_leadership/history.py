# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keep a broker from leading again while its logs begin after those of the present leaders (KIP-491).

So it is after a swap of hosts that kept only the last segments. Such a replica is in sync. If it leads, all other
replicas move their log start up to its own, and delete the older records (KIP-107).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from .._kafka.held_replicas import known_offsets
from .._kafka.port import Kafka
from .._kafka.settings import Address
from .._model.partition import PartitionState, TopicPartition
from .._model.reason import say
from .decide import Decision
from .view import LeadershipView, leave_alone

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
    pairs = {
        partition: pair
        for partition, decision in view.decisions.items()
        if (pair := _returning_and_leader(decision, view.states.get(partition))) and living.keys() >= {*pair}
    }
    # A leader's log start only rises, and its followers follow. Asked in this order, no sound replica seems to be late.
    starts = _log_starts(kafka, living, ((partition, broker) for partition, (broker, _leader) in pairs.items()))
    first = _log_starts(kafka, living, ((partition, leader) for partition, (_broker, leader) in pairs.items()))
    lacking = {
        partition: say(_LACKS, broker=broker, broker_leader=leader, offset=starts[own], first=first[led])
        for partition, (broker, leader) in pairs.items()
        if starts.get(own := (partition, broker), 0) > first.get(led := (partition, leader), math.inf)
    }
    return replace(view, decisions=leave_alone(view.decisions, lacking))


def _returning_and_leader(decision: Decision, state: PartitionState | None) -> tuple[int, int] | None:
    """Return the broker that a remembered order would put first again, and the leader, if that is another broker."""
    wanted = decision.outcome.replicas_after
    if state is None or decision.remembered is None or not wanted or wanted[0] == state.replicas[0]:
        return None
    return None if wanted[0] == state.leader_id else (wanted[0], state.leader_id)


def _log_starts(
    kafka: Kafka, living: Mapping[int, Address], replicas: Iterable[tuple[TopicPartition, int]]
) -> dict[tuple[TopicPartition, int], int]:
    """Return the log start of each replica. Those that do not answer are missing."""
    return kafka.ask_replicas(
        living, replicas, lambda address, some: known_offsets(kafka.log_start_offsets(address, some))
    )
