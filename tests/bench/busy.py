# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The whole recovery within a busy cluster: most partitions have leaders, brokers are distant, and two of them hang."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice

from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.options import EngineName
from bench.kit.row import Options, Row, Timing
from bench.kit.simulated import simulator
from bench.whole import name_topics, recovered
from lab.faults import Delay, Fault, SwallowRequest
from simulator import Log, World, offline_world

_PARTITIONS = int(os.environ.get("KAFKAOPS_BENCH_BUSY", "200000"))
_OFFLINE = _PARTITIONS * 3 // 10
_HUNG = (99, 100)
_LIVE = range(1, 99)
_ROUND_TRIP_S = 0.02
_DURATION_MS = 30_000
"""The default: so long, a run waits for hung brokers whose answer may decide an election."""
_REPLICATED = Log(((0, 0), (7, 100)), 110)
"""What every replica of a partition with a leader holds."""


def run(_options: Options) -> Iterator[Row]:
    """Once each. The baseline is the same cluster nearby, whose hung brokers answer."""
    faults: dict[int | None, Fault] = {None: Delay(_ROUND_TRIP_S)} | dict.fromkeys(_HUNG, SwallowRequest())
    what = f"{_OFFLINE:,} of {_PARTITIONS:,} partitions"
    with simulator(_world) as bootstrap:
        near = recovered(bootstrap, _OFFLINE, EngineName.PROCESS, duration_ms=_DURATION_MS)
        undisturbed = Timing(f"{what}, all brokers near and well", [near])
    for engine in (EngineName.PROCESS, EngineName.SPARK):
        with simulator(_world, faults) as bootstrap:
            busy = recovered(bootstrap, _OFFLINE, engine, duration_ms=_DURATION_MS)
        gib = busy.phases["GiB at the highest"]
        yield Row(undisturbed, Timing(f"two of 100 hung, 20 ms away, {engine}, at most {gib:.1f} GiB", [busy]))


def _world() -> World:
    """Return a cluster whose controller has fenced the hung brokers. Its first partitions are offline."""
    world = offline_world(name_topics(_PARTITIONS), _LIVE, dead=_HUNG)
    world.fenced = _HUNG
    every = (each for topic in world.topics.values() for each in topic.partitions.values())
    for each in islice(every, _OFFLINE, None):
        each.isr = tuple(broker for broker in each.replicas if broker in _LIVE)
        each.leader = each.isr[0]
        each.logs = dict.fromkeys(each.replicas, _REPLICATED)
    return world
