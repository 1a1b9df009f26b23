# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Operations of faults on a cluster, and on the run that recovers it, at a chosen moment."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from kafka.protocol.api_key import ApiKey

from campaign.incident import Incident
from lab import Cluster
from lab.faults import After, Before, Fault
from lab.node import Node
from lab.proxy import Proxy


@dataclass
class Scene:
    """One incident, the active faults, and the exceptions for the oracle."""

    incident: Incident
    runs: list[subprocess.Popen[str]] = field(default_factory=list)
    """The processes that try to elect. One of them succeeds."""
    silenced: set[int] = field(default_factory=set)
    """Brokers that a fault keeps silent or fenced until the run is over. Their replicas cannot be elected."""
    offline_logs: set[tuple[int, int]] = field(default_factory=set)
    """(broker, partition) of each replica on an offline log directory."""
    has_other_elections: bool = False
    """Whether another party elects a leader."""
    is_topic_replaced: bool = False
    killed: set[int] = field(default_factory=set)
    """Processes of runs that the fault killed: no other may end without a message."""
    connection: dict[str, object] = field(default_factory=dict)
    """The connection settings of the elections, if they need authentication."""
    before_elections: list[Callable[[], object]] = field(default_factory=list)
    """Actions between plan and elections."""
    afterwards: list[Callable[[], object]] = field(default_factory=list)
    """Actions that end the faults."""
    happened: int = 0
    """How often a fault was met."""
    _timers: list[threading.Timer] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def cluster(self) -> Cluster:
        return self.incident.cluster

    @property
    def proxy(self) -> Proxy:
        return self.cluster.proxy

    @property
    def observer(self) -> int:
        """Return the broker whose metadata counts: the one without a replica, if it is still alive."""
        live = [each.node_id for each in self.cluster.live_brokers]
        return self.incident.witness if self.incident.witness in live else live[0]

    def electable(self, partition: int) -> set[int]:
        """Return the live replicas of a partition that can be elected in spite of the faults."""
        replicas = {self.incident.best, self.incident.other} - self.silenced
        return {each for each in replicas if (each, partition) not in self.offline_logs}

    def spoil(self, fault: Fault, api_key: ApiKey | None = None, *, broker: int | None = None, times: int = 1) -> None:
        """Inject a fault into the next requests of a kind, to one broker or to any."""
        rule = self.proxy.inject(fault, broker=broker, api_key=api_key, times=times)
        self.afterwards.append(lambda: self._count(len(rule.hits)))

    def at(
        self,
        moment: type[Before] | type[After],
        api_key: ApiKey,
        action: Callable[[], object],
        *,
        broker: int | None = None,
        number: int = 1,
    ) -> None:
        """Run an action once, before or after the ``number``-th request of a kind."""
        met = 0

        def act() -> None:
            nonlocal met
            with self._lock:
                met += 1
                is_now = met == number
            if is_now:
                self._count(1)
                action()

        self.proxy.inject(moment(act), api_key=api_key, broker=broker)

    def now(self, action: Callable[[], object]) -> None:
        """Run an action at once."""
        self._count(1)
        action()

    def between(self, action: Callable[[], object]) -> None:
        """Run an action after the plan was made and before it is carried out."""
        self.before_elections.append(lambda: self.now(action))

    def later(self, seconds: float, action: Callable[[], object]) -> None:
        """Run an action after a delay, or when the faults end."""
        timer = threading.Timer(seconds, action)
        timer.daemon = True
        timer.start()
        self._timers.append(timer)

    def signal_run(self, number: signal.Signals) -> None:
        """Send a signal to the processes that elect, or wait for it."""
        for run in self.runs:
            if run.poll() is None:
                if number is signal.SIGKILL:
                    self.killed.add(run.pid)
                run.send_signal(number)

    def freeze_for(self, node: Node, seconds: float) -> None:
        """Freeze a node, and thaw it after a delay."""
        node.freeze()
        self.later(seconds, lambda: self._thaw(node))

    def end(self) -> None:
        """End the faults. Everything except dead nodes is as before."""
        for timer in self._timers:
            timer.join()
        for action in self.afterwards:
            action()
        self.proxy.rules = []
        for node in self.cluster.nodes:
            self._thaw(node)

    @staticmethod
    def _thaw(node: Node) -> None:
        if node.running and node.frozen:
            node.thaw()

    def _count(self, times: int) -> None:
        self.happened += times
