# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run is killed before each of its changes on a controller's disk, or the survivor after its start.

The next run finishes, or puts everything back, but not what a controller that led has written.
"""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.apply import apply
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.module import parse_plan
from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.restore import restore
from integration.quorum_recovery.site import Site, files_of, lose
from lab.cluster import Cluster
from unit.quorum_recovery.test_killed import was_killed_at

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

        _assert_needs_the_same_name(site, first, goes)
        assert files_of(survivor.data_dirs[0]) == before
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


def _assert_needs_the_same_name(site: Site, survivor: int, goes: dict[str, str]) -> None:
    """Require that a run with another inventory names the host as the killed run knew it."""
    renamed = site.directory / "renamed.json"
    text = site.inventory.read_text("utf-8").replace(f'"node{survivor}"', '"elsewhere"')
    renamed.write_text(text, encoding="utf-8")
    for more in ({}, {"restore_backup": "true"}):
        run = site.run("-i", str(renamed), hosts="elsewhere", **goes, **more)
        assert run.returncode == 2, run.output
        assert f"was begun as node{survivor}: give the host that name in the inventory" in run.words, run.output


def test_a_run_is_killed_before_each_change(cluster: Cluster, tmp_path: Path) -> None:
    first, *lost = cluster.controllers
    survivor = cluster.controllers[first]
    site = Site(cluster, tmp_path)
    lose(cluster, lost)
    survivor.stop()
    disk, backups, plan_file = survivor.data_dirs[0], cluster.work_dir / "backups", tmp_path / "plan.json"
    look = site.run(lost_voters=lost, manual_output_file=str(plan_file))
    assert look.returncode == 0, look.output
    plan = parse_plan(json.loads(plan_file.read_text("utf-8")))
    do, undo = partial(apply, plan, plan.host, str(backups)), partial(restore, plan, plan.host)

    before = _read(disk, site.properties(survivor))
    do()
    done = _read(disk, site.properties(survivor))
    for number in count(1):
        _put(disk, before)
        shutil.rmtree(backups)
        was_killed = was_killed_at(number, cluster.work_dir, do)
        left = _read(disk, site.properties(survivor))
        do()
        assert _read(disk, site.properties(survivor)) == done, number
        _put(disk, left)
        undo()
        assert _read(disk, site.properties(survivor)) == before, number
        if not was_killed:
            break
    for number in count(1):
        _put(disk, done)
        was_killed = was_killed_at(number, cluster.work_dir, undo)
        undo()
        assert _read(disk, site.properties(survivor)) == before, number
        if not was_killed:
            break

    _put(disk, done)
    with site.started(survivor) as start_command:
        run = site.run(automated_recovery="true", start_command=start_command)
        assert run.returncode == 0, run.output
        cluster.client.create_topic("after", {0: [1]})
        assert cluster.active_controller().node_id == first


def _read(disk: Path, properties: Path) -> dict[str, bytes]:
    found = files_of(disk) | {str(properties): properties.read_bytes()}
    # The lock is what each node creates. The other one has not got its final name.
    return {path: content for path, content in found.items() if not path.endswith((".lock", ".kafkaops-new"))}


def _put(disk: Path, files: dict[str, bytes]) -> None:
    shutil.rmtree(disk)
    for path, content in files.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(content)
