# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A session starts without output, leaves nothing behind, and reports why it cannot start."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import indent

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.java import SparkUnavailableError
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.session import spark_session
from lab.module_process import Account
from lab.waiting import wait_until

# In its own process: PySpark has one session per process, and the other tests use the session of this process.
ONE_SESSION = """
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.on_spark import rehearse
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.session import SparkOptions, spark_session
"""


@pytest.fixture(scope="module", autouse=True)
def class_archive() -> None:
    """Create the archive of Spark's classes, as `make install` does: a session that records it outlives its test.

    In a process of its own, too: a worker of the tests may have a session by now.
    """
    program = (
        "from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.on_spark import make_class_archive\n"
        "make_class_archive()"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Mark every process of a session by its directory for temporary files."""
    (tmp_path / "tmp").mkdir()
    # A session of this process whose JVM was killed leaves its own files there.
    path = os.pathsep.join(each for each in sys.path if "kafkaops-spark-" not in each)
    return {**os.environ, "PYTHONPATH": path, "TMPDIR": str(tmp_path / "tmp")}


def run(program: str, environment: dict[str, str], prefix: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    command = [*prefix, sys.executable, "-c", ONE_SESSION + program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def run_and_report(body: str, environment: dict[str, str]) -> str:
    """Run a program, and return the class and the text of the exception that it raised."""
    program = f"""
try:
    {body}
except Exception as error:
    print(type(error).__name__, error)
"""
    return run(program, environment).stdout


def processes_with(marker: str) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if marker.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text())
        except OSError:
            continue  # the process has ended, or belongs to another user
    return found


def assert_all_end(environment: dict[str, str]) -> None:
    """Check that all processes end. The session waits for the JVM; Spark's Python workers end by themselves."""
    wait_until(lambda: not processes_with(environment["TMPDIR"]), 10, what="all processes of the session end")


def test_a_session_is_silent_and_leaves_nothing_behind(environment: dict[str, str]) -> None:
    body = """
import sys
with spark_session() as spark:
    rehearse(spark)
    assert not [each for each in sys.path if "kafkaops-spark-" in each], "another thread may import while this ends"
"""
    ran = run(body, environment)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert [*Path(environment["TMPDIR"]).iterdir()] == []
    assert_all_end(environment)


@pytest.mark.wide
def test_a_user_id_without_a_name_and_a_home_directory_has_a_session_too(
    environment: dict[str, str], tmp_path: Path
) -> None:
    # As in a container that runs with any user id: Java finds no user and no home directory.
    account = Account(4711, tmp_path)
    given = {name: value for name, value in account.environment.items() if name not in {"HOME", "XDG_CACHE_HOME"}}
    body = """
with spark_session(runs_python=False) as spark:
    assert spark.range(5).count() == 5
"""
    ran = run(body, given | {name: environment[name] for name in ("PYTHONPATH", "TMPDIR")}, account.command)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert [*Path(environment["TMPDIR"]).iterdir()] == []
    assert_all_end(environment)


@pytest.mark.wide
@pytest.mark.parametrize("name", ["First Last", "O'Brien"])
def test_a_home_directory_may_have_any_name(name: str, environment: dict[str, str], tmp_path: Path) -> None:
    """The class archive is below it, and Spark splits Java's options at spaces."""
    body = """
with spark_session(runs_python=False) as spark:
    assert spark.range(5).count() == 5
"""
    ran = run(body, environment | {"XDG_CACHE_HOME": str(tmp_path / name)})
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@pytest.mark.wide
def test_the_environment_of_another_spark_changes_nothing(environment: dict[str, str]) -> None:
    # As on a host from which jobs are submitted to a cluster.
    others = {
        "PYSPARK_SUBMIT_ARGS": "--master yarn --packages com.example:none:1 pyspark-shell",
        "SPARK_SUBMIT_OPTS": "-XX:+UseG1GC",
        "SPARK_LOCAL_HOSTNAME": "none.invalid",
        "SPARK_HOME": "/opt/none",
        "SPARK_REMOTE": "sc://none.example:15002",
        "SPARK_CONNECT_MODE_ENABLED": "1",
        "PYSPARK_PYTHON": "/opt/none/python3",
        "PYSPARK_DRIVER_PYTHON": "jupyter",
    }
    body = """
with spark_session() as spark:
    assert spark.sparkContext.master.startswith("local")
    rehearse(spark)
"""
    ran = run(body, environment | others)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert_all_end(environment)


@pytest.mark.wide
@pytest.mark.parametrize(
    "use",
    ["engines.rank(REPLICA_LOG_SCHEMA.empty_table()); assert engines.use == EngineUse(EngineName.SPARK)", "pass"],
    ids=["used", "not needed any more"],
)
def test_a_session_that_starts_in_the_background_leaves_nothing_behind_either(
    use: str, environment: dict[str, str]
) -> None:
    program = f"""
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.engines import Engines
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.rows import REPLICA_LOG_SCHEMA
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.options import *
with Engines(EngineOptions(wait_ms=60_000)) as engines:
    engines.begin(1)
    {use}
"""
    ran = run(program, environment)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert [*Path(environment["TMPDIR"]).iterdir()] == []
    assert_all_end(environment)


def test_killed_jvm_is_reported_with_its_cause(environment: dict[str, str]) -> None:
    body = """
    import os, signal
    from pyspark import SparkContext
    with spark_session() as spark:
        os.kill(SparkContext._gateway.proc.pid, signal.SIGKILL)
        rehearse(spark)
"""
    reported = run_and_report(body, environment)
    assert reported.startswith(
        "SparkUnavailableError Spark's JVM ended: it was killed, perhaps because memory ran out."
    )
    assert [*Path(environment["TMPDIR"]).iterdir()] == []
    assert_all_end(environment)


@pytest.mark.wide
def test_a_salvage_that_cannot_be_read_back_is_refused(environment: dict[str, str], tmp_path: Path) -> None:
    program = f"""
from processes.salvage.test_read_back import RowSource, SalvageWriter, TransactionOutcome, batch, rows
place = {str(tmp_path / "saved")!r}
def damage(number):
    with open(place + ".unfinished/records/part-x.parquet", "wb") as file:
        file.write(b"PAR1 this is no parquet file PAR1")
    yield from rows(0, [(batch(0, [b"v"]), TransactionOutcome.NONE)])
with SalvageWriter(place, SparkOptions()) as writer:
    writer.write(RowSource([1], damage, lambda each: 1, lambda each: each))
"""
    reported = run_and_report(indent(program, "    "), environment)
    assert reported.startswith("SalvageError the records could not be written and read back: ")
    assert not list(tmp_path.glob("saved*"))


@pytest.mark.wide
def test_aborted_job_differs_from_an_error_of_our_code(environment: dict[str, str]) -> None:
    program = """
import os
def die(batches):
    os._exit(1)
def fail(batches):
    raise ZeroDivisionError
with spark_session() as spark:
    try:
        spark.range(1).mapInArrow(fail, "id long").toArrow()
    except Exception as error:
        print(type(error).__name__)
    spark.range(1).mapInArrow(die, "id long").toArrow()
"""
    reported = run_and_report(indent(program, "    "), environment).splitlines()
    assert reported[0] == "PythonException"
    assert reported[1].startswith("SparkUnavailableError Spark aborted the work: a Python worker of Spark was killed")
    assert_all_end(environment)


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ('driver_memory="12x"', "The output of its JVM: Invalid maximum heap size: -Xmx12x"),
        ('master="spark:/typo"', "Could not parse Master URL: 'spark:/typo'"),
    ],
    ids=["driver memory", "master"],
)
def test_a_session_that_cannot_start_is_reported_with_its_cause(
    options: str, cause: str, environment: dict[str, str]
) -> None:
    reported = run_and_report(f"with spark_session(SparkOptions({options})): pass", environment)
    assert reported.startswith("SparkUnavailableError Spark did not start: ")
    assert cause in reported
    assert [*Path(environment["TMPDIR"]).iterdir()] == []
    assert_all_end(environment)


def test_without_java_nothing_is_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SparkUnavailableError, match="JAVA_HOME is"), spark_session():
        pytest.fail("no session without Java")
