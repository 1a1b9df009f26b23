# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The class archive's whole life, with real JVMs: recorded by the first session, mapped by the second."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from lab.waiting import wait_until

_SESSION = """
import pathlib
from pyspark import SparkContext
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.on_spark import rehearse
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.session import spark_session
with spark_session(rehearse=rehearse, wait_for_class_archive=True) as spark:
    assert spark.range(3).count() == 3
    print(pathlib.Path(f"/proc/{SparkContext._gateway.proc.pid}/maps").read_text())
"""


@pytest.mark.wide
def test_the_first_session_records_what_the_second_maps(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "XDG_CACHE_HOME": str(tmp_path)}
    maps = [
        subprocess.run(
            [sys.executable, "-c", _SESSION], env=environment, stdout=subprocess.PIPE, text=True, check=True
        ).stdout
        for _time in range(2)
    ]
    [archive] = (tmp_path / "kafkaops.recovery").glob("*.jsa")
    assert str(archive) not in maps[0]
    assert str(archive) in maps[1]


_TOO_SLOW = """
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.engines import Engines
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.rows import REPLICA_LOG_SCHEMA
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.options import EngineOptions
with Engines(EngineOptions(wait_ms=0)) as engines:
    engines.begin(1)
    engines.rank(REPLICA_LOG_SCHEMA.empty_table())
    print(engines.use.reason)
"""


@pytest.mark.wide
def test_a_run_for_which_spark_starts_too_slowly_lets_another_process_write_the_archive(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "XDG_CACHE_HOME": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", _TOO_SLOW], env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    assert ran.stdout.strip() == "Spark was not ready 0 s after its work was there"
    cache = tmp_path / "kafkaops.recovery"
    wait_until(lambda: bool([*cache.glob("*.jsa")]), 240, what="the class archive is written")
    wait_until(lambda: not any(b"make_class_archive" in each for each in _commands()), 60, what="its writer ends")


def _commands() -> Iterator[bytes]:
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # the process has ended
            yield command.read_bytes()
