# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""On combined nodes, the active controller leads no partition, and the list follows a fail-over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from integration.quorum_recovery.combined import CombinedCluster
from lab import Cluster, settings, wait_until
from lab.leadership import leaders, wait_in_sync
from lab.node import Controller
from lab.playbook import PlaybookRun, typed

pytestmark = [pytest.mark.wide, pytest.mark.timeout(600)]
_MAP = "listener.security.protocol.map"
_DRAIN = "kafkaops.recovery.drain_leadership"


class _ForClients(CombinedCluster):
    """Its combined nodes have a listener for clients, too: DescribeCluster lists no others."""

    def _create_controller(self, node_id: int, shared: Mapping[str, object]) -> Controller:
        controller = super()._create_controller(node_id, shared)
        where = f",PLAINTEXT://{settings.address(self.host, self._ports.take())}"
        added = {"listeners": where, "advertised.listeners": where, _MAP: ",PLAINTEXT:PLAINTEXT"}
        controller.properties |= {name: f"{controller.properties[name]}{more}" for name, more in added.items()}
        return controller


@pytest.fixture
def combined(kafka_version: str) -> Iterator[Cluster]:
    """Return a cluster of three nodes that are controllers and brokers, and of one broker."""
    with _ForClients(kafka_version, brokers=1, controllers=3) as started:
        yield started


def run(cluster: Cluster, directory: Path, *arguments: str) -> PlaybookRun:
    given = (f"kafka_bootstrap_servers={cluster.bootstrap()}", "leadership_drain_brokers=controller")
    return typed(directory, "ansible-playbook", _DRAIN, *(word for each in given for word in ("-e", each)), *arguments)


def test_the_list_follows_the_active_controller(combined: Cluster, tmp_path: Path) -> None:
    first, second, third = nodes = sorted(combined.controllers)
    orders = {0: (first, second, third), 1: (second, third, first), 2: (third, first, second)}
    combined.client.create_topic("orders", orders)
    active = combined.active_controller().node_id
    usual = {partition: order[0] for partition, order in orders.items()}

    looked = run(combined, tmp_path, "--check")
    assert looked.returncode == 0, looked.output
    assert leaders(combined, "orders") == usual, "a look moves no leader"

    drained = run(combined, tmp_path)
    assert drained.returncode == 0, drained.output
    assert active not in leaders(combined, "orders").values()

    combined.controllers[active].kill()
    wait_until(lambda: combined.active_controller().node_id != active, 60, what="another controller is active")
    while_it_is_down = run(combined, tmp_path)
    assert while_it_is_down.returncode == 0, while_it_is_down.output
    assert "is not in sync" in while_it_is_down.words
    combined.controllers[active].start()
    wait_in_sync(combined, "orders")
    successor = combined.active_controller().node_id
    followed = run(combined, tmp_path)
    assert followed.returncode == 0, followed.output
    now = leaders(combined, "orders")
    assert successor not in now.values()
    assert {partition for partition, leader in now.items() if leader == active} >= {
        partition for partition, leader in usual.items() if leader == active
    }, "the former active controller leads its partitions again"
    assert {*nodes} - {successor} == {*now.values()}
