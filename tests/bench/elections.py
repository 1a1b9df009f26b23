# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Planned elections of 100,000 partitions, by the detour over replica orders: how it grows from a tenth of them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from functools import partial

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal_reader import JournalOptions
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import NullProgress
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.designations import plan_from_designations
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.election_run import (
    ElectionOptions,
    run_elections,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from bench.kit.row import CannotMeasureError, Options, Row, Run, Timing
from bench.kit.simulated import simulator
from simulator import offline_world

_MANY = int(os.environ.get("KAFKAOPS_BENCH_ELECTIONS", "100000"))
_TOPIC = "orders"
_BROKERS = (1, 2, 3)
_DESIGNATED = 3
_LINEAR = 10.0


def run(_options: Options) -> Iterator[Row]:
    """Measure a tenth, all, and the tenth twice more, because a machine changes its speed within a minute."""
    before, many, *after = (_measured(partitions) for partitions in (_MANY // 10, _MANY, _MANY // 10, _MANY // 10))
    few = Timing(before.what, [run for timing in (before, *after) for run in timing.runs])
    yield Row(few, many, _LINEAR)


def _measured(partitions: int) -> Timing:
    with (
        simulator(partial(offline_world, {_TOPIC: partitions}, _BROKERS)) as bootstrap,
        Wire(settings_from({"bootstrap_servers": bootstrap})) as wire,
    ):
        options = ElectionOptions(
            journal=JournalOptions(),
            attempts=3,
            verify_timeout_ms=30_000,
            check_mode=False,
        )
        began, began_cpu = time.perf_counter(), time.process_time()
        plan = plan_from_designations(
            Kafka(wire), {TopicPartition(_TOPIC, each): _DESIGNATED for each in range(partitions)}
        )
        planned = time.perf_counter()
        report = run_elections(Kafka(wire), plan, options, NullProgress(), threading.Event())
        ended = time.perf_counter()
        cpu_seconds = time.process_time() - began_cpu
    not_done = [each for each in report.outcomes if each.status is not Status.RECOVERED]
    if not_done or len(report.outcomes) != partitions:
        raise CannotMeasureError(f"{len(not_done)} of {partitions} were not elected, the first: {not_done[:1]}")
    phases = {"to the plan": planned - began, "to the end": ended - planned, "our own CPU seconds": cpu_seconds}
    return Timing(f"{partitions:,} planned elections", [Run(ended - began, phases)])
