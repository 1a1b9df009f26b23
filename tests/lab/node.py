# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One node of a cluster, broker or controller, with operations such as start, kill and freeze."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from lab import process, storage, wire
from lab.proxy import ProxyListener
from lab.waiting import wait_until

if TYPE_CHECKING:
    from lab.cluster import Cluster

_STOP_TIMEOUT_S = 30.0


class NodeError(RuntimeError):
    """A node ended or did not become ready; the message ends with the tail of its log."""


class Node:
    """A Kafka process that outlives its JVMs: directories, ports and properties stay while it is down.

    ``properties`` and ``jvm_args`` may be changed; they take effect at the next start.
    """

    def __init__(
        self,
        cluster: Cluster,
        node_id: int,
        *,
        ports: Mapping[str, int],
        properties: Mapping[str, object],
        jvm_args: Sequence[str],
        data_dirs: Sequence[Path],
        proxies: Mapping[str, ProxyListener] | None = None,
    ) -> None:
        self.cluster = cluster
        self.node_id = node_id
        self.ports = dict(ports)
        self.properties = dict(properties)
        self.jvm_args = list(jvm_args)
        self.data_dirs = list(data_dirs)
        self.proxies = dict(proxies or {})
        """The proxy's side of each proxied listener, by the listener's name. Only brokers have any."""
        self._original = (dict(properties), list(jvm_args))
        self._started_with = self._original
        self.host = cluster.host
        self.log_path = cluster.work_dir / f"{self.role}-{node_id}.log"
        self._properties_file = cluster.work_dir / f"{self.role}-{node_id}.properties"
        self._process: subprocess.Popen[bytes] | None = None
        self.frozen = False
        self.version = cluster.version
        """The release that the next start runs: a rolling upgrade changes it."""

    role = "node"

    def __repr__(self) -> str:
        state = f"pid {self.pid}" if self.running else "not running"
        return f"<{self.role} {self.node_id} on {self.host}:{self.port}, {state}>"

    @property
    def port(self) -> int:
        """Return the port of the first client listener (of a controller: its only listener), proxied or not."""
        return next(iter(self.ports.values()))

    @property
    def pid(self) -> int | None:
        """Return the process id while the node runs (frozen or not), else None."""
        return self._process.pid if self._process is not None and self.running else None

    @property
    def running(self) -> bool:
        """Return whether the process exists. A frozen process exists."""
        return self._process is not None and self._process.poll() is None

    def start(self, *, wait: bool = True) -> None:
        """Start the JVM; with ``wait``, return when the node is ready. Raises NodeError."""
        if self.running:
            raise NodeError(f"{self!r} is running already.")
        self.write_properties()
        self.frozen = False
        self._started_with = (dict(self.properties), list(self.jvm_args))
        self._process = process.spawn(
            self.cluster.java_command(self.jvm_args, self._properties_file, self.version), self.log_path
        )
        if wait:
            self.wait_ready()

    def wait_ready(self, timeout: float | None = None) -> None:
        """Return when the protocol shows that the node works. Raises NodeError with the tail of the log."""
        limit = self.cluster.start_timeout if timeout is None else timeout
        try:
            wait_until(self._ready_or_dead, limit, what=f"{self.role} {self.node_id} ready")
        except TimeoutError as error:
            raise NodeError(f"{error}\n{process.tail(self.log_path)}") from None

    def _ready_or_dead(self) -> bool:
        if self._process is None or not self.running:
            code = None if self._process is None else self._process.returncode
            raise NodeError(f"{self.role} {self.node_id} ended with {code}:\n{process.tail(self.log_path)}")
        return self.is_ready()

    def is_ready(self) -> bool:
        """Whether the node answers and is part of the cluster."""
        raise NotImplementedError

    @property
    def runs_as_created(self) -> bool:
        """Whether it runs, answers, and was started with the properties and JVM arguments that it was created with."""
        return self.running and not self.frozen and self._started_with == self._original

    def reset(self) -> None:
        """Undo every change of ``properties`` and ``jvm_args``; this takes effect at the next start."""
        properties, jvm_args = self._original
        self.properties, self.jvm_args = dict(properties), list(jvm_args)

    def stop(self, timeout: float = _STOP_TIMEOUT_S) -> None:
        """Stop cleanly (SIGTERM: a broker's controlled shutdown) and wait for the exit; SIGKILL after ``timeout`` s.

        Raises NodeError when it took that.
        """
        if self._process is not None and not process.terminate(self._process, timeout):
            raise NodeError(f"{self!r} did not stop within {timeout:g} s:\n{process.tail(self.log_path)}")

    def kill(self) -> None:
        """SIGKILL, and wait for the exit. Does not wait for the controller to notice."""
        if self._process is not None:
            process.kill(self._process)

    def freeze(self) -> None:
        """SIGSTOP: the node keeps its connections, accepts new ones and answers nothing from now on."""
        stopping = self._signal(signal.SIGSTOP)
        wait_until(lambda: process.is_stopped(stopping), what=f"every thread of {self!r} is stopped", interval=0.005)
        self.frozen = True

    def thaw(self) -> None:
        """SIGCONT: a frozen node goes on."""
        self._signal(signal.SIGCONT)
        self.frozen = False

    def restart(self, *, wait: bool = True) -> None:
        """Stop cleanly, then start."""
        self.stop()
        self.start(wait=wait)

    def wipe(self) -> None:
        """Replace every log directory by an empty formatted one, as after a disk change. The node must be down."""
        if self.running:
            raise NodeError(f"{self!r} is running; stop it before wiping its disks.")
        for data_dir in self.data_dirs:
            shutil.rmtree(data_dir, ignore_errors=True)
        self.format()

    def format(self) -> None:
        """Format the log directories, which must not exist yet."""
        raise NotImplementedError

    def write_properties(self) -> Path:
        """Write ``properties`` where the JVM and StorageTool read them; returns the file."""
        storage.write_properties(self._properties_file, self.properties)
        return self._properties_file

    def _signal(self, number: signal.Signals) -> subprocess.Popen[bytes]:
        if self._process is None or not self.running:
            raise NodeError(f"{self!r}: cannot send it {number.name}.")
        self._process.send_signal(number)
        return self._process


class Broker(Node):
    """A broker. ``ports`` maps each listener name, INTERNAL last, to the port that the broker itself listens on."""

    role = "broker"

    def advertised_port(self, listener: str) -> int:
        """Return the port that clients of a listener use: the proxy's, or the broker's own."""
        return self.proxies[listener].port if listener in self.proxies else self.ports[listener]

    def start(self, *, wait: bool = True) -> None:
        """Start the JVM; with ``wait``, return when the broker is unfenced. Raises NodeError."""
        for proxy in self.proxies.values():
            proxy.open()
        super().start(wait=wait)

    def stop(self, timeout: float = _STOP_TIMEOUT_S) -> None:
        """Stop by a controlled shutdown and wait for the exit; SIGKILL after ``timeout`` s, and NodeError."""
        try:
            super().stop(timeout)
        finally:
            self._close_proxies()

    def kill(self) -> None:
        """SIGKILL, and wait for the exit. Does not wait for the controller to notice."""
        super().kill()
        self._close_proxies()

    def _close_proxies(self) -> None:
        for proxy in self.proxies.values():
            proxy.close()

    def is_ready(self) -> bool:
        """Whether the broker, asked itself, knows itself to be unfenced."""
        try:
            metadata = wire.metadata(self.host, self.ports["INTERNAL"], timeout=2.0)
        except OSError:
            return False
        return any(broker.node_id == self.node_id for broker in metadata.brokers)

    def format(self) -> None:
        """Write meta.properties into every log directory."""
        storage.format_broker(self.node_id, self.cluster.cluster_id, self.data_dirs)


class Controller(Node):
    """A dedicated controller."""

    role = "controller"
    _formatted = False

    def is_ready(self) -> bool:
        """Whether the controller accepts connections; the brokers' readiness shows whether there is a quorum."""
        return wire.accepts(self.host, self.port)

    def format(self) -> None:
        """Write meta.properties and the bootstrap records: by StorageTool, or as it wrote them last time."""
        options = self.cluster.format_options(rejoining=self._formatted)
        if self.cluster.has_static_voters:
            key = (*self.cluster.class_path, *options)
            storage.copy_formatted_controller(
                self.node_id, self.cluster.cluster_id, self.data_dirs[0], key, lambda: self._run_storage_tool(options)
            )
        else:
            self._run_storage_tool(options)
        self._formatted = True

    def _run_storage_tool(self, options: Sequence[str]) -> None:
        storage.format_controller(
            self.cluster.class_path,
            self.cluster.cluster_id,
            self.write_properties(),
            options,
            jvm_args=self.cluster.sharing(),
        )


def each(action: Callable[[Node], None], nodes: Sequence[Node]) -> None:
    """Do ``action`` to all nodes, in parallel, and raise the first error after all have ended."""
    if not nodes:
        return
    with ThreadPoolExecutor(max_workers=len(nodes)) as pool:
        for future in [pool.submit(action, node) for node in nodes]:
            future.result()
