# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lost voters come back with their old disks after the recovery. They must not lead."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.quorum_recovery.site import Site
from lab.cluster import Cluster
from lab.playbook import run_playbook

pytestmark = [pytest.mark.timeout(1200), pytest.mark.wide]

_CHECK = "kafkaops.recovery.check_quorum"
_ELECTIONS_S = 20
"""Ten election timeouts."""


@pytest.fixture(params=[True, False], ids=["dynamic", "static"])
def cluster(kafka_version: str, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with Cluster(kafka_version, brokers=1, controllers=3, dynamic_quorum=request.param) as cluster:
        cluster.client.create_topic("orders", {0: [1]})
        yield cluster


@pytest.mark.parametrize("returning", [1, 2], ids=["one", "both"])
def test_old_voters_do_not_lead(cluster: Cluster, tmp_path: Path, returning: int) -> None:
    first, *lost = cluster.controllers
    kept = {node_id: cluster.work_dir / f"kept-{node_id}" for node_id in lost}
    for node_id in lost:
        cluster.controllers[node_id].kill()
        cluster.controllers[node_id].data_dirs[0].rename(kept[node_id])
    cluster.controllers[first].stop()
    site = Site(cluster, tmp_path)
    with site.started(cluster.controllers[first]) as command:
        run = site.run(lost_voters=lost, automated_recovery=True, start_command=command)
        assert run.returncode == 0, run.output
        cluster.client.create_topic("after", {0: [1]})

        back = [cluster.controllers[each] for each in lost[:returning]]
        for each in back:
            kept[each.node_id].rename(each.data_dirs[0])
            each.start(wait=False)
        time.sleep(_ELECTIONS_S)
        assert cluster.active_controller().node_id == first
        cluster.client.create_topic("later", {0: [1]})
        asked = ",".join(f"{each.host}:{each.port}" for each in cluster.controllers.values())
        checked = run_playbook(
            _CHECK, {"kafka_bootstrap_servers": cluster.bootstrap(), "kafka_bootstrap_controllers": asked}
        )
        assert checked.returncode == 2, checked.output
        for each in back:
            assert f"removed voter active (controller {each.node_id})" in checked.words, checked.output
        assert "If it was removed, stop it" in checked.words
