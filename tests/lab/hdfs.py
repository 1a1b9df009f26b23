# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A real HDFS on loopback: a NameNode and a DataNode, each a process, of the Hadoop version that PySpark ships."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from lab import jars, process
from lab.hadoop import HadoopStore
from lab.ports import HeldPorts
from lab.waiting import wait_until

_LOOPBACK = "127.0.0.1"
_SERVER = "org.apache.hadoop.hdfs.server"
_START_SECONDS = 60.0
_STATE = "jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"


class Hdfs(HadoopStore):
    """A context manager; everything ends with it."""

    def jars(self) -> Sequence[Path]:
        return jars.hadoop()

    def __enter__(self) -> Hdfs:
        self._ports = HeldPorts(_LOOPBACK)
        rpc, self._http = self._ports.take(), self._ports.take()
        self.uri = f"hdfs://{_LOOPBACK}:{rpc}"
        core = {"fs.defaultFS": self.uri, "hadoop.tmp.dir": self.directory / "tmp"}
        self.configure("core-site.xml", core)
        anywhere = f"{_LOOPBACK}:0"
        properties = {
            "dfs.replication": 1,  # by default, three
            "dfs.namenode.name.dir": (self.directory / "name").as_uri(),
            "dfs.datanode.data.dir": (self.directory / "data").as_uri(),
            "dfs.namenode.rpc-address": f"{_LOOPBACK}:{rpc}",
            "dfs.namenode.http-address": f"{_LOOPBACK}:{self._http}",
            "dfs.namenode.safemode.extension": 0,
            "dfs.datanode.address": anywhere,
            "dfs.datanode.http.address": anywhere,
            "dfs.datanode.ipc.address": anywhere,
        }
        self.configure("hdfs-site.xml", properties)
        formatted = self.run(f"{_SERVER}.namenode.NameNode", "-format", "-nonInteractive")
        if formatted.returncode:
            raise RuntimeError(f"the NameNode was not formatted: {formatted.stderr.decode()[-2000:]}")
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        with process.clean_up_on_error(self.__exit__):
            self._start("namenode.NameNode")
            self._start("datanode.DataNode")
            self._wait()
        return self

    def __exit__(self, *_error: object) -> None:
        for each in reversed(self._processes.values()):
            process.terminate(each, 10)
        self._ports.release()

    def kill(self) -> None:
        """SIGKILL the NameNode. Its port refuses connections then."""
        process.kill(self._processes["namenode.NameNode"])

    def start(self) -> None:
        """Start the NameNode again; returns when files can be written."""
        self._start("namenode.NameNode")
        self._wait()

    def modes(self, uri: str) -> dict[str, str]:
        """Return the modes of all files below a URI, by relative name."""
        lines = [line.split() for line in self.shell("-ls", "-R", uri).decode().splitlines()]
        return {fields[-1].removeprefix(f"{uri}/"): fields[0] for fields in lines}

    def _start(self, role: str) -> None:
        self._processes[role] = process.spawn(self.command(f"{_SERVER}.{role}"), self._log(role))

    def _log(self, role: str) -> Path:
        return self.directory / f"{role}.log"

    def _wait(self) -> None:
        def is_ready() -> bool:
            for role, running in self._processes.items():
                process.check_running(running, role, self._log(role))
            try:
                with urllib.request.urlopen(f"http://{_LOOPBACK}:{self._http}/{_STATE}", timeout=5) as answer:
                    (state,) = json.load(answer)["beans"]
            except (OSError, ValueError):
                return False
            return bool(state["FSState"] == "Operational" and state["NumLiveDataNodes"] == 1)

        wait_until(is_ready, _START_SECONDS, what=f"HDFS takes files; see {self.directory}")
