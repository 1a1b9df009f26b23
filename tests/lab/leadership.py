# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Operations on leadership for tests and benchmarks, and changes that somebody else makes at the same time."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions
from kafka.protocol.admin import AlterPartitionReassignmentsRequest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal_reader import JournalOptions
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import ConnectionSettings, settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.blacklist import Change
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.decide import OrderOutcome
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.deprioritize import (
    LeadershipResult,
    run_leadership,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.election import (
    MoveReport,
    move_leaders,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.memory_topic import LeadershipOptions
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.move_finder import MoveOptions
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.view import ListRequest
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import NullProgress
from lab import settings as node_settings
from lab.client import PartitionState
from lab.cluster import Cluster
from lab.waiting import wait_until

MEMORY_TOPIC = "_kafkaops_leadership"
_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Operator:
    """An operator on a separate host, who manages the list of deprioritized brokers."""

    cluster: Cluster
    request_timeout_ms: int = 5000

    @property
    def settings(self) -> ConnectionSettings:
        return settings_from(
            {"bootstrap_servers": self.cluster.bootstrap(), "request_timeout_ms": self.request_timeout_ms}
        )

    @property
    def _shared_options(self) -> dict[str, Any]:
        return {
            "journal": JournalOptions(),
            "attempts": 3,
            "verify_timeout_ms": 10_000,
        }

    def run(
        self,
        change: Change,
        *brokers: int,
        topics: Sequence[str] = (),
        check_mode: bool = False,
        memory_topic: str = MEMORY_TOPIC,
    ) -> LeadershipResult:
        """Change the list and the orders, as the module does, but in this process."""
        options = LeadershipOptions(
            memory_topic=memory_topic,
            check_mode=check_mode,
            **self._shared_options,
        )
        with Wire(self.settings) as wire:
            return run_leadership(
                Kafka(wire), ListRequest(change, brokers, tuple(topics)), options, NullProgress(), threading.Event()
            )

    def list(self, *brokers: int, topics: Sequence[str] = ()) -> LeadershipResult:
        """Put brokers on the list."""
        return self.run(Change.PRESENT, *brokers, topics=topics)

    def restore(self) -> LeadershipResult:
        """Empty every list."""
        return self.run(Change.EXACT)

    def unlist(self, *brokers: int) -> LeadershipResult:
        """Take brokers off the list."""
        return self.run(Change.ABSENT, *brokers)

    def move_leaders(self, *, away_from: int | None = None, back_to: int | None = None) -> MoveReport:
        """Move leaders by preferred elections, as the module does, but in this process."""
        options = MoveOptions(
            from_brokers=frozenset() if away_from is None else frozenset({away_from}),
            to_brokers=frozenset() if back_to is None else frozenset({back_to}),
            patterns=(),
            max_moves=1000,
            memory_topic=MEMORY_TOPIC,
            check_mode=False,
            **self._shared_options,
        )
        with Wire(self.settings) as wire:
            return move_leaders(Kafka(wire), options, NullProgress(), threading.Event())

    def in_process(self, call: str) -> subprocess.Popen[bytes]:
        """Start a call of this operator, such as ``list(1)``, in its own process, so that a test can kill it."""
        code = f"""
            from types import SimpleNamespace
            from lab.leadership import Operator
            cluster = SimpleNamespace(bootstrap=lambda: {self.cluster.bootstrap()!r})
            Operator(cluster, {self.request_timeout_ms}).{call}
        """
        return subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], env=_python_path())


def outcome(result: LeadershipResult, topic: str, partition: int = 0) -> OrderOutcome:
    """Return the outcome of one partition."""
    return result.outcomes[TopicPartition(topic, partition)]


def orders(cluster: Cluster, topic: str) -> dict[int, tuple[int, ...]]:
    """Return the replica order of every partition when all brokers agree."""
    return {partition: state.replicas for partition, state in _common_states(cluster, topic).items()}


def leaders(cluster: Cluster, topic: str) -> dict[int, int | None]:
    """Return the leader of every partition when all brokers agree."""
    return {partition: state.leader for partition, state in _common_states(cluster, topic).items()}


def _common_states(cluster: Cluster, topic: str) -> dict[int, PartitionState]:
    """Wait until all brokers agree: the code under test may have used another broker than this client."""

    def agreed() -> list[dict[int, PartitionState]]:
        views = [cluster.client.describe(topic, broker=each.node_id) for each in cluster.live_brokers]
        return views if all(view == views[0] for view in views) else []

    return wait_until(agreed, _TIMEOUT_S, what=f"all brokers see the same of {topic}")[0]


def assign(cluster: Cluster, topic: str, wanted: Mapping[int, Sequence[int]]) -> None:
    """Reassign partitions to replicas in this order, as another tool would, and wait until all of them are in sync."""
    request_reassignments(cluster, topic, wanted)
    wait_orders(cluster, topic, wanted)


def request_reassignments(cluster: Cluster, topic: str, wanted: Mapping[int, Sequence[int]]) -> None:
    """Request reassignments, which may never complete."""
    message = AlterPartitionReassignmentsRequest
    partition = message.ReassignableTopic.ReassignablePartition
    request = message(
        timeout_ms=10_000,
        allow_replication_factor_change=True,
        topics=[
            message.ReassignableTopic(
                name=topic,
                partitions=[partition(partition_index=each, replicas=[*order]) for each, order in wanted.items()],
            )
        ],
    )
    settings = settings_from({"bootstrap_servers": cluster.bootstrap(node_settings.INTERNAL)})
    with Wire(settings) as wire:
        response, _asked = wire.call_any(lambda: request, "AlterPartitionReassignments")
    codes = {each.error_code for answered in response.responses for each in answered.partitions}
    if codes != {0}:
        raise RuntimeError(f"{topic}: error codes {codes}")


def wait_orders(cluster: Cluster, topic: str, wanted: Mapping[int, Sequence[int]]) -> None:
    """Return when every broker sees these orders, and all of their replicas in sync."""

    def reached() -> bool:
        for broker in cluster.live_brokers:
            states = cluster.client.describe(topic, broker=broker.node_id)
            for partition, order in wanted.items():
                if states[partition].replicas != tuple(order) or set(states[partition].isr) != set(order):
                    return False
        return True

    wait_until(reached, _TIMEOUT_S, what=f"{topic} has the orders {dict(wanted)}")


def wait_in_sync(cluster: Cluster, topic: str) -> None:
    """Return when every replica of a topic is in sync."""
    wait_orders(cluster, topic, orders(cluster, topic))


def delete_topic(cluster: Cluster, topic: str) -> None:
    """Delete a topic; returns when every broker has forgotten it."""
    admin = _admin(cluster)
    admin.delete_topics([topic], operation_timeout=_TIMEOUT_S)[topic].result()
    for broker in cluster.live_brokers:
        wait_until(
            lambda node_id=broker.node_id: not cluster.client.describe(topic, broker=node_id),  # type: ignore[misc]
            _TIMEOUT_S,
            what=f"broker {broker.node_id} forgets {topic}",
        )


def add_partitions(cluster: Cluster, topic: str, assignment: Sequence[Sequence[int]]) -> None:
    """Give a topic more partitions, with these replicas."""
    total = len(cluster.client.describe(topic)) + len(assignment)
    admin = _admin(cluster)
    wanted = NewPartitions(topic, total, replica_assignment=[[*order] for order in assignment])
    admin.create_partitions([wanted], operation_timeout=_TIMEOUT_S)[topic].result()
    for broker in cluster.live_brokers:
        wait_until(
            lambda node_id=broker.node_id: len(cluster.client.describe(topic, broker=node_id)) == total,  # type: ignore[misc]
            _TIMEOUT_S,
            what=f"broker {broker.node_id} sees {total} partitions of {topic}",
        )


def _admin(cluster: Cluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap(node_settings.INTERNAL), "log_level": 0})


def _python_path() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
