# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How busy the module redundancy keeps its throttle, with few large partitions and with many small ones.

What each broker copies is read from its disk. Kafka's quota lets the first seconds pass faster, and at the end there is
less to copy than the quota allows, so only the time in between counts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from subprocess import Popen

from bench.kit.row import CannotMeasureError, Options, Row, Run, Timing
from lab import Cluster, wait_until
from lab.module_process import results, start_module

_BYTES_PER_SECOND = 2_000_000
_BURST_S, _TAIL_S = 14.0, 4.0
"""Kafka averages over 11 samples of a second, and begins with empty ones."""
_FETCH_BYTES = 100_000
"""A fetch takes this much of each partition, whatever the quota: less than by default, so the rate is smoother."""
_LOST = 4
_RECORD_BYTES = 50_000
_GOAL = 1.11
"""That is 90 % busy."""


@dataclass(frozen=True)
class _Kind:
    name: str
    partitions: int
    records: int
    batches: int


_KINDS = (_Kind("large", 12, 18, 27), _Kind("small", 960, 6, 1))


def run(_options: Options) -> Iterator[Row]:
    """Measure each kind once, with the default number of replicas at a time."""
    for kind in _KINDS:
        with Cluster(brokers=4, heap="512m", properties={"replica.fetch.max.bytes": _FETCH_BYTES}) as cluster:
            # Each partition has a leader that stays, and a replica on the broker that is lost.
            replicas = {number: [1 + number % 3, _LOST] for number in range(kind.partitions)}
            cluster.client.create_topic("waves", replicas)
            for _ in range(kind.batches):
                cluster.client.produce("waves", range(kind.partitions), kind.records, record_bytes=_RECORD_BYTES)
            cluster.brokers[_LOST].kill()
            wait_until(
                lambda cluster=cluster: all(
                    _LOST not in each.isr for each in cluster.client.describe("waves").values()
                ),  # type: ignore[misc]
                60,
                what="the lost broker has left every ISR",
            )
            options = {
                "bootstrap_servers": [cluster.bootstrap()],
                "lost_brokers": [_LOST],
                "apply": True,
                "throttle_bytes_per_second": _BYTES_PER_SECOND,
            }
            busy = _watched(cluster, start_module("redundancy", options))
        what = f"{kind.partitions} {kind.name} partitions"
        yield Row(
            Timing(f"{what}: as fast as the throttle allows", [Run(1.0)]),
            Timing(f"as copied, the slowest of three brokers {busy:.0%} busy", [Run(1 / busy)]),
            _GOAL,
        )


def _watched(cluster: Cluster, process: Popen[str]) -> float:
    """Return the least share of the throttle that a broker used while it had enough to copy."""
    before = _sizes(cluster)
    samples: list[tuple[float, Mapping[int, int]]] = []
    with ThreadPoolExecutor(1) as reader:
        running = reader.submit(results, process)
        while not running.done():
            samples.append((time.monotonic(), _sizes(cluster)))
            time.sleep(0.5)
    done = running.result()
    if done.get("failed"):
        raise CannotMeasureError(str(done.get("msg")))
    return min(_busy(broker, before[broker], samples) for broker in before)


def _busy(broker: int, before: int, samples: list[tuple[float, Mapping[int, int]]]) -> float:
    end = samples[-1][1][broker]
    began = next(at for at, sizes in samples if sizes[broker] > before)
    inside = [
        (at, sizes[broker])
        for at, sizes in samples
        if at - began > _BURST_S and end - sizes[broker] > _TAIL_S * _BYTES_PER_SECOND
    ]
    if len(inside) < 2:
        raise CannotMeasureError(f"broker {broker} copied {end - before} bytes, too few to measure a rate")
    (first_at, first), (last_at, last) = inside[0], inside[-1]
    return (last - first) / (last_at - first_at) / _BYTES_PER_SECOND


def _sizes(cluster: Cluster) -> dict[int, int]:
    """Return the bytes of the topic's segments on the disks of each broker that is up."""
    return {
        broker.node_id: sum(each.stat().st_size for path in broker.data_dirs for each in path.glob("waves-*/*.log"))
        for broker in cluster.live_brokers
    }
