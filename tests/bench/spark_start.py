# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Spark: from the start of a process to its first ranked result."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.kit import first_ranked
from bench.kit.own_cache import OwnCache, own_cache
from bench.kit.row import CannotMeasureError, Options, Row, Run, Timing
from bench.kit.timing import in_turns

_GOAL = 0.35


def run(options: Options) -> Iterator[Row]:
    """Compare the collection's session with PySpark's default."""
    with own_cache() as cache:
        _first_ranked(first_ranked.OURS, options, cache)
        cache.wait_for_archive()
        plain, without_workers, later, first = in_turns(
            options.repeats,
            lambda: _first_ranked(first_ranked.PLAIN, options, cache),
            lambda: _first_ranked(first_ranked.PLAIN_WITHOUT_WORKERS, options, cache),
            lambda: _first_ranked(first_ranked.OURS, options, cache),
            lambda: _first_on_a_host(options),
        )
    baseline = Timing("PySpark out of the box, whose tasks ask", plain)
    ours = Timing("our session, with the class archive", later)
    yield Row(baseline, ours, _GOAL)
    yield Row(Timing("PySpark out of the box, this process asks", without_workers), ours)
    yield Row(baseline, Timing("our session, first on a host: it records the archive", first))


def _first_on_a_host(options: Options) -> Run:
    with own_cache() as cache:
        run = _first_ranked(first_ranked.OURS, options, cache)
        cache.wait_for_archive()
    return run


def _first_ranked(kind: str, options: Options, cache: OwnCache) -> Run:
    """Raise CannotMeasureError if the process fails."""
    command = [sys.executable, "-m", first_ranked.__name__, kind, str(options.partitions)]
    environment = {**os.environ, **cache.environment, "PYSPARK_PYTHON": sys.executable}
    moments: dict[str, float] = {}
    with TemporaryDirectory(prefix="kafkaops-bench-") as name:
        said = Path(name, "stderr")
        with said.open("w", encoding="utf-8") as stderr:
            began = time.perf_counter()
            with subprocess.Popen(
                command, env=environment, stdout=subprocess.PIPE, stderr=stderr, text=True
            ) as process:
                assert process.stdout is not None
                for line in process.stdout:
                    moments[line.strip()] = time.perf_counter() - began
        if process.returncode or first_ranked.RANKED not in moments:
            raise CannotMeasureError(f"{' '.join(command)} ended with {process.returncode}:\n{said.read_text()}")
    started, ranked = moments[first_ranked.STARTED], moments[first_ranked.RANKED]
    return Run(ranked, {"to the session": started, "to the first ranked result": ranked - started})
