# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Playbooks with a time for each task."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from typing import Any

from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.options import EngineName
from bench.kit.process_tree import ProcessTree
from bench.kit.row import CannotMeasureError, Run
from lab.playbook import PROJECT, command, signal_tree

_TASK = re.compile(r"TASK \[(?:[\w.]+ : )?(.+)\] \*")
_RECAP = "PLAY RECAP"
_START = "ansible-playbook starts"
_END = "ansible-playbook ends"


def timed_playbook(
    playbook: str,
    variables: Mapping[str, object],
    environment: Mapping[str, str] | None = None,
    *,
    timeout: float = 300.0,
    is_watched: bool = False,
) -> Run:
    """Run a playbook from the project's root, ``environment`` on top of ours.

    Its phases are the tasks, skipped ones included, and what comes before the first and after the last: read off the
    moments at which ansible-playbook prints its headings. ``is_watched`` adds CPU and memory of all its processes.

    Raises CannotMeasureError when the run fails, or takes longer than ``timeout`` seconds.
    """
    began = time.perf_counter()
    with subprocess.Popen(
        command(playbook, variables),
        cwd=PROJECT,
        env={**os.environ, "ANSIBLE_NOCOLOR": "1", **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        watchdog = threading.Timer(timeout, signal_tree, (process.pid, signal.SIGKILL))
        watchdog.start()
        tree = ProcessTree(process.pid)
        try:
            assert process.stdout is not None
            with tree if is_watched else nullcontext():
                lines = [(time.perf_counter(), line) for line in process.stdout]
                process.wait()
        finally:
            watchdog.cancel()
            if process.returncode is None:
                signal_tree(process.pid, signal.SIGKILL)
    ended = time.perf_counter()
    if process.returncode != 0:
        said = "".join(line for _moment, line in lines)
        raise CannotMeasureError(f"{playbook} ended with {process.returncode} after {ended - began:.0f} s:\n{said}")
    return Run(ended - began, _tasks(began, lines, ended) | (_resources(tree) if is_watched else {}))


def by_engine(engine: EngineName) -> dict[str, object]:
    """Return the variables of a recovery by this engine. On a busy machine, Spark needs more than the default wait."""
    return {"unclean_recovery_engine": engine.value, "unclean_recovery_spark_wait_ms": 120_000}


def check_engine(report: Mapping[str, Any], engine: EngineName) -> None:
    """Raise CannotMeasureError unless the report of a recovery names this engine."""
    if report["engine"]["name"] != engine:
        raise CannotMeasureError(f"engine {engine} was to be measured: {report['engine']['reason']}")


def _resources(tree: ProcessTree) -> dict[str, float]:
    return {
        "CPU seconds": tree.cpu_seconds,
        "GiB at the highest": tree.most_bytes / 2**30,
        **{f"GiB at the highest, {name}": size / 2**30 for name, size in tree.most_by_process},
    }


def _tasks(began: float, lines: Iterable[tuple[float, str]], ended: float) -> dict[str, float]:
    starts = [(began, _START)]
    for moment, line in lines:
        if heading := _TASK.match(line):
            starts.append((moment, heading[1]))
        elif line.startswith(_RECAP):
            starts.append((moment, _END))
    ends = [moment for moment, _line in starts[1:]] + [ended]
    return {what: end - start for (start, what), end in zip(starts, ends, strict=True)}
