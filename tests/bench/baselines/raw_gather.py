# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read log end offsets and last written leader epochs of one broker's replicas with the fewest requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka.protocol.consumer import FetchRequest, FetchResponse

from bench.baselines.batches import batches
from bench.kit.row import CannotMeasureError
from lab.wire import ask, log_end_offsets

_FETCH_VERSION = 12
_CONSUMER = -1
_BEYOND_ANY_LOG = 2**62
_OFFSET_OUT_OF_RANGE = 1
_TIMEOUT_S = 60.0
_NO_SESSION: dict[str, Any] = {"session_id": 0, "session_epoch": -1, "forgotten_topics_data": []}

Held = tuple[int | None, int]
"""Log end offset, last written leader epoch."""


def gather(host: str, port: int, topic: str, epochs: Mapping[int, int]) -> dict[int, Held]:
    """Held by partition; ``epochs`` has each partition's current leader epoch.

    Raises CannotMeasureError when a partition is refused, OSError when the broker does not answer.
    """
    held: dict[int, Held] = {}
    for batch in batches(list(epochs)):
        ends = log_end_offsets(host, port, topic, list(batch), timeout=_TIMEOUT_S)
        last_epochs = _last_written_epochs(host, port, topic, {partition: epochs[partition] for partition in batch})
        held.update({partition: (ends[partition], last_epochs[partition]) for partition in batch})
    return held


def _last_written_epochs(host: str, port: int, topic: str, epochs: dict[int, int]) -> dict[int, int]:
    """Search downwards from the current epoch until the broker knows one, with all partitions in each request."""
    found: dict[int, int] = {}
    while epochs:
        lower: dict[int, int] = {}
        for answer in _probe(host, port, topic, epochs):
            if answer.error_code == _OFFSET_OUT_OF_RANGE and epochs[answer.partition_index] > 0:
                lower[answer.partition_index] = epochs[answer.partition_index] - 1
            elif answer.error_code:
                raise CannotMeasureError(f"Fetch of {topic}-{answer.partition_index}: error code {answer.error_code}")
            else:
                found[answer.partition_index] = answer.diverging_epoch.epoch
        epochs = lower
    return found


def _probe(host: str, port: int, topic: str, epochs: Mapping[int, int]) -> Sequence[Any]:
    wanted = FetchRequest.FetchTopic
    request = FetchRequest[_FETCH_VERSION](
        replica_id=_CONSUMER,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1,
        isolation_level=0,
        topics=[
            wanted(
                topic=topic,
                partitions=[
                    wanted.FetchPartition(
                        partition=partition,
                        current_leader_epoch=-1,
                        fetch_offset=_BEYOND_ANY_LOG,
                        last_fetched_epoch=epoch,
                        log_start_offset=-1,
                        partition_max_bytes=1,
                    )
                    for partition, epoch in epochs.items()
                ],
            )
        ],
        rack_id="",
        **_NO_SESSION,
    )
    response = ask(host, port, request, FetchResponse, timeout=_TIMEOUT_S)
    (answered,) = response.responses
    return list(answered.partitions)
