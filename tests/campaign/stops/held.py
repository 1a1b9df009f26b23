# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Followers that do not fetch, and stay in sync for a while: leaders have records of acks=1 that nobody else has."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from lab import Cluster
from lab.cut_off import restart_with_rule
from lab.node import Node, each

_RULE = """
RULE a follower does not fetch
CLASS kafka.server.AbstractFetcherThread
METHOD doWork
AT ENTRY
BIND flag = new java.io.File("{flag}")
IF flag.exists()
DO java.lang.Thread.sleep(50L);
   RETURN
ENDRULE
"""
_LAG_MS = 60_000
"""A follower that does not fetch stays in the ISR for so long."""
_FETCHES_END_S = 1.0
"""Longer than a fetch waits for records."""


@dataclass(frozen=True)
class HeldFetches:
    """All brokers of a cluster, with a switch in each that Byteman reads."""

    cluster: Cluster

    def prepare(self) -> None:
        """Start all brokers again, with the switch."""
        each(self._prepare, [*self.cluster.brokers.values()])

    def hold(self, brokers: Collection[int]) -> None:
        """Let these brokers fetch no more. Returns when no fetch is under way."""
        for broker in brokers:
            self._flag(broker).touch()
        time.sleep(_FETCHES_END_S)

    def release(self) -> None:
        for broker in self.cluster.brokers:
            self._flag(broker).unlink(missing_ok=True)

    def _prepare(self, node: Node) -> None:
        node.properties["replica.lag.time.max.ms"] = _LAG_MS
        restart_with_rule(node, _RULE.format(flag=self._flag(node.node_id)))

    def _flag(self, broker: int) -> Path:
        return self.cluster.work_dir / f"held-{broker}"
