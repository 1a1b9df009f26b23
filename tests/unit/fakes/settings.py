# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Configs of brokers and topics in memory, with old reads and refusals that a test can script."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.sender import Writer
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.setting_writer import SettingWriter
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka import error_codes
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address, ConnectionSettings
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Cause,
    PartitionState,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import Setting, SettingSource
from unit.fakes.clock import FakeClock

ADDRESSES = {each: Address(f"broker-{each}.invalid", 9092) for each in (1, 2, 3)}
CONNECTION = ConnectionSettings(bootstrap_servers=(ADDRESSES[1],), request_timeout_ms=1000)
TOPIC_ID = "A" * 22
Place = tuple[str, str]
"""Resource and name."""


@dataclass
class FakeSettings(Kafka):
    """The configs that are set, and the fates of requests."""

    values: dict[Place, str] = field(default_factory=dict)
    stale: dict[Place, str | None] = field(default_factory=dict)
    """The value that the next read of a config returns, whatever is set."""
    refused: set[str] = field(default_factory=set)
    """Resources whose writes are refused."""
    silent: set[str] = field(default_factory=set)
    """Resources whose reads get no answer."""
    writes: list[tuple[str, str, str | None]] = field(default_factory=list)
    late: list[tuple[float, Place, str]] = field(default_factory=list)
    """Another party's earlier request: the config, the time of the execution by the clock, and the value."""
    topic_ids: dict[str, str] = field(default_factory=dict)
    """The ids of topics. All others have the same one."""
    before_write: list[Callable[[], None]] = field(default_factory=list)
    """What another party does right before each of the next writes is executed."""
    clock: FakeClock = field(default_factory=FakeClock)

    def __post_init__(self) -> None:
        # Unused: every request of the tests is answered here.
        self.wire = cast(Wire, None)

    def writer(self) -> SettingWriter:
        return SettingWriter(Writer(self, [*ADDRESSES.values()], 2, 1.0), ADDRESSES)

    # The port.

    @property
    def settings(self) -> ConnectionSettings:
        return CONNECTION

    def read_configs(
        self, address: Address | None, kind: int, resource: str, names: Sequence[str]
    ) -> dict[str, Setting]:
        if resource in self.silent:
            raise BrokerCallError("fake.invalid:9092", Cause.HUNG, "no answer within 1000 ms")
        for each in [each for each in self.late if each[0] <= self.clock.monotonic()]:
            self.late.remove(each)
            self.values[each[1]] = each[2]
        found = {}
        for name in names:
            place = (resource, name)
            value = self.stale.pop(place) if place in self.stale else self.values.get(place)
            if value is not None:
                found[name] = Setting(value, SettingSource.BROKER)
        return found

    def read_partition_state(self, partition: TopicPartition) -> PartitionState | None:
        topic_id = self.topic_ids.get(partition.topic, TOPIC_ID)
        return PartitionState(*partition, topic_id, 1, 0, (1, 2, 3), (1, 2, 3), (), (), ()) if topic_id else None

    def write_configs(self, address: Address, kind: int, resource: str, edits: Mapping[str, str | None]) -> None:
        if self.before_write:
            self.before_write.pop(0)()
        for name, value in edits.items():
            self.writes.append((resource, name, value))
            if resource in self.refused:
                raise error_codes.request_refused_error(
                    "IncrementalAlterConfigs", error_codes.CLUSTER_AUTHORIZATION_FAILED
                )
            if value is None:
                self.values.pop((resource, name), None)
            else:
                self.values[resource, name] = value
