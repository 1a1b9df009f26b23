# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""In the middle of a rolling upgrade, brokers of two releases are one cluster: every playbook works on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab import Cluster
from lab.every_playbook import run_every_playbook
from lab.node import Node
from lab.playbook import run_playbook
from lab.versions import DEFAULT, KAFKA
from lab.waiting import wait_until

_OLD = KAFKA[0]


def upgrade(cluster: Cluster, node: Node) -> None:
    """Restart a node with the newer release, and wait for the quorum, as a person does. The features' levels stay."""
    node.stop()
    node.version = DEFAULT
    node.start()
    wait_until(cluster.has_whole_quorum, 60, what="all controllers have the newest records")


@pytest.mark.wide
@pytest.mark.on_any_version
@pytest.mark.timeout(900)
@pytest.mark.parametrize("upgraded", [(1, 2), (3,)], ids=["one broker is old", "one broker is new"])
def test_every_playbook_on_a_cluster_of_two_releases(
    upgraded: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The data that a plan publishes for the next job is read from the output.
    monkeypatch.setenv("ANSIBLE_SHOW_CUSTOM_STATS", "true")
    with Cluster(_OLD, controllers=3, dynamic_quorum=True) as cluster:
        active = cluster.active_controller().node_id
        # The active one comes last, so that the quorum changes its leader once.
        for controller in sorted(cluster.controllers.values(), key=lambda each: each.node_id == active):
            upgrade(cluster, controller)
        for broker_id in upgraded:
            upgrade(cluster, cluster.brokers[broker_id])
        assert {each.version for each in cluster.brokers.values()} == {_OLD, DEFAULT}
        run_every_playbook(run_playbook, cluster, "lost", tmp_path)
