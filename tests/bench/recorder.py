# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Record 600,000 replicas of 100 simulated brokers: all of them first, then those of 1 % that changed."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice

from bench.kit.process_tree import ProcessTree
from bench.kit.row import CannotMeasureError, Options, Row, Run, Timing
from bench.kit.simulated import simulator
from lab.module_process import results, start_module
from simulator import a_million_replicas
from simulator.world import Partition, World

_MANY = int(os.environ.get("KAFKAOPS_BENCH_REPLICAS", "600000"))
_BROKERS = 100
_CHANGED = 100
"""One partition of so many changes between the snapshots."""
_FEW = 10
_LINEAR = 10.0


def run(_options: Options) -> Iterator[Row]:
    """Measure each once, because they take long. The first has a tenth of the replicas, to show the growth."""
    few, (full, part) = _recorded(_MANY // _FEW), _recorded(_MANY)
    yield Row(few[0], full, _LINEAR)
    yield Row(few[1], part, _LINEAR)


def led(replicas: int) -> World:
    """Return a world in which every partition has a leader, and all replicas are in sync."""
    world = a_million_replicas(replicas, _BROKERS)
    for number, each in enumerate(_partitions(world)):
        each.leader, each.isr = each.replicas[0], each.replicas
        # All logs differ, as those of a real cluster do: equal ones would take nearly no bytes in a snapshot.
        end = 100 + number * 7919 % 15_485_863
        each.logs = {
            broker_id: replace(log, log_end_offset=end, size_bytes=end * 1000 + broker_id)
            for broker_id, log in each.logs.items()
        }
    return world


def grown(replicas: int) -> World:
    """Return that world after one partition of a hundred got more records, on all of its replicas."""
    world = led(replicas)
    for each in islice(_partitions(world), 0, None, _CHANGED):
        each.logs = {
            broker_id: replace(log, log_end_offset=log.log_end_offset + 1000, size_bytes=log.size_bytes + 1000)
            for broker_id, log in each.logs.items()
        }
    return world


def _partitions(world: World) -> Iterator[Partition]:
    for topic in world.topics.values():
        yield from topic.partitions.values()


def _recorded(replicas: int) -> tuple[Timing, Timing]:
    """Return the times of a snapshot of all replicas, and of one of those that changed."""
    with tempfile.TemporaryDirectory() as directory:
        full = _timed(partial(led, replicas), directory, is_full=True)
        return full, _timed(partial(grown, replicas), directory, is_full=False)


def _timed(make_world: Callable[[], World], directory: str, *, is_full: bool) -> Timing:
    with simulator(make_world) as bootstrap:
        options = {"recorder_dir": directory, "request_timeout_ms": 30_000}
        began = time.perf_counter()
        process = start_module("cluster_recording", {"bootstrap_servers": [bootstrap], **options})
        with ProcessTree(process.pid) as tree:
            recorded = results(process)
        seconds = time.perf_counter() - began
    if recorded.get("failed") or recorded["missing"] or recorded["is_full"] != is_full:
        raise CannotMeasureError(f"the cluster was not recorded as expected: {recorded}")
    phases = {
        "CPU seconds, all processes but the simulator": tree.cpu_seconds,
        **{f"GiB at the highest, {name}": size / 2**30 for name, size in tree.most_by_process},
        "MB of the snapshot": recorded["size_bytes"] / 10**6,
    }
    what = (
        f"{'all' if is_full else recorded['stored_rows']} of {recorded['replicas']:,} replicas recorded, at most "
        f"{tree.most_bytes / 2**30:.1f} GiB, {recorded['size_bytes'] / 10**6:.1f} MB"
    )
    return Timing(what, [Run(seconds, phases)])
