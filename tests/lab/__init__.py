# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lab: real KRaft clusters on loopback, for tests, the demo and the benchmarks."""

from __future__ import annotations

from lab.cluster import Cluster
from lab.node import Broker, Controller, Node, NodeError
from lab.waiting import wait_until

__all__ = ["Broker", "Cluster", "Controller", "Node", "NodeError", "wait_until"]
