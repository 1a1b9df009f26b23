# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Asking one broker, where the task runs: the one thing in a gather that touches the network."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TypeAlias

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.broker import Broker
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.errors import KafkaOpsError
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils.model.replica_log import ReplicaLog

AskBroker: TypeAlias = Callable[[str, Broker, Sequence[TopicPartition], float], list[ReplicaLog]]
"""(settings reference, broker, partitions, deadline in time.monotonic() seconds) -> one log per partition."""


class NoKafkaClientError(KafkaOpsError):
    """No broker can be asked from where the task runs. The message says why, and what to do."""


def ask_broker(
    settings_reference: str, broker: Broker, partitions: Sequence[TopicPartition], deadline: float
) -> list[ReplicaLog]:
    """Asks one broker about its replicas, with the connection settings that the reference leads to on this host.

    Raises KafkaOpsError where they cannot be read, or kafka-python is missing.
    """
    _check_client()
    # Spark's planning processes unpickle this function too: each would pay for importing a Kafka client.
    from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.replica_logs import probe_replicas  # noqa: PLC0415
    from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.settings import read_settings_reference  # noqa: PLC0415

    return probe_replicas(read_settings_reference(settings_reference), broker, partitions, deadline)


@dataclass(frozen=True, slots=True)
class AskNatively:
    """Callable like ``ask_broker``. Log ends come from the proposals' own RPC, under the operator's key."""

    api_key: int
    topic_ids: Mapping[str, str]
    """By topic name, in Kafka's text form."""

    def __call__(
        self, settings_reference: str, broker: Broker, partitions: Sequence[TopicPartition], deadline: float
    ) -> list[ReplicaLog]:
        _check_client()
        from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.native_source import NativeSource  # noqa: PLC0415
        from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.replica_logs import (  # noqa: PLC0415
            NativeQuestion,
            probe_replicas,
        )
        from ansible_collections.kafkaops.recovery.plugins.module_utils.kafka.settings import read_settings_reference  # noqa: PLC0415

        question = NativeQuestion(NativeSource(self.api_key), self.topic_ids)
        return probe_replicas(read_settings_reference(settings_reference), broker, partitions, deadline, question)


def _check_client() -> None:
    """Modules check the host that they run on. Executors may be elsewhere."""
    if find_spec("kafka") is None:
        raise NoKafkaClientError(
            f"{sys.executable} on {socket.gethostname()}, which Spark's tasks run with, lacks kafka-python: install it "
            "there (docs/spark.md), or name a Python that has it in spark.executor_python"
        )
