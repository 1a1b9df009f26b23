# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The whole recovery of 100,000 offline partitions by the playbook, on the simulator: how it grows from a tenth."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.options import EngineName
from bench.kit.playbooks import by_engine, check_engine, timed_playbook
from bench.kit.row import CannotMeasureError, Options, Row, Run, Timing
from bench.kit.simulated import simulator
from lab.playbook import RECOVER
from simulator import offline_world

_MANY = int(os.environ.get("KAFKAOPS_BENCH_WHOLE", "100000"))
_PARTITIONS_PER_TOPIC = 1000
_BROKERS = 10
_LINEAR = 10.0
_NOT_SLOWER = 1.0
_TIMEOUT_S = 1500.0


def run(_options: Options) -> Iterator[Row]:
    """Once each, and a tenth first: ten times as long would be linear."""
    few, many = (
        Timing(f"{partitions:,} partitions: plan, elections, report, page", [_measured(partitions)])
        for partitions in (_MANY // 10, _MANY)
    )
    yield Row(few, many, _LINEAR)
    on_spark = _measured(_MANY, EngineName.SPARK)
    yield Row(many, Timing(f"{_MANY:,} on Spark", [on_spark]), _NOT_SLOWER)


def _measured(partitions: int, engine: EngineName = EngineName.PROCESS) -> Run:
    world = partial(offline_world, name_topics(partitions), range(1, _BROKERS + 1))
    with simulator(world) as bootstrap:
        # On a busy machine, the simulator included, 300,000 replicas do not answer within 30 s.
        return recovered(bootstrap, partitions, engine, duration_ms=300_000)


def name_topics(partitions: int) -> dict[str, int]:
    """Return the names of topics with at most 1,000 partitions each, with these numbers."""
    return {
        f"topic-{first:07}": min(_PARTITIONS_PER_TOPIC, partitions - first)
        for first in range(0, partitions, _PARTITIONS_PER_TOPIC)
    }


def recovered(bootstrap: str, partitions: int, engine: EngineName, *, duration_ms: int) -> Run:
    """Run the playbook, with a report and its page.

    Raises CannotMeasureError unless it recovers this number of partitions, and none is left.
    """
    with TemporaryDirectory() as scratch:
        report = Path(scratch, "report.json")
        variables = {
            "kafka_bootstrap_servers": bootstrap,
            "unclean_recovery_all_offline_partitions": True,
            "unclean_recovery_automated_recovery": True,
            "unclean_recovery_strategy": "aggressive",
            # The simulator has no controllers, and no records.
            "unclean_recovery_ignore_quorum": True,
            "unclean_recovery_salvage": "off",
            "unclean_recovery_duration_ms": duration_ms,
            **by_engine(engine),
            "unclean_recovery_report_file": str(report),
            "unclean_recovery_report_html": str(Path(scratch, "report.html")),
        }
        run = timed_playbook(RECOVER, variables, timeout=_TIMEOUT_S, is_watched=True)
        _check_recovered(bootstrap, report, partitions, engine)
        sizes = {
            f"MiB of the {each.suffix[1:]} report": each.stat().st_size / 2**20
            for each in Path(scratch).glob("report.*")
        }
    return Run(run.seconds, {**run.phases, **sizes})


def _check_recovered(bootstrap: str, report: Path, partitions: int, engine: EngineName) -> None:
    document = json.loads(report.read_bytes())
    check_engine(document, engine)
    summary = document["summary"]
    if summary["recovered"] != partitions:
        raise CannotMeasureError(f"of {partitions}, {summary} were recovered")
    with Wire(settings_from({"bootstrap_servers": bootstrap})) as wire:
        left = [each for each in Kafka(wire).describe_partitions().partitions if each.is_offline]
    if left:
        raise CannotMeasureError(f"{len(left)} of {partitions} have no leader, the first: {left[0]}")
