# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A broker that is cut off from the controllers: it is fenced, and answers clients with its last metadata."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lab import jars, versions, wire
from lab.node import Broker
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
_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Cable:
    """The connections of one broker to all controllers, which can be cut. Byteman does it, in the broker's JVM."""

    broker: Broker
    witness: Broker
    """Another broker, which stays connected."""

    def prepare(self) -> None:
        """Start the broker again, with Byteman in it. Returns when it is unfenced."""
        rule = self.broker.cluster.work_dir / f"cut-off-{self.broker.node_id}.btm"
        rule.write_text(_RULE.format(flag=self._flag, broker=self.broker.node_id), encoding="utf-8")
        self.broker.kill()
        self.broker.jvm_args.append(f"-javaagent:{jars.artifact(versions.BYTEMAN)}=script:{rule}")
        self.broker.start()

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
