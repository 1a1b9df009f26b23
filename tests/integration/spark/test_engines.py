# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whatever happens to Spark, a run ranks the same rows, does not wait for long, and says what happened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lab.waiting import wait_until

_LIMIT_S = 60
"""For what takes a second on an idle machine."""

# In a process of its own: PySpark has one session per process, and the other tests use the session of this process.
_PROGRAM = """
import json, os, signal, sys, threading, time
from pathlib import Path
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.engines import Engines
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.rows import rank_table
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.options import *
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark import session
from unit.fakes.brokers import a_log
from unit.recovery.test_ranking import to_table

ROWS = to_table([a_log("orders", number, broker, (3, 9), (4, 9 + broker)) for number in range(40) for broker in (1, 2)])
ORDER = [(name, "ascending") for name in ("topic", "partition", "broker_id")]

def jvms():
    return [each for each in session._children() if any(name in session._command_of(each) for name in DIRECTORIES)]

DIRECTORIES = session._OPEN_DIRECTORIES

def signal_jvm(number):
    def send(engines):
        while not jvms():
            time.sleep(0.01)
        [os.kill(each, number) for each in jvms()]
    return send

def wait_until_open(engines):
    engines._ahead.opened()

def rank(options, *hurt, after=lambda engines: None):
    with Engines(options) as engines:
        engines.begin(80)
        for each in hurt:
            each(engines)
        began = time.monotonic()
        ranked = engines.rank(ROWS)
        took = time.monotonic() - began
        expected = rank_table(ROWS).sort_by(ORDER)
        same = ranked.select(expected.column_names).sort_by(ORDER).equals(expected)
        after(engines)
        again = engines.rank(ROWS).select(expected.column_names).sort_by(ORDER).equals(expected)
        use = engines.use
        ending = time.monotonic()
    print(json.dumps({"engine": use.name, "reason": use.reason, "same": same and again, "took": took,
                      "ended": time.monotonic() - ending}))

"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "tmp").mkdir()
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path / "tmp")}


def run(body: str, environment: dict[str, str], first: str = "") -> list[dict[str, Any]]:
    """Run a program, and return what it printed for each ranking. Nothing is left of its sessions."""
    ran = subprocess.run(
        [sys.executable, "-c", first + _PROGRAM + body], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    assert all(each["same"] for each in found), found
    temporary = environment["TMPDIR"]
    wait_until(lambda: not any(Path(temporary).iterdir()), 5, what="the temporary files of all sessions are removed")
    return found


@pytest.mark.parametrize(
    ("hurt", "reason"),
    [
        ("signal_jvm(signal.SIGKILL)", "Spark did not start: "),
        pytest.param(
            "wait_until_open, signal_jvm(signal.SIGKILL)", "Spark's JVM ended: it was killed", marks=pytest.mark.wide
        ),
        pytest.param(
            "wait_until_open, signal_jvm(signal.SIGSTOP)", "Spark did not finish within 1 s", marks=pytest.mark.wide
        ),
        ("signal_jvm(signal.SIGSTOP)", "Spark was not ready 1 s after its work was there"),
    ],
    ids=["killed while it starts", "killed before it ranks", "frozen before it ranks", "frozen while it starts"],
)
def test_a_jvm_that_is_lost_costs_the_wait_at_most(hurt: str, reason: str, environment: dict[str, str]) -> None:
    [found] = run(f"rank(EngineOptions(wait_ms=1000), {hurt})", environment)
    assert found["engine"] == "process"
    assert found["reason"].startswith(reason), found
    assert found["took"] < _LIMIT_S, "the wait, and the end of the JVM"
    assert found["ended"] < _LIMIT_S


def test_a_jvm_that_is_killed_while_it_ranks_costs_nothing_but_time(environment: dict[str, str]) -> None:
    body = """
def kill_soon(engines):
    threading.Timer(0.05, signal_jvm(signal.SIGKILL), [engines]).start()
rank(EngineOptions(), wait_until_open, kill_soon)
"""
    [found] = run(body, environment)
    assert found["engine"] == "process"
    assert "JVM ended" in found["reason"]


@pytest.mark.wide
def test_a_jvm_that_is_killed_after_it_ranked_is_not_missed(environment: dict[str, str]) -> None:
    [found] = run("rank(EngineOptions(wait_ms=60_000), after=signal_jvm(signal.SIGKILL))", environment)
    assert (found["engine"], "JVM ended" in found["reason"]) == ("process", True), found


@pytest.mark.wide
def test_a_jvm_that_freezes_at_its_end_does_not_stay(environment: dict[str, str]) -> None:
    body = """
with Engines(EngineOptions(wait_ms=60_000, spark=SparkOptions(conf={"spark.x": "no kill"}))) as it:
    it.begin(80)
    it.rank(ROWS)
    pids = jvms()
    signal_jvm(signal.SIGSTOP)(it)
print(json.dumps({"same": True, "pids": pids}))
"""
    [found] = run(body, environment)
    wait_until(lambda: not any(Path(f"/proc/{each}").exists() for each in found["pids"]), 5, what="the JVM ends")


def test_without_java_or_memory_or_pyspark_this_process_ranks(environment: dict[str, str], tmp_path: Path) -> None:
    body = f"""
java = os.environ.pop("JAVA_HOME", None)
os.environ["JAVA_HOME"] = {str(tmp_path)!r}
rank(EngineOptions())
del os.environ["JAVA_HOME"]
if java:
    os.environ["JAVA_HOME"] = java
rank(EngineOptions(spark=SparkOptions(driver_memory="40m"), wait_ms=120_000))
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.libraries import REQUIRED
REQUIRED["pyspark"] = ("pyspark", "99")
rank(EngineOptions())
"""
    java, memory, pyspark = run(body, environment)
    assert {each["engine"] for each in (java, memory, pyspark)} == {"process"}
    assert "is not a program" in java["reason"]
    assert "memory" in memory["reason"]
    assert "lacks pyspark 99 or later" in pyspark["reason"]


def test_a_java_that_does_not_answer_costs_the_wait_at_most(environment: dict[str, str], tmp_path: Path) -> None:
    """As on a file system of a server that is gone."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\nexec sleep 60\n")
    java.chmod(0o755)
    [found] = run("rank(EngineOptions(wait_ms=100))", environment | {"JAVA_HOME": str(tmp_path)})
    assert (found["engine"], found["reason"]) == ("process", "Spark was not ready 0.1 s after its work was there")
    assert found["took"] < 30
    assert found["ended"] < 4, "it is waited for once"


@pytest.mark.wide
def test_a_jvm_that_cannot_write_to_the_temporary_directory_does_not_stay(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """It waits for connections, and nobody knows its port. Its command line has other letters than the directory."""
    directory = tmp_path / "tmp-ü"
    directory.mkdir()
    [found] = run("rank(EngineOptions(wait_ms=5000))", environment | {"TMPDIR": str(directory), "LC_ALL": "C"})
    assert (found["engine"], found["reason"]) == ("process", "Spark was not ready 5 s after its work was there")


@pytest.mark.wide
def test_who_writes_the_class_archive_later_ends_in_time(environment: dict[str, str], tmp_path: Path) -> None:
    """The run that started it has ended, so nobody else would end it."""
    directory = tmp_path / "tmp-ü"
    directory.mkdir()
    body = """
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.on_spark import make_class_archive_in_time
make_class_archive_in_time(5)
print(json.dumps({"same": True, "left": jvms()}))
"""
    [found] = run(body, environment | {"TMPDIR": str(directory), "LC_ALL": "C", "XDG_CACHE_HOME": str(tmp_path)})
    assert found["left"] == []


def test_where_pyspark_is_not_installed_this_process_ranks(environment: dict[str, str]) -> None:
    hide = "import sys\nsys.modules.update(pyspark=None, py4j=None)\n"
    [found] = run("rank(EngineOptions())", environment, first=hide)
    assert found["engine"] == "process"
    assert "lacks pyspark" in found["reason"]
    assert "(not installed)" in found["reason"]


def test_the_engine_process_starts_no_jvm(environment: dict[str, str]) -> None:
    [found] = run("rank(EngineOptions(EngineName.PROCESS), lambda engines: print(end=str(jvms() or '')))", environment)
    assert (found["engine"], found["reason"]) == ("process", "")


def test_an_error_of_java_that_nobody_knows_costs_no_ranking(environment: dict[str, str]) -> None:
    body = """
def fail(engines):
    try:
        engines.read(lambda spark: spark._jvm.java.lang.Class.forName("com.example.Missing"))
    except Exception as error:
        assert type(error).__name__ == "SparkUnavailableError", error
rank(EngineOptions(wait_ms=60_000), fail)
"""
    [found] = run(body, environment)
    assert found["engine"] == "process"
    assert found["reason"].endswith("java.lang.ClassNotFoundException: com.example.Missing"), found


@pytest.mark.wide
def test_evidence_at_a_uri_that_spark_cannot_write_is_explained(environment: dict[str, str]) -> None:
    body = """
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.java import SparkUnavailableError
def write(engines):
    try:
        engines.write_parquet(ROWS, "s3a://bucket/evidence")
    except SparkUnavailableError as error:
        assert "Class org.apache.hadoop.fs.s3a.S3AFileSystem not found" in str(error), error
    else:
        raise AssertionError("it was written")
rank(EngineOptions(wait_ms=60_000), write)
"""
    [found] = run(body, environment)
    assert (found["engine"], found["reason"]) == ("spark", "")


@pytest.mark.wide
def test_two_runs_at_the_same_time_and_little_memory_change_nothing(environment: dict[str, str]) -> None:
    """Each run kills only its own JVM: one is killed while the other one ranks."""
    program = _PROGRAM + "rank(EngineOptions(wait_ms=60_000, spark=SparkOptions(driver_memory='512m')), wait_until_open"
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", f"{program}{more})"], env=environment, stdout=subprocess.PIPE, text=True
        )
        for more in ("", ", signal_jvm(signal.SIGKILL)")
    ]
    found = [json.loads(each.communicate()[0]) for each in runs]
    assert [each["engine"] for each in found] == ["spark", "process"]
    assert all(each["ended"] < _LIMIT_S for each in found)
    assert all(each["same"] for each in found)
