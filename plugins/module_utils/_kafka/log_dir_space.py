# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the space of a broker's log directories (DescribeLogDirs, API key 35; KIP-827, and KIP-1066 since Kafka 4.3).

A broker returns the space of the volume that a directory is on, so directories on one volume return the same.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from .._model.partition import TopicPartition
from . import error_codes
from .connection import Connection

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    from kafka.protocol.admin import DescribeLogDirsRequest

_UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class LogDirSpace:
    """One log directory."""

    path: str
    error: str
    """Why it is offline; empty if it is online."""
    total_bytes: int | None
    usable_bytes: int | None
    """Both None if the broker does not know them."""
    is_cordoned: bool
    """The broker puts no new replicas there. False before Kafka 4.3."""
    sizes: dict[TopicPartition, int]
    """The bytes of each replica in it, without future replicas."""
    future_sizes: dict[TopicPartition, int]
    """The bytes that each future replica in it has so far. The broker moves these logs here from another of its log
    directories (AlterReplicaLogDirs)."""


def describe_log_dir_space(connection: Connection, *, with_sizes: bool = True) -> tuple[LogDirSpace, ...]:
    """Return all log directories of a broker with their space. ``with_sizes`` False: without the sizes of replicas.

    Raises BrokerCallError, or RequestRefusedError if our principal lacks DESCRIBE on the cluster.
    """
    response = connection.call(DescribeLogDirsRequest(topics=None if with_sizes else []))
    code = response.error_code or (0 if response.results else error_codes.CLUSTER_AUTHORIZATION_FAILED)
    if code:
        raise error_codes.request_refused_error("DescribeLogDirs", code, None)
    return tuple(
        LogDirSpace(
            each.log_dir,
            error_codes.describe_error(each.error_code) if each.error_code else "",
            _known(getattr(each, "total_bytes", _UNKNOWN)),
            _known(getattr(each, "usable_bytes", _UNKNOWN)),
            bool(getattr(each, "is_cordoned", False)),
            _sizes(each, of_future=False),
            _sizes(each, of_future=True),
        )
        for each in response.results
    )


def _sizes(log_dir: Any, *, of_future: bool) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic.name, each.partition_index): each.partition_size
        for topic in log_dir.topics
        for each in topic.partitions
        if bool(each.is_future_key) == of_future
    }


def _known(value: int | None) -> int | None:
    return None if value is None or value == _UNKNOWN else value
