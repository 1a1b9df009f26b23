# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connections that are cut: those of a broker to all controllers, or that of a controller to the active one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lab import jars, versions, wire
from lab.node import Broker, Controller, Node
from lab.waiting import wait_until

_RULE = """
RULE no connection to a controller is ready
CLASS org.apache.kafka.clients.NetworkClient
METHOD ready
AT ENTRY
BIND flag = new java.io.File("{flag}");
     client = $0.clientId
IF flag.exists() AND (client.equals("{broker}") OR client.startsWith("raft-client"))
DO RETURN false
ENDRULE
"""
_LINK_RULE = """
RULE no connection to one controller is ready
CLASS org.apache.kafka.clients.NetworkClient
METHOD ready
AT ENTRY
BIND flag = new java.io.File("{flag}");
     client = $0.clientId;
     target = $1.id()
IF flag.exists() AND client.startsWith("raft-client") AND target == {target}
DO RETURN false
ENDRULE
"""
_TIMEOUT_S = 60.0


def restart_with_rule(node: Node, rule: str) -> None:
    """Kill a node, and start it with a rule of Byteman. Returns when it is ready."""
    path = node.cluster.work_dir / f"rule-{node.node_id}.btm"
    path.write_text(rule, encoding="utf-8")
    node.kill()
    node.jvm_args.append(f"-javaagent:{jars.artifact(versions.BYTEMAN)}=script:{path}")
    node.start()


@dataclass(frozen=True)
class Link:
    """The connections of one voter to the active controller. The others of both stay."""

    voter: Controller
    active: Controller

    def prepare(self) -> None:
        """Start the voter again, with Byteman in it."""
        restart_with_rule(self.voter, _LINK_RULE.format(flag=self._flag, target=self.active.node_id))

    def cut(self) -> None:
        """Cut the connections."""
        self._flag.touch()

    def reconnect(self) -> None:
        """Let the voter connect again."""
        self._flag.unlink(missing_ok=True)

    @property
    def _flag(self) -> Path:
        return self.voter.cluster.work_dir / f"cut-link-{self.voter.node_id}"


@dataclass(frozen=True)
class Cable:
    """The connections of one broker to all controllers. Byteman cuts them, in the broker's JVM.

    The broker is fenced then, and answers clients with its last metadata.
    """

    broker: Broker
    witness: Broker
    """Another broker, which stays connected."""

    def prepare(self) -> None:
        """Start the broker again, with Byteman in it. Returns when it is unfenced."""
        restart_with_rule(self.broker, _RULE.format(flag=self._flag, broker=self.broker.node_id))

    def cut(self) -> None:
        """Cut the connections. Returns when the broker is fenced."""
        self._flag.touch()
        wait_until(lambda: not self._is_unfenced(), _TIMEOUT_S, what=f"the controller fences {self.broker!r}")

    def reconnect(self) -> None:
        """Let the broker connect again. Returns when it is unfenced."""
        self._flag.unlink(missing_ok=True)
        wait_until(self._is_unfenced, _TIMEOUT_S, what=f"{self.broker!r} is unfenced again")

    @property
    def _flag(self) -> Path:
        return self.broker.cluster.work_dir / f"cut-off-{self.broker.node_id}"

    def _is_unfenced(self) -> bool:
        # A fenced broker is no member of the metadata that other brokers serve.
        seen = wire.metadata(self.witness.host, self.witness.ports["INTERNAL"], timeout=2.0)
        return any(each.node_id == self.broker.node_id for each in seen.brokers)
