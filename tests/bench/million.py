# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Gather and rank a million replicas on 100 simulated brokers: the growth of the time, and Spark's time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial

from bench.kit import gathered_and_ranked
from bench.kit.gathered_and_ranked import ON_SPARK, WITHOUT_SPARK
from bench.kit.process_tree import ProcessTree
from bench.kit.row import CannotMeasureError, Options, Row, Run, Timing
from bench.kit.simulated import simulator
from simulator import a_million_replicas

_MANY = int(os.environ.get("KAFKAOPS_BENCH_REPLICAS", "1000000"))
_BROKERS = 100
_LINEAR = 10.0
_NOT_SLOWER = 1.0


def run(_options: Options) -> Iterator[Row]:
    """Measure each once, because they take long. The first has a tenth of the replicas, to show the growth."""
    few, many = (_measured(replicas, WITHOUT_SPARK) for replicas in (_MANY // 10, _MANY))
    yield Row(few, many, _LINEAR)
    yield Row(many, _measured(_MANY, ON_SPARK), _NOT_SLOWER)


def _measured(replicas: int, where: str) -> Timing:
    with simulator(partial(a_million_replicas, replicas, _BROKERS)) as bootstrap:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-m", gathered_and_ranked.__name__, bootstrap, where]
        moments: dict[str, float] = {}
        began = before = time.perf_counter()
        with (
            subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process,
            ProcessTree(process.pid) as tree,
        ):
            assert process.stdout is not None
            for line in process.stdout:
                now = time.perf_counter()
                moments[line.strip()], before = now - before, now
        if process.returncode:
            raise CannotMeasureError(f"{' '.join(command)} ended with {process.returncode}")
    phases = {
        **moments,
        "CPU seconds, all processes but the simulator": tree.cpu_seconds,
        **{f"GiB at the highest, {name}": size / 2**30 for name, size in tree.most_by_process},
    }
    what = f"{replicas:,} replicas by engine {where}, at most {tree.most_bytes / 2**30:.1f} GiB"
    return Timing(what, [Run(before - began, phases)])
