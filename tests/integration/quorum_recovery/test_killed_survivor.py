# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The survivor is killed after its start, before it is verified. The next run finishes, and restores nothing."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.quorum_recovery.site import Site, files_of, lose
from lab.cluster import Cluster

pytestmark = [pytest.mark.timeout(900), pytest.mark.wide]

_KILLS = {
    "at once": "sleep 1",
    "as the leader": "while ! grep -q 'High watermark set to .* for the first time' {log}; do sleep 0.1; done",
}


@pytest.fixture(params=[True, False], ids=["dynamic", "static"])
def cluster(kafka_version: str, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with Cluster(kafka_version, brokers=1, controllers=3, dynamic_quorum=request.param) as cluster:
        cluster.client.create_topic("orders", {0: [1]})
        yield cluster


@pytest.mark.parametrize("moment", _KILLS)
def test_the_next_run_finishes(cluster: Cluster, tmp_path: Path, moment: str) -> None:
    first, *lost = cluster.controllers
    survivor = cluster.controllers[first]
    site = Site(cluster, tmp_path)
    lose(cluster, lost)
    survivor.stop()
    survivor.log_path.unlink()
    goes = {"lost_voters": ",".join(map(str, lost)), "automated_recovery": "true", "verify_timeout_ms": "20000"}
    with site.started(survivor) as start_command:
        pid = tmp_path / "controller.pid"
        kill = f"{_KILLS[moment].format(log=shlex.quote(str(survivor.log_path)))}; kill -9 $(cat {pid})"
        killed = site.run(**goes, start_command=f"{start_command}; ( {kill} ) > /dev/null 2>&1 &")
        assert killed.returncode == 2, killed.output
        before = files_of(survivor.data_dirs[0])

        if moment == "as the leader":
            undone = site.run(automated_recovery="true", restore_backup="true")
            assert undone.returncode == 2, undone.output
            assert files_of(survivor.data_dirs[0]) == before, "what it has written since is not thrown away"
        look = site.run("--check", lost_voters=lost, automated_recovery=True)
        assert look.returncode == 0, look.output
        assert files_of(survivor.data_dirs[0]) == before

        again = site.run(**goes, start_command=start_command)
        assert again.returncode == 0, again.output
        cluster.client.create_topic("after", {0: [1]})
        assert cluster.active_controller().node_id == first
        late = site.run(lost_voters=lost, automated_recovery="true", restore_backup="true")
        assert late.returncode == 2, late.output
        assert "Nothing needs to be recovered" in late.words, late.output
