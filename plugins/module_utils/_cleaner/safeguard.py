# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judges a replica once more right before it is touched: when its turn comes, its plan may be hours old. Only reads."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from .._changes.record import ReplicaChange
from .._kafka.port import Kafka
from .._model.partition import PartitionState
from .._model.run import KafkaOpsError
from .safety import Overrides, Surroundings, refusals

_MIN_ISR = "min.insync.replicas"


class UnsafeError(KafkaOpsError):
    """What was planned must not be done any more. Says every reason."""


def min_isrs_of(kafka: Kafka, topics: Collection[str]) -> dict[str, int]:
    """Return the topics' min.insync.replicas. What could not be read is left out.

    Raises NoBrokerAnswersError or RequestRefusedError.
    """
    found = kafka.topic_configs(sorted(topics), _MIN_ISR)
    return {topic: int(each.value) for topic, each in found.items() if each.value}


@dataclass(frozen=True, slots=True)
class Safeguard:
    """Looks again, by the rules of the plan."""

    kafka: Kafka
    overrides: Overrides

    def require(self, change: ReplicaChange, orders: Collection[tuple[int, ...]]) -> None:
        """Return when the replica may be touched, its partition being in one of these orders.

        Raises UnsafeError; NoBrokerAnswersError, BrokerCallError or RequestRefusedError where that is unknown.
        """
        state = self.kafka.see_one(change.topic_partition)
        if state is None:
            raise UnsafeError("the partition does not exist any more")
        if state.topic_id != change.topic_id:
            raise UnsafeError(f"the topic was recreated (id {state.topic_id}) since it was planned")
        reasons = [*self._changes(change, state, orders)]
        around = Surroundings(
            min_insync_replicas=min_isrs_of(self.kafka, [change.topic]).get(change.topic),
            is_reassigning=bool(self.kafka.running_reassignments([change.topic_partition])),
            living={*state.replicas} - {*state.offline_replicas},
        )
        reasons += refusals(state, change.broker_id, around, self.overrides)
        if reasons:
            raise UnsafeError("it is not as it was when it was planned: " + "; ".join(reasons))

    def _changes(
        self, change: ReplicaChange, state: PartitionState, orders: Collection[tuple[int, ...]]
    ) -> tuple[str, ...]:
        reasons = []
        if state.replicas not in orders:
            reasons.append(
                f"its replicas are {list(state.replicas)}, and were {list(change.original)}: somebody changes them"
            )
        if change.source not in state.isr:
            reasons.append(
                f"broker {change.source}, from whose copy it is to be made, is not in sync: wait until it is, and run "
                "again"
            )
        return tuple(reasons)
