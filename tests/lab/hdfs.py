# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A real HDFS on loopback: a NameNode and a DataNode, each a process, of the Hadoop version that PySpark ships."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from lab import jars, process
from lab.ports import HeldPorts
from lab.waiting import wait_until

_LOOPBACK = "127.0.0.1"
_SERVER = "org.apache.hadoop.hdfs.server"
_START_SECONDS = 60.0
_TOOL_SECONDS = 60.0
_STATE = "jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"


class Hdfs:
    """A context manager; everything ends with it.

    Args:
        directory: where configuration, logs and data go.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.conf_dir = directory / "conf"
        """For HADOOP_CONF_DIR. It says that files have one replica, which Hadoop's defaults do not."""

    def __enter__(self) -> Hdfs:
        self._ports = HeldPorts(_LOOPBACK)
        rpc, self._http = self._ports.take(), self._ports.take()
        self.uri = f"hdfs://{_LOOPBACK}:{rpc}"
        self.conf_dir.mkdir(parents=True)
        self._write("core-site.xml", {"fs.defaultFS": self.uri, "hadoop.tmp.dir": self.directory / "tmp"})
        anywhere = f"{_LOOPBACK}:0"
        properties = {
            "dfs.replication": 1,
            "dfs.namenode.name.dir": (self.directory / "name").as_uri(),
            "dfs.datanode.data.dir": (self.directory / "data").as_uri(),
            "dfs.namenode.rpc-address": f"{_LOOPBACK}:{rpc}",
            "dfs.namenode.http-address": f"{_LOOPBACK}:{self._http}",
            "dfs.namenode.safemode.extension": 0,
            "dfs.datanode.address": anywhere,
            "dfs.datanode.http.address": anywhere,
            "dfs.datanode.ipc.address": anywhere,
        }
        self._write("hdfs-site.xml", properties)
        formatted = self._run(f"{_SERVER}.namenode.NameNode", "-format", "-nonInteractive")
        if formatted.returncode:
            raise RuntimeError(f"the NameNode was not formatted: {formatted.stderr.decode()[-2000:]}")
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        try:
            self._start("namenode.NameNode")
            self._start("datanode.DataNode")
            self._wait()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop()

    def kill_name_node(self) -> None:
        """SIGKILL. Its port refuses connections then."""
        process.kill(self._processes["namenode.NameNode"])

    def start_name_node(self) -> None:
        """Start it again; returns when files can be written."""
        self._start("namenode.NameNode")
        self._wait()

    def shell(self, *arguments: str) -> bytes:
        """Return what ``hdfs dfs`` prints. Raises RuntimeError where it fails."""
        done = self._run("org.apache.hadoop.fs.FsShell", *arguments)
        if done.returncode:
            raise RuntimeError(f"hdfs dfs {' '.join(arguments)}: {done.stderr.decode()[-2000:]}")
        return done.stdout

    def _write(self, name: str, properties: Mapping[str, object]) -> None:
        content = "".join(
            f"<property><name>{key}</name><value>{value}</value></property>" for key, value in properties.items()
        )
        (self.conf_dir / name).write_text(f"<configuration>{content}</configuration>\n", encoding="utf-8")

    def _command(self, main_class: str, *arguments: str) -> list[str]:
        return process.java_command([self.conf_dir, *jars.hadoop()], main_class, *arguments)

    def _run(self, main_class: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            self._command(main_class, *arguments),
            capture_output=True,
            timeout=_TOOL_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    def _start(self, role: str) -> None:
        self._processes[role] = process.spawn(self._command(f"{_SERVER}.{role}"), self._log(role))

    def _log(self, role: str) -> Path:
        return self.directory / f"{role}.log"

    def _wait(self) -> None:
        def is_ready() -> bool:
            for role, running in self._processes.items():
                if running.poll() is not None:
                    raise RuntimeError(f"{role} ended: {process.tail(self._log(role))}")
            try:
                with urllib.request.urlopen(f"http://{_LOOPBACK}:{self._http}/{_STATE}", timeout=5) as answer:
                    (state,) = json.load(answer)["beans"]
            except (OSError, ValueError):
                return False
            return bool(state["FSState"] == "Operational" and state["NumLiveDataNodes"] == 1)

        wait_until(is_ready, _START_SECONDS, what=f"HDFS takes files; see {self.directory}")

    def _stop(self) -> None:
        for each in reversed(self._processes.values()):
            process.terminate(each, 10)
        self._ports.release()
