# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plan new replicas for 10,000 partitions on 100 simulated brokers that lost a rack, compared with reading alone."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._redundancy.looking import look
from bench.kit.row import CannotMeasureError, Options, Row, Run, Timing
from bench.kit.simulated import simulator
from bench.kit.timing import in_turns, timed
from lab.module_process import results, start_module
from simulator.world import World, offline_world

_BROKERS = range(1, 101)
_RACKS = 3
_LOST = [each for each in _BROKERS if each % _RACKS == 0]
"""All brokers of a rack. Replicas are on consecutive brokers, so nearly each partition has one of them."""
_TOPICS, _PARTITIONS = 100, 100
_LEAST_MOVES = 0.98
_GOAL = 8.0
"""A ratio. In seconds: at most 10 on two cores."""


def run(options: Options) -> Iterator[Row]:
    """Compare the module, from its start to its plan in a file, with the requests that the plan is made from."""
    with simulator(_world) as bootstrap, tempfile.TemporaryDirectory() as directory:
        plan = Path(directory, "plan.json")
        reads, plans = in_turns(
            options.repeats, lambda: timed(lambda: _read(bootstrap)), lambda: _plan(bootstrap, plan)
        )
    what = f"{_TOPICS * _PARTITIONS:,} partitions of {len(_BROKERS)} brokers"
    yield Row(Timing(f"{what} read", reads), Timing(f"{what}, a rack lost: planned by the module", plans), _GOAL)


def _world() -> World:
    racks = {each: f"rack-{each % _RACKS}" for each in _BROKERS}
    live = [each for each in _BROKERS if each not in _LOST]
    world = offline_world({f"topic-{each:03}": _PARTITIONS for each in range(_TOPICS)}, live, dead=_LOST)
    world.racks.update(racks)
    for topic in world.topics.values():
        for each in topic.partitions.values():
            each.isr = tuple(broker for broker in each.replicas if broker in live)
            each.leader = each.isr[0]
    return world


def _read(bootstrap: str) -> None:
    with Wire(settings_from({"bootstrap_servers": bootstrap})) as wire:
        kafka = Kafka(wire)
        cluster = kafka.describe_cluster()
        found = look(kafka, cluster, kafka.probe_brokers(cluster))
    if len(found.sizes) != _TOPICS * _PARTITIONS:
        raise CannotMeasureError(f"{len(found.sizes)} partitions have a size")


def _plan(bootstrap: str, plan: Path) -> Run:
    began = time.perf_counter()
    options = {"bootstrap_servers": [bootstrap], "lost_brokers": _LOST, "plan_output_file": str(plan)}
    planned = results(start_module("redundancy", options))
    seconds = time.perf_counter() - began
    plan.unlink(missing_ok=True)
    if planned.get("failed") or planned["summary"]["would_restore"] < _TOPICS * _PARTITIONS * _LEAST_MOVES:
        raise CannotMeasureError(f"not all is planned: {planned.get('msg')} {planned.get('summary')}")
    return Run(seconds)
