# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One partition and some configs in memory, with a script of what becomes of each write request."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka import error_codes
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.elections import ElectionAnswer
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.errors import BrokerCallError
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.partitions import Description
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address, ConnectionSettings
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    Cause,
    PartitionState,
    Reassignment,
    TopicPartition,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.setting import Setting, SettingSource
from unit.fakes.clock import FakeClock

ADDRESSES = {each: Address(f"broker-{each}.invalid", 9092) for each in (1, 2, 3)}
CONNECTION = ConnectionSettings(bootstrap_servers=(ADDRESSES[1],), request_timeout_ms=1000)
PARTITION = TopicPartition("t", 0)


@dataclass
class FakeWrites(Kafka):
    """Broker 1 leads the partition. Each write is executed, unless ``responses`` says otherwise."""

    responses: list[Any]
    """What becomes of the next requests: ``executed``; ``unsent``; ``lost: executed`` or ``lost: dropped``, without a
    response; ``refused``, with a code for the whole request; or ``error``, with a code for the partition."""
    state: PartitionState = field(
        default_factory=lambda: PartitionState("t", 0, "A" * 22, 1, 5, (1, 2, 3), (1, 2, 3), (), (), ())
    )
    values: dict[tuple[str, str], str] = field(default_factory=dict)
    """By resource and name. The resource of the cluster default is empty."""
    removing: tuple[int, ...] = ()
    requests: list[str] = field(default_factory=list)
    """The requests that reached a broker."""
    clock: FakeClock = field(default_factory=FakeClock)

    def __post_init__(self) -> None:
        # Unused: every request of the tests is answered here.
        self.wire = cast(Wire, None)

    @property
    def settings(self) -> ConnectionSettings:
        return CONNECTION

    def _write(self, what: str, address: Address, execute: Callable[[], None]) -> int:
        """Carry a request out as scripted, and return the code for the partition."""
        response: Any = self.responses.pop(0) if self.responses else "executed"
        # Each request takes some time, so that none is sent twice in the same moment.
        self.clock.sleep(0.001)
        if response == "unsent":
            raise BrokerCallError(str(address), Cause.UNREACHABLE, "connection refused", request=what)
        self.requests.append(what)
        kind, value = ("executed", 0) if response == "executed" else next(iter(response.items()))
        if kind == "refused":
            raise error_codes.request_refused_error(what, value)
        if kind == "error":
            return int(value)
        if value != "dropped":
            execute()
        if kind == "lost":
            raise BrokerCallError(str(address), Cause.HUNG, "no answer within 1000 ms", request=what)
        return 0

    def _set(self, replicas: Sequence[int]) -> None:
        self.state = self.state._replace(replicas=tuple(replicas))

    def _configure(self, resource: str, edits: Mapping[str, str | None]) -> None:
        for name, value in edits.items():
            self.values.pop((resource, name), None)
            if value is not None:
                self.values[resource, name] = value

    # The port.

    def describe_partitions(
        self, names: Iterable[str] | None = None, span: tuple[TopicPartition, TopicPartition] | None = None
    ) -> Description:
        return Description((self.state,), ())

    def running_reassignments(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, Reassignment]:
        return {}

    def reorder(
        self, address: Address, orders: Mapping[TopicPartition, Sequence[int]]
    ) -> dict[TopicPartition, str | None]:
        code = self._write("reorder", address, lambda: self._set(orders[PARTITION]))
        return {PARTITION: error_codes.describe_error(code) if code else None}

    def assign(self, address: Address, partition: TopicPartition, replicas: Sequence[int]) -> str | None:
        code = self._write("assign", address, lambda: self._set(replicas))
        return error_codes.describe_error(code) if code else None

    def elect(
        self, address: Address, election_type: int, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, ElectionAnswer]:
        def lead() -> None:
            self.state = self.state._replace(leader_id=self.state.replicas[0])

        return {PARTITION: ElectionAnswer(self._write("elect", address, lead), None)}

    def read_configs(
        self, address: Address | None, kind: int, resource: str, names: Sequence[str]
    ) -> dict[str, Setting]:
        found = {name: self.values.get((resource, name)) for name in names}
        return {name: Setting(value, SettingSource.BROKER) for name, value in found.items() if value is not None}

    def write_configs(self, address: Address, kind: int, resource: str, edits: Mapping[str, str | None]) -> None:
        self._write("configure", address, lambda: self._configure(resource, edits))

    def cluster_default(self, name: str) -> Setting | None:
        return Setting(None, SettingSource.OTHER, is_sensitive=True) if ("", name) in self.values else None

    def write_cluster_default(self, address: Address, name: str, value: str | None) -> None:
        self._write("configure", address, lambda: self._configure("", {name: value}))
