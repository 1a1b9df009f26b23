# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Open one Spark session, start it fast and without output, and remove everything after it.

It starts fast for these reasons, the most important first: an archive of Spark's classes, workers that import a
compiled PySpark (see java.py), only the C1 compiler (C2 does not pay in a short session), the serial garbage collector,
no user interface, no Hive.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

from .._model.background import in_background
from .failures import describe_failure, explain_failure
from .host_environment import forget_other_sessions, has_no_name, in_environment, log_in_by_number
from .java import ClassArchive, Java, SparkUnavailableError, class_archive, find_java, is_recorded, lean_spark_home
from .options import SparkOptions
from .workers import code_for_workers

with suppress(ImportError):  # a missing library is reported before the module starts (_module/run.py)
    import pyspark
    from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]  # it ships no types
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.find_spark_home import _find_spark_home as find_spark_home
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    _LOST = (Py4JError, ConnectionError)
    """Errors of py4j if the JVM does not answer, or answers with an error without a PySpark class."""


_JVM_FLAGS = ("-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xshare:auto")
_ONLY_C1 = ("-XX:TieredStopAtLevel=1",)
"""C2 does not pay in a short session. A class archive is valid with and without it."""
_SETTINGS = {
    "spark.app.name": "kafkaops.recovery",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.eventLog.enabled": "false",
    # There are few queries, and their sizes are known: planning them again costs more than it saves.
    "spark.sql.adaptive.enabled": "false",
    # Rows that Spark takes as a part of the plan are evaluated while it plans: by one thread, without generated code.
    "spark.sql.execution.arrow.localRelationThreshold": "0",
    "spark.driver.maxResultSize": "0",
    # Only this user may read its files. Set at the start, because an open Hadoop FileSystem keeps its umask.
    "spark.hadoop.fs.permissions.umask-mode": "077",
}
_CLUSTER_SETTINGS = {
    # If a worker is lost, its tasks run again on another one.
    "spark.task.maxFailures": "4",
    # Executors run for one gather only, like the driver.
    "spark.executor.extraJavaOptions": " ".join((*_ONLY_C1, *_JVM_FLAGS)),
    "spark.sql.shuffle.partitions": "16",
}
_EXECUTOR_LIMIT_S = 60.0
"""Limit of waiting for a cluster that is full. During an outage this host can do the work by itself."""
_LOWEST_PRIORITY = 19
_EXIT_WAIT_S = 2
_LOG = "jvm.log"
_LINES_SHOWN = 8


_DEFAULT_OPTIONS = SparkOptions()

_OPEN_DIRECTORIES: set[str] = set()
"""The directories of this process' sessions, also of one that is still starting. A JVM's command line names its own."""

Rehearsal: TypeAlias = Callable[["SparkSession"], None]
"""Loads every class of Spark that real work needs, without a broker."""


@contextmanager
def spark_session(
    options: SparkOptions = _DEFAULT_OPTIONS,
    *,
    rehearse: Rehearsal | None = None,
    wait_for_class_archive: bool = False,
    runs_python: bool = True,
    is_long: bool = False,
) -> Iterator[SparkSession]:
    """Open a session for a ``with`` block: on this host, on a cluster, or on a Spark Connect server (``options``).

    The output of Spark's JVM goes to a file, and is only shown if an error occurs. The JVM ends with the block, except
    the first one on a host that is given ``rehearse``: it calls ``rehearse`` after the block, to load all classes, and
    then runs for some seconds at the lowest priority to write the class archive. With ``wait_for_class_archive`` this
    function waits for that (for an installation, or the build of an image).

    ``runs_python``: whether tasks run functions of this collection. A session on this host without them gets no copy of
    its code. ``is_long``: whether there is so much to do that the C2 compiler pays.

    Raises SparkUnavailableError if Spark cannot be started, if a cluster gives no executor within _EXECUTOR_LIMIT_S, if
    the JVM ends during the block, or if it aborts a job.
    """
    if options.remote is not None:
        from .connect import connect_session  # noqa: PLC0415

        with connect_session(options) as spark:
            yield spark
        return
    java = find_java()
    home = _find_spark_home(options)
    archive = class_archive(java, home / "jars", _JVM_FLAGS)
    with _session_directory() as directory:
        context = _start(_conf(options, archive, directory, is_long=is_long), options, home, directory)
        leave_jvm = False
        try:
            if runs_python or archive.is_recorded or not options.is_local:
                context.addPyFile(str(code_for_workers(directory)))
            _forget_paths(directory)
            spark = SparkSession(context)
            if not options.is_local:
                _await_executor(spark, options.master)
            yield spark
            leave_jvm = archive.is_recorded and rehearse is not None and _is_rehearsed(spark, rehearse)
        except (PySparkException, *_LOST) as error:
            reason = _explain_error(error, directory)
            if reason is None:
                raise
            raise SparkUnavailableError(reason) from error
        finally:
            jvm = _stop(context, gently=leave_jvm or not options.is_local or bool(options.conf))
            if leave_jvm:
                _let_jvm_end(jvm)
            else:
                jvm.kill()
            if wait_for_class_archive or not leave_jvm:
                jvm.wait()


def _forget_paths(directory: Path) -> None:
    """Remove what PySpark has added to our own sys.path: the workers' code.

    Now, because its files are deleted while the session ends. Another thread that imports meanwhile would fail.
    """
    sys.path[:] = [each for each in sys.path if not each.startswith(str(directory))]


@contextmanager
def _session_directory() -> Iterator[Path]:
    """Yield the directory of a session's temporary files, and remove it after the block."""
    with tempfile.TemporaryDirectory(prefix="kafkaops-spark-", ignore_cleanup_errors=True) as name:
        _OPEN_DIRECTORIES.add(name)
        try:
            yield Path(name)
        finally:
            _OPEN_DIRECTORIES.discard(name)


def kill_jvms() -> None:
    """Kill the JVM of this process' session, also one that is still starting, or that does not react.

    Whoever waits for it gets an error at once. PySpark does not return the process of a JVM before it has started, so
    it is looked up among this process' children. A system without /proc finds only one that has started.
    """
    if not _OPEN_DIRECTORIES:  # no session, as on a host without PySpark
        return
    # The launcher writes what is above a directory as its locale can: LC_ALL=C has no letter like ü.
    names = [Path(each).name for each in _OPEN_DIRECTORIES]
    found = {pid for pid in _children() if any(each in _command_of(pid) for each in names)}
    if SparkContext._gateway is not None:
        found.add(_jvm().pid)
    for pid in found:
        # Each was started in a session of its own, with the programs that build its command line.
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


def _children() -> Iterator[int]:
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # the process has ended
            # The name of the program is in parentheses, and may contain spaces.
            if int(status.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]) == os.getpid():
                yield int(status.parent.name)


def _command_of(pid: int) -> str:
    with suppress(OSError):
        return Path("/proc", str(pid), "cmdline").read_text(encoding="utf-8", errors="replace")
    return ""


def _explain_error(error: Exception, directory: Path) -> str | None:
    """Return the text for the operator about an error during a session. None for an error of our own code."""
    if isinstance(error, _LOST) and _is_dying(_jvm()):
        output = _jvm_output(directory)
        return f"Spark's JVM ended: it was killed, perhaps because memory ran out. Its output: {output}"
    # Errors of our own code in a task are PythonExceptions. Only a JVM that lives has the text of its errors.
    cause = describe_failure(str(error)) if isinstance(error, Py4JJavaError) else explain_failure(str(error))
    return None if cause is None else f"Spark aborted the work: {cause}"


def has_class_archive(java: Java) -> bool:
    """Return whether a session on this host would use an archive of Spark's classes.

    Raises OSError if the user's cache directory cannot be trusted or written.
    """
    return is_recorded(java, _find_spark_home(_DEFAULT_OPTIONS) / "jars", _JVM_FLAGS)


def _conf(options: SparkOptions, archive: ClassArchive, directory: Path, *, is_long: bool) -> SparkConf:
    flags = (*(() if is_long else _ONLY_C1), *_JVM_FLAGS, *archive.flags)
    settings = {
        **_SETTINGS,
        "spark.master": options.master,
        "spark.driver.memory": options.driver_memory,
        "spark.driver.extraJavaOptions": shlex.join(flags),
        "spark.local.dir": str(directory),
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
        **({} if options.is_local else _CLUSTER_SETTINGS),
        # For a user without a name, Java has no home directory, and Spark's default is below it.
        **({"spark.jars.ivy": str(directory / "ivy")} if has_no_name() else {}),
        **options.conf,
    }
    if not options.is_local:
        # Executors use their own hosts' directories. The driver's directory is in its environment.
        del settings["spark.local.dir"]
    return SparkConf(loadDefaults=False).setAll(list(settings.items()))


def _find_spark_home(options: SparkOptions) -> Path:
    """Return SPARK_HOME for the JVM: the one without a zip file only if the workers use this process' Python."""
    package = Path(pyspark.__file__).parent
    # A session on this host is of the PySpark that this process imports, whatever Spark the host has besides.
    home = package if options.is_local and (package / "jars").is_dir() else Path(find_spark_home())
    is_ours = options.is_local and options.executor_python is None and home == package
    return lean_spark_home(package) if is_ours else home


def _start(conf: SparkConf, options: SparkOptions, home: Path, directory: Path) -> SparkContext:
    os.environ["PYSPARK_PYTHON"] = options.executor_python or sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    forget_other_sessions()
    if not options.is_local:
        os.environ["SPARK_LOCAL_DIRS"] = str(directory)
    else:
        # A host may not be able to resolve its own name, and no other host connects to this Spark.
        os.environ["SPARK_LOCAL_IP"] = os.environ["SPARK_LOCAL_HOSTNAME"] = "127.0.0.1"
    try:
        with (directory / _LOG).open("wb") as output, in_environment("SPARK_HOME", str(home)):
            # In a new session the JVM does not get the terminal's signals. It ends when we end it, or when our process
            # ends.
            streams = {"stdout": output, "stderr": output, "start_new_session": True}
            gateway = launch_gateway(conf, streams)  # type: ignore[no-untyped-call]  # PySpark's own has no types
        if has_no_name():
            log_in_by_number(gateway)
        return SparkContext(conf=conf, gateway=gateway)
    except (PySparkException, Py4JError, OSError) as error:
        reason = describe_failure(str(error))
        if SparkContext._gateway is not None:
            _forget_jvm().kill()
        raise SparkUnavailableError(
            f"Spark did not start: {reason}. The output of its JVM: {_jvm_output(directory)}"
        ) from error


def _await_executor(spark: SparkSession, master: str) -> None:
    """Run a job without data, and cancel it if no executor takes it in time. Spark itself would wait forever.

    A job, because a cluster with dynamic allocation starts executors only for jobs.

    Raises SparkUnavailableError, or Spark's own error if the job fails.
    """
    job = in_background(spark.range(0, 1, 1, 1).collect, "spark-executor")
    if wait([job], _EXECUTOR_LIMIT_S).not_done:
        with suppress(*_LOST):
            spark.sparkContext.cancelAllJobs()
        raise SparkUnavailableError(
            f"Spark at {master} gave this session no executor within {_EXECUTOR_LIMIT_S:g} s: its workers are not "
            "registered with the master, are busy, or have less memory or fewer cores than spark.conf asks for "
            "(spark.executor.memory, spark.executor.cores). Look at the master's own page, or run with spark.master "
            "local[*], which needs no cluster"
        )
    job.result()


def _stop(context: SparkContext, *, gently: bool) -> subprocess.Popen[bytes]:
    """Stop the context and return its JVM. It still runs if ``gently``, which takes half a second.

    A context on this host without further settings leaves nothing that only its JVM could remove or write.
    """
    if not gently or _jvm().poll() is not None:
        context._jsc = None  # PySpark then forgets the context without a request to the JVM
        _end_accumulators(context)
    with suppress(*_LOST):  # the JVM may have ended
        context.stop()
    return _forget_jvm()


def _end_accumulators(context: SparkContext) -> None:
    """Stop PySpark's server for accumulators without waiting: it looks every half second whether to stop."""
    server: Any = context._accumulatorServer
    context._accumulatorServer = None  # type: ignore[assignment]  # as PySpark itself does
    server.handle_error = lambda *_request: None  # it would print that the JVM ends
    in_background(server.shutdown, "spark-accumulators")


def _jvm() -> subprocess.Popen[bytes]:
    gateway: Any = SparkContext._gateway
    process: subprocess.Popen[bytes] = gateway.proc
    return process


def _is_dying(jvm: subprocess.Popen[bytes]) -> bool:
    """Return whether the JVM ends. Its sockets close a moment before the process ends."""
    with suppress(subprocess.TimeoutExpired):
        jvm.wait(_EXIT_WAIT_S)
    return jvm.returncode is not None


def _forget_jvm() -> subprocess.Popen[bytes]:
    """Make PySpark forget the JVM, so that the next session starts its own, and return it."""
    jvm = _jvm()
    with suppress(*_LOST):
        SparkContext._gateway.shutdown()  # type: ignore[union-attr]  # _jvm has just used it
    SparkContext._gateway = None
    SparkContext._jvm = None
    return jvm


def _is_rehearsed(spark: SparkSession, rehearse: Rehearsal) -> bool:
    """Run the rehearsal, and return whether it succeeded. The real work is done, so an error only skips the archive."""
    with suppress(Exception):
        rehearse(spark)
        return True
    return False


def _let_jvm_end(jvm: subprocess.Popen[bytes]) -> None:
    """Let the JVM end by itself at the lowest priority. It then writes the archive."""
    os.setpriority(os.PRIO_PROCESS, jvm.pid, _LOWEST_PRIORITY)
    if jvm.stdin is not None:
        jvm.stdin.close()


def _jvm_output(directory: Path) -> str:
    return _shorten((directory / _LOG).read_text(encoding="utf-8", errors="replace")) or "nothing"


def _shorten(output: str) -> str:
    """Return the last lines of Java's output, without stack traces."""
    lines = [line.strip() for line in output.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    return " | ".join(lines[-_LINES_SHOWN:])
