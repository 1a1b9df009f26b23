# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Faults of what surrounds a recovery: racks, disks, clocks, inherited settings, and others that move leaders."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from functools import partial

from kafka.protocol.api_key import ApiKey

from campaign.broker_faults import Named
from campaign.scene import Scene
from lab import settings, wait_until
from lab.cut_off import Link, restart_with_rule
from lab.faults import Before
from lab.node import Node

_AHEAD_MINUTES = 90
_CLOCK_RULE = """
RULE the clock of this node is wrong
CLASS org.apache.kafka.common.utils.SystemTime
METHOD milliseconds
AT EXIT
IF true
DO RETURN java.lang.System.currentTimeMillis() + {milliseconds}L
ENDRULE
RULE so is the time of its transaction markers
CLASS MemoryRecords
METHOD withEndTransactionMarker(long, long, int, long, short, EndTransactionMarker)
AT ENTRY
IF java.lang.Math.abs($2 - java.lang.System.currentTimeMillis()) < 60000L
DO $2 = $2 + {milliseconds}L
ENDRULE
"""
"""Kafka dates markers by System.currentTimeMillis, and checks them by its class Time. With two clocks, a broker would
refuse its own markers (INVALID_TIMESTAMP), and no transaction in its partitions would ever end."""
_INHERITED = {
    "compression.type": "snappy",
    "message.max.bytes": "3000",
    "min.insync.replicas": "4",
    "log.segment.bytes": "1048576",
}
_FULL = 1
"""The greatest size of a file, in bytes, that a process may still write. A write beyond fails as on a full disk."""


def surroundings() -> Iterator[Named]:
    """Yield the faults that are no single request's, broker's or run's."""
    yield "the rack of the other replica is lost, with a broker without a replica", _lose_rack
    yield "the disk of a broker without a replica is full from the reorder on", _fill_disk
    yield "the clock of the best replica's broker is 90 minutes ahead", partial(_set_clock, _AHEAD_MINUTES)
    yield "the clock of the best replica's broker is 90 minutes behind", partial(_set_clock, -_AHEAD_MINUTES)
    yield "topics inherit settings that no journal could live with", _inherit
    yield "the controllers move leaders to preferred replicas every second", _rebalance
    yield "one voter is cut off from the active controller before the reorder", _cut_link


def _lose_rack(scene: Scene) -> None:
    lost = [scene.cluster.brokers[each] for each in (scene.incident.other, scene.incident.witness)]
    scene.silenced.update(each.node_id for each in lost)

    def lose() -> None:
        for each in lost:
            each.kill()

    scene.now(lose)


def _fill_disk(scene: Scene) -> None:
    broker = scene.cluster.brokers[scene.incident.witness]

    def limit(file_bytes: int) -> None:
        if broker.pid is not None:
            _soft, hard = resource.prlimit(broker.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(broker.pid, resource.RLIMIT_FSIZE, (file_bytes, hard))

    scene.at(Before, ApiKey.AlterPartitionReassignments, lambda: limit(_FULL))
    scene.afterwards.append(lambda: limit(resource.RLIM_INFINITY))


def _set_clock(minutes: int, scene: Scene) -> None:
    best = scene.cluster.brokers[scene.incident.best]
    scene.now(lambda: restart_with_rule(best, _CLOCK_RULE.format(milliseconds=minutes * 60_000)))


def _inherit(scene: Scene) -> None:
    """Change the cluster's default settings. The lab deletes them when it heals the cluster."""

    def alter() -> None:
        given = ",".join(f"{name}={value}" for name, value in _INHERITED.items())
        scene.cluster.client.run_tool(
            "kafka.admin.ConfigCommand",
            *("--bootstrap-server", scene.cluster.bootstrap(settings.INTERNAL), "--alter"),
            *("--entity-type", "brokers", "--entity-default", "--add-config", given),
        ).check_returncode()

    scene.now(alter)


def _rebalance(scene: Scene) -> None:
    """Start the controllers again, one by one: they elect preferred leaders from now on."""

    def begin() -> None:
        for controller in scene.cluster.controllers.values():
            controller.properties |= {
                "auto.leader.rebalance.enable": "true",
                "leader.imbalance.check.interval.seconds": "1",
            }
            _restart(scene, controller)

    scene.now(begin)


def _restart(scene: Scene, controller: Node) -> None:
    controller.kill()
    controller.start()
    wait_until(scene.cluster.has_whole_quorum, 60, what="the quorum is whole")


def _cut_link(scene: Scene) -> None:
    active = scene.cluster.active_controller()
    link = Link(next(each for each in scene.cluster.controllers.values() if each is not active), active)
    link.prepare()
    wait_until(scene.cluster.has_whole_quorum, 60, what="the quorum is whole")
    scene.at(Before, ApiKey.AlterPartitionReassignments, link.cut)
    scene.afterwards.append(link.reconnect)
