# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A real Spark on loopback: a standalone master with workers, and a Spark Connect server, from the PyPI package."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lab import process
from lab.ports import HeldPorts
from lab.server import Server
from lab.waiting import wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SPARK_CLASS = Path(sys.executable).with_name("spark-class")
_LOOPBACK = "127.0.0.1"
_MASTER = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED = "Successfully registered with master"
_QUICK = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData"
_START_SECONDS = 90.0

DRIVER_HERE = {"spark.driver.host": _LOOPBACK, "spark.driver.bindAddress": _LOOPBACK}
"""Settings of a driver on loopback, so that executors find it."""
EXECUTORS_OF_ONE_CORE = {**DRIVER_HERE, "spark.executor.memory": "512m", "spark.executor.cores": "1"}
"""For one executor on each worker."""


def wait_for_executors(spark: SparkSession, count: int) -> None:
    """Wait until a session has this number of executors."""
    java = spark.sparkContext._jsc.sc()
    # The driver is in the list, too.
    wait_until(lambda: java.getExecutorMemoryStatus().size() > count, 60, what=f"{count} executors are up")


class StandaloneCluster:
    """A master, and workers of one core each. A context manager that ends all processes.

    Args:
        directory: where logs and the executors' own directories go.
        workers: how many.
    """

    def __init__(self, directory: Path, workers: int = 2) -> None:
        self.directory = directory
        self.workers: list[subprocess.Popen[bytes]] = []
        self._count = workers

    def __enter__(self) -> StandaloneCluster:
        self._processes = [self._start("master", ["--port", "0", "--webui-port", "0"])]
        with process.clean_up_on_error(self.__exit__):
            self.master = self._wait_for_log("master", _MASTER)
            for number in range(self._count):
                self.add_worker(f"worker-{number}")
        return self

    def __exit__(self, *_error: object) -> None:
        for each in reversed(self._processes):
            process.terminate(each, 10)

    def add_worker(self, name: str) -> None:
        """Start one more, and wait until the master knows it."""
        work = self.directory / name
        work.mkdir()
        arguments = ["--port", "0", "--webui-port", "0", "--cores", "1", "--memory", "1g", "--work-dir", str(work)]
        # A separate host: Spark runs no copy of a task on the host of the first one.
        worker = self._start("worker", [*arguments, self.master], name, f"127.0.0.{2 + len(self.workers)}")
        self.workers.append(worker)
        self._processes.append(worker)
        self._wait_for_log(name, re.compile(f"({_REGISTERED})"))

    def kill_worker(self, number: int) -> None:
        """Send SIGKILL. The worker's executors then end by themselves."""
        process.kill(self.workers[number])

    def _start(
        self, role: str, arguments: Sequence[str], name: str = "", host: str = _LOOPBACK
    ) -> subprocess.Popen[bytes]:
        main_class = f"org.apache.spark.deploy.{role}.{role.capitalize()}"
        command = [str(_SPARK_CLASS), main_class, "--host", host, *arguments]
        environment = _environment(self.directory) | {"SPARK_LOCAL_IP": host}
        return process.spawn(command, self._log(name or role), environment)

    def _log(self, name: str) -> Path:
        return self.directory / f"{name}.log"

    def _wait_for_log(self, name: str, pattern: re.Pattern[str]) -> str:
        def look() -> str | None:
            found = pattern.search(self._log(name).read_text(encoding="utf-8", errors="replace"))
            return found[1] if found else None

        wait_until(lambda: look() is not None, _START_SECONDS, what=f"{name}: {pattern.pattern}")
        return look() or ""


class ConnectServer(Server):
    """A Spark Connect server that runs its own Spark, locally with two cores. A context manager."""

    def __init__(self, directory: Path, conf: Mapping[str, str] | None = None) -> None:
        self._directory = directory
        self._conf = dict(conf or {})

    def __enter__(self) -> ConnectServer:
        self._ports = HeldPorts(_LOOPBACK)
        port = self._ports.take()
        self.remote = f"sc://{_LOOPBACK}:{port}"
        settings = {
            "spark.connect.grpc.binding.address": _LOOPBACK,
            "spark.connect.grpc.binding.port": str(port),
            "spark.ui.enabled": "false",
            "spark.sql.catalogImplementation": "in-memory",
            "spark.sql.warehouse.dir": str(self._directory / "warehouse"),
            "spark.local.dir": str(self._directory),
            **DRIVER_HERE,
            **self._conf,
        }
        options = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
        command = [
            str(_SPARK_CLASS),
            "org.apache.spark.deploy.SparkSubmit",
            "--master",
            "local[2]",
            "--class",
            "org.apache.spark.sql.connect.service.SparkConnectServer",
            *options,
            "spark-internal",
        ]
        log = self._directory / "connect.log"
        environment = _environment(self._directory) | {"SPARK_DAEMON_MEMORY": "1g"}
        self._process = process.spawn(command, log, environment)

        def listens() -> bool:
            process.check_running(self._process, "the Spark Connect server", log)
            with socket.socket() as attempt:
                return attempt.connect_ex((_LOOPBACK, port)) == 0

        with process.clean_up_on_error(self.__exit__):
            wait_until(listens, _START_SECONDS, what=f"a Spark Connect server on port {port}; see {log}")
        return self

    def freeze(self) -> None:
        """Send SIGSTOP. The kernel still accepts connections for it."""
        self._process.send_signal(signal.SIGSTOP)
        wait_until(lambda: process.is_stopped(self._process), 30, what="the Spark Connect server is frozen")


def _environment(directory: Path) -> dict[str, str]:
    """Return an environment without a path to the collection: executors must get its code from the session."""
    return {
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": "",
        "SPARK_LOCAL_IP": _LOOPBACK,
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": _QUICK,
        "SPARK_LOCAL_DIRS": str(directory),
        "SPARK_LOG_DIR": str(directory),
    }
