# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Scripted brokers, asked through the same function as real ones; pickled into Spark's workers."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Broker,
    BrokerState,
    Cause,
    EpochEnd,
    PartitionState,
    ReplicaLog,
    TopicPartition,
)


def a_broker(broker_id: int, state: BrokerState = BrokerState.ONLINE, *, fenced: bool = False) -> Broker:
    return Broker(
        broker_id, "fake.invalid", 9092, None, fenced, state, "" if state is BrokerState.ONLINE else "seen so"
    )


def a_partition(topic: str, partition: int, replicas: tuple[int, ...]) -> PartitionState:
    return PartitionState(topic, partition, "A" * 22, -1, 7, replicas, (), None, (), replicas)


def a_log(topic: str, partition: int, broker_id: int, *lineage: tuple[int, int], start: int = 0) -> ReplicaLog:
    """Return a log that holds the given (epoch, end offset) pairs, oldest first."""
    return ReplicaLog(
        topic,
        partition,
        broker_id,
        log_start_offset=start,
        log_end_offset=lineage[-1][1] if lineage else start,
        current_leader_epoch=9,
        last_written_epoch=lineage[-1][0] if lineage else None,
        lineage=tuple(EpochEnd(*entry) for entry in lineage),
        size_bytes=1,
        log_dir="/data",
    )


@dataclass(frozen=True)
class FakeBrokers:
    """Callable like ``AskReplicas``. Every partition holds one record of epoch broker_id, unless given otherwise."""

    hung: frozenset[int] = frozenset()
    """Brokers that are silent until the deadline, like a frozen broker."""
    deaf_to_deadline: frozenset[int] = frozenset()
    """Brokers that block the caller long after the deadline."""
    broken: Mapping[int, str] = field(default_factory=dict)
    """Brokers whose request raises this error."""
    forgetful: frozenset[int] = frozenset()
    """Brokers that omit partition 0, and report partition 1 twice."""
    killer: Path | None = None
    """The first process that does not find this file creates it, and dies by SIGKILL."""

    printed: str = ""
    """What is written to the standard output, like a warning of a library."""

    def __call__(
        self, settings_reference: str, broker: Broker, partitions: Sequence[TopicPartition], deadline: float
    ) -> list[ReplicaLog]:
        self._perhaps_die()
        os.write(1, self.printed.encode())
        broker_id = broker.broker_id
        if broker_id in self.deaf_to_deadline:
            time.sleep(deadline - time.monotonic() + 30)
        if broker_id in self.hung:
            time.sleep(deadline - time.monotonic())
            return [ReplicaLog(each.topic, each.partition, broker_id, cause=Cause.HUNG) for each in partitions]
        if broker_id in self.broken:
            raise RuntimeError(self.broken[broker_id])
        logs = [a_log(each.topic, each.partition, broker_id, (broker_id, 1)) for each in partitions]
        if broker_id in self.forgetful:
            logs = [*logs[1:], *(log for log in logs if log.partition == 1)]
        return logs

    def _perhaps_die(self) -> None:
        if self.killer is None:
            return
        try:
            self.killer.touch(exist_ok=False)
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)
