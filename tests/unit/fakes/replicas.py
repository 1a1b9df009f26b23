# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One partition whose replicas are dropped and re-created at once, unless a test scripts events in between."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal import Journal
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import ReplicaChange
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.sender import Writer
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.marks import MarkedReplica
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.repair_plan import RepairPlanner, RepairTerms
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.replica import ReplicaMaker, Safeguard
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.safety import Overrides
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka import error_codes
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.copy_reading import CopyCheck
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.elections import ElectionAnswer
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.log_dirs import LogDirs, ReplicaOnDisk
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.min_isr import MinIsrs
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.partitions import (
    Description,
    TopicError,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address, ConnectionSettings
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    PartitionState,
    Reassignment,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import NullProgress
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import Setting, SettingSource
from unit.fakes.clock import FakeClock
from unit.fakes.settings import CONNECTION, FakeSettings

PARTITION = TopicPartition("t", 0)
CHANGE = ReplicaChange("t", 0, "A" * 22, 3, (3, 1, 2), 1, 3)
"""Broker 3 leads, and its replica is copied from broker 1."""
TARGET = MarkedReplica("t", 0, 3)


def nothing() -> None:
    """Return the default events after an election or a read."""


_LIVING = {each: Address(f"broker-{each}.invalid", 9092) for each in (1, 2, 3)}


@dataclass
class FakeReplicas(Kafka):
    """Answers the requests of a repair from memory."""

    state: PartitionState = field(
        default_factory=lambda: PartitionState("t", 0, "A" * 22, 3, 5, (3, 1, 2), (1, 2, 3), None, None, ())
    )
    min_isr: str = "2"
    is_reassigning: bool = False
    reassignment: Reassignment = field(default_factory=lambda: Reassignment(adding=(9,)))
    """The one that runs while ``is_reassigning``."""
    refused_with: int = 0
    """The code that descriptions of the topic are refused with."""
    after_elect: Callable[[], None] = nothing
    after_read: Callable[[], None] = nothing
    stop: threading.Event = field(default_factory=threading.Event)
    checks: Mapping[int, CopyCheck] = field(default_factory=dict)
    """The result of reading a broker's copy. All other copies are complete."""
    read: list[int] = field(default_factory=list)
    """The brokers whose copies were read, in order."""
    writes: list[tuple[int, ...] | None] = field(default_factory=list)
    """Requested replica lists, oldest first; None is a cancellation."""

    late: list[tuple[float, tuple[int, ...]]] = field(default_factory=list)
    """Replicas that another party requested before, and the time of the execution by the clock."""
    clock: FakeClock = field(default_factory=FakeClock)

    def __post_init__(self) -> None:
        # Unused: every request of the tests is answered here.
        self.wire = cast(Wire, None)

    def maker(self, journal: Journal) -> ReplicaMaker:
        addresses = {each: Address(f"broker-{each}.invalid", 9092) for each in (1, 2, 3)}
        writer = Writer(self, [*addresses.values()], attempts=2, verify_timeout_s=5)
        return ReplicaMaker(writer, addresses, journal, 60, self.stop, NullProgress())

    def safeguard(self) -> Safeguard:
        return Safeguard(self, _LIVING, Overrides())

    def planner(self, *, force: bool = False) -> RepairPlanner:
        """Return no metrics."""
        terms = RepairTerms(overrides=Overrides(), force=force, max_read_bytes=100)
        return RepairPlanner(self, _LIVING, {}, terms, NullProgress(), self.stop)

    def change(self, **values: Any) -> None:
        self.state = self.state._replace(**values)

    def answer_settings(self, settings: FakeSettings) -> None:
        """Answer requests for configs, too."""
        self.read_configs, self.write_configs = settings.read_configs, settings.write_configs  # type: ignore[method-assign]

    # The port.

    @property
    def settings(self) -> ConnectionSettings:
        return CONNECTION

    def describe_partitions(
        self, names: Iterable[str] | None = None, span: tuple[TopicPartition, TopicPartition] | None = None
    ) -> Description:
        assert {*(names or ())} == {"t"}
        for each in [each for each in self.late if each[0] <= self.clock.monotonic()]:
            self.late.remove(each)
            self.change(replicas=each[1], isr=tuple(sorted(each[1])))
        if self.refused_with:
            return Description((), (TopicError("t", self.refused_with),))
        return Description((self.state,), ())

    def running_reassignments(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, Reassignment]:
        return dict.fromkeys(partitions if self.is_reassigning else (), self.reassignment)

    def min_insync_replicas(self, topics: Collection[str], living: Mapping[int, Address]) -> dict[str, int]:
        return self.read_min_isrs(topics, living).by_topic

    def read_min_isrs(self, topics: Collection[str], living: Mapping[int, Address]) -> MinIsrs:
        inherited = dict.fromkeys(topics, Setting(self.min_isr, SettingSource.DEFAULT))
        return MinIsrs(inherited, {each: int(self.min_isr) if self.min_isr else None for each in living})

    def describe_log_dirs(self, address: Address, partitions: Sequence[TopicPartition]) -> LogDirs:
        broker_id = _broker_of(address)
        held = [ReplicaOnDisk("/d", 10, is_future=False)] if broker_id in self.state.replicas else []
        return LogDirs(dict.fromkeys(partitions, tuple(held)), {}, "")

    def check_copy(
        self, address: Address, partition: TopicPartition, max_bytes: int, stop: threading.Event
    ) -> CopyCheck:
        broker_id = _broker_of(address)
        self.read.append(broker_id)
        self.after_read()
        return self.checks.get(broker_id, CopyCheck("", 50, is_complete=True))

    def reorder(
        self, _address: Address, orders: Mapping[TopicPartition, Sequence[int]]
    ) -> dict[TopicPartition, str | None]:
        self.writes.append(tuple(orders[PARTITION]))
        self.change(replicas=tuple(orders[PARTITION]))
        return {PARTITION: None}

    def elect(
        self, _address: Address, _type: int, _partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, ElectionAnswer]:
        self.change(leader_id=self.state.replicas[0])
        self.after_elect()
        return {PARTITION: ElectionAnswer(error_codes.NONE, None)}

    def assign(self, _address: Address, _partition: TopicPartition, replicas: Sequence[int]) -> None:
        self.writes.append(tuple(replicas))
        self.change(replicas=tuple(replicas), isr=tuple(sorted(replicas)))

    def cancel(self, _address: Address, _partition: TopicPartition) -> None:
        self.writes.append(None)
        self.is_reassigning = False


def _broker_of(address: Address) -> int:
    return int(address.host.removeprefix("broker-").removesuffix(".invalid"))
