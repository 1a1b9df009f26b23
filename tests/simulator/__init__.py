# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A simulator of Kafka brokers on the wire, for cases that real brokers cannot show. It is not Kafka: see README.md."""

from simulator.cluster import SimulatedCluster
from simulator.faults import Lie, Throttle
from simulator.world import Log, Partition, World, a_million_replicas, offline_world

__all__ = [
    "Lie",
    "Log",
    "Partition",
    "SimulatedCluster",
    "Throttle",
    "World",
    "a_million_replicas",
    "offline_world",
]
