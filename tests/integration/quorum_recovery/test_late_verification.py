# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run fails before it has verified the quorum. The next one comes after new snapshots, and after a new controller."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.journal import read_pending
from integration.quorum_recovery.site import Site, cluster_with_snapshots, lose
from integration.quorum_recovery.test_back_to_three import follow_the_documentation
from lab import wait_until
from lab.cluster import Cluster

pytestmark = [pytest.mark.timeout(900), pytest.mark.wide]


@pytest.fixture
def cluster(kafka_version: str) -> Iterator[Cluster]:
    with cluster_with_snapshots(kafka_version) as cluster:
        cluster.client.create_topic("orders", {0: [1]})
        yield cluster


def test_the_quorum_is_verified_late(cluster: Cluster, tmp_path: Path) -> None:
    first, *lost = cluster.controllers
    survivor = cluster.controllers[first]
    site = Site(cluster, tmp_path)
    lose(cluster, lost)
    survivor.stop()
    goes = {"lost_voters": ",".join(map(str, lost)), "automated_recovery": "true"}
    with site.started(survivor) as command:
        failed = site.run(**goes, start_command=f"{command}; false")
        assert failed.returncode == 2, failed.output
        pending = read_pending(str(survivor.data_dirs[0]))
        assert pending is not None
        wait_until(lambda: cluster.active_controller().node_id == first, 60, what="the survivor leads")
        follow_the_documentation(cluster, cluster.controllers[lost[0]], survivor=first)
        for number in range(10):
            cluster.client.create_topic(f"after{number}", {0: [1]})
        taken = survivor.data_dirs[0] / "__cluster_metadata-0"
        wait_until(
            lambda: max(int(each.name[:20]) for each in taken.glob("*.checkpoint")) > pending.plan.changed_end_offset,
            60,
            what="a newer snapshot",
        )

        late = site.run(**goes, start_command=command)
        assert late.returncode == 0, late.output
        assert "was created with id" in late.words
        assert read_pending(str(survivor.data_dirs[0])) is None
