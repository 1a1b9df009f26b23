# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Designated elections with the fewest requests: no checks before or after, and no journal."""

from __future__ import annotations

from collections.abc import Sequence

from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
)

from bench.baselines.batches import batches
from bench.kit.row import CannotMeasureError
from lab.scenarios import Offline
from lab.wire import ask

_TIMEOUT_S = 60.0
_TIMEOUT_MS = 60_000
_UNCLEAN = 1


def recover(host: str, port: int, offline: Offline) -> None:
    """Reorder, elect, restore: three requests for each batch, one after the other, to one broker.

    Raises CannotMeasureError when a partition is refused, OSError when the broker does not answer.
    """
    best_first = [offline.best, *(replica for replica in offline.replicas if replica != offline.best)]
    for batch in batches(offline.partitions):
        _reorder(host, port, offline.topic, batch, best_first)
        _elect(host, port, offline.topic, batch)
        _reorder(host, port, offline.topic, batch, offline.replicas)


def _reorder(host: str, port: int, topic: str, partitions: Sequence[int], order: Sequence[int]) -> None:
    wanted = AlterPartitionReassignmentsRequest.ReassignableTopic
    request = AlterPartitionReassignmentsRequest[0](
        timeout_ms=_TIMEOUT_MS,
        topics=[
            wanted(
                name=topic,
                partitions=[
                    wanted.ReassignablePartition(partition_index=partition, replicas=list(order))
                    for partition in partitions
                ],
            )
        ],
    )
    response = ask(host, port, request, AlterPartitionReassignmentsResponse, timeout=_TIMEOUT_S)
    _check(
        request,
        response.error_code,
        [partition.error_code for answered in response.responses for partition in answered.partitions],
    )


def _elect(host: str, port: int, topic: str, partitions: Sequence[int]) -> None:
    request = ElectLeadersRequest[2](
        election_type=_UNCLEAN,
        topic_partitions=[ElectLeadersRequest.TopicPartitions(topic=topic, partitions=list(partitions))],
        timeout_ms=_TIMEOUT_MS,
    )
    response = ask(host, port, request, ElectLeadersResponse, timeout=_TIMEOUT_S)
    _check(
        request,
        response.error_code,
        [
            partition.error_code
            for elected in response.replica_election_results
            for partition in elected.partition_result
        ],
    )


def _check(request: object, error_code: int, partition_codes: Sequence[int]) -> None:
    if error_code or any(partition_codes):
        codes = sorted(set(partition_codes))
        raise CannotMeasureError(f"{type(request).__name__}: error code {error_code}, of its partitions {codes}")
