# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Recoveries of a quorum that are refused, with the disks of real controllers."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.quorum_recovery.site import Site, files_of
from lab import storage
from lab.cluster import Cluster

pytestmark = [pytest.mark.timeout(900), pytest.mark.wide]

_FIRST, _SECOND, _THIRD = 101, 102, 103
_LOST = [_SECOND, _THIRD]


class Disks:
    """The disks of three stopped controllers. Each test begins with them as they were."""

    def __init__(self, cluster: Cluster, place: Path) -> None:
        self.cluster = cluster
        self.site = Site(cluster, place)
        self.paths = {node_id: each.data_dirs[0] for node_id, each in cluster.controllers.items()}
        self._kept = {node_id: place / f"kept-{node_id}" for node_id in self.paths}
        for node_id, path in self.paths.items():
            shutil.copytree(path, self._kept[node_id])

    def put_back(self) -> None:
        for node_id, path in self.paths.items():
            shutil.rmtree(path, ignore_errors=True)
            shutil.copytree(self._kept[node_id], path)

    def bring_back(self, node_id: int) -> None:
        shutil.copytree(self._kept[node_id], self.paths[node_id])

    def lose(self, *node_ids: int) -> None:
        for each in node_ids:
            shutil.rmtree(self.paths[each])

    def files(self) -> dict[str, bytes]:
        return {path: content for each in self.paths.values() for path, content in files_of(each).items()}

    def assert_refused(self, expected: str, *arguments: str, **variables: object) -> None:
        """Require that a run that would recover says so, and changes nothing."""
        before = self.files()
        run = self.site.run(*arguments, automated_recovery=True, **variables)
        assert run.returncode != 0, run.output
        assert expected in run.words, run.output
        assert "HostVarsVars" not in run.words, "no other host goes on without this one's variables"
        assert self.files() == before


@pytest.fixture(scope="module")
def stopped(kafka_version: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Disks]:
    with Cluster(kafka_version, brokers=1, controllers=3, dynamic_quorum=True) as cluster:
        cluster.client.create_topic("orders", {0: [1]})
        for each in cluster.controllers.values():
            each.kill()
        yield Disks(cluster, tmp_path_factory.mktemp("site"))


@pytest.fixture
def disks(stopped: Disks) -> Disks:
    stopped.put_back()
    return stopped


def test_a_majority_of_whole_disks_is_to_be_started(disks: Disks) -> None:
    disks.lose(_THIRD)
    disks.assert_refused("start controllers 101 and 102 first; their disks are whole", lost_voters=_LOST)


def test_lost_voters_must_be_declared(disks: Disks) -> None:
    disks.lose(*_LOST)
    disks.assert_refused("quorum_recovery_lost_voters is not set. If voters 102 and 103 are lost for good")


def test_every_lost_voter_must_be_declared(disks: Disks) -> None:
    disks.lose(*_LOST)
    disks.assert_refused("voter 103 is neither declared lost nor has a whole disk", lost_voters=[_SECOND])


def test_the_disk_of_another_cluster_is_refused(disks: Disks) -> None:
    disks.lose(_THIRD)
    identity = disks.paths[_SECOND] / "meta.properties"
    other = identity.read_text("utf-8").replace(disks.cluster.cluster_id, storage.random_uuid())
    identity.write_text(other, encoding="utf-8")
    disks.assert_refused("the disks belong to 2 clusters", lost_voters=_LOST)


def test_a_log_with_damage_in_the_middle_is_refused(disks: Disks) -> None:
    disks.lose(*_LOST)
    segment = max((disks.paths[_FIRST] / "__cluster_metadata-0").glob("*.log"))
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 1
    segment.write_bytes(content)
    disks.assert_refused("no controller's disk has a whole metadata log", lost_voters=_LOST)


def test_an_old_voter_that_answers_is_to_be_stopped(disks: Disks) -> None:
    disks.lose(_THIRD)
    voter = disks.cluster.controllers[_SECOND]
    elsewhere = disks.paths.pop(_SECOND)
    voter.start()
    try:
        disks.assert_refused(f"voter 102 answers at {voter.host}:{voter.port}", "--limit", "node101", lost_voters=_LOST)
    finally:
        voter.kill()
        disks.paths[_SECOND] = elsewhere


def test_a_killed_run_does_not_go_on_when_old_voters_are_back(disks: Disks, tmp_path: Path) -> None:
    disks.lose(*_LOST)
    before = disks.files()
    goes = {"lost_voters": _LOST, "backup_dir": str(tmp_path)}
    killed = disks.site.run(automated_recovery=True, start_command="false", **goes)
    assert killed.returncode == 2, killed.output
    disks.bring_back(_SECOND)
    disks.assert_refused("the disks of controllers 101 and 102 are whole, and 2 of 3 voters are a majority", **goes)
    disks.lose(_SECOND)

    voter = disks.cluster.controllers[_SECOND]
    with socket.create_server((voter.host, voter.port)):
        disks.assert_refused("voter 102 answers at", **goes)
        undone = disks.site.run(automated_recovery=True, restore_backup=True, **goes)
    assert undone.returncode == 0, undone.output
    assert {path: each for path, each in disks.files().items() if not path.endswith(".lock")} == {
        path: each for path, each in before.items() if not path.endswith(".lock")
    }


def test_another_program_at_the_address_of_a_lost_voter_is_named_and_the_operator_decides(disks: Disks) -> None:
    """A load balancer accepts connections, whatever is behind it."""
    disks.lose(*_LOST)
    voter = disks.cluster.controllers[_SECOND]
    with socket.create_server((voter.host, voter.port)):
        disks.assert_refused("add 102 to quorum_recovery_answered_by_others", lost_voters=_LOST)
        disks.assert_refused(
            "add 102 to quorum_recovery_answered_by_others", lost_voters=_LOST, answered_by_others=[_THIRD]
        )
        look = disks.site.run(lost_voters="102,103", answered_by_others="102")
    assert look.returncode == 0, look.output
    assert f"{voter.host}:{voter.port} answers. It is not voter 102" in look.words


def test_a_copy_of_the_disk_is_refused(disks: Disks, tmp_path: Path) -> None:
    """Only the disk itself is started. The copy has no lock while the controller runs."""
    disks.lose(*_LOST)
    shutil.copytree(disks.paths[_FIRST], tmp_path / "copy")
    inventory = json.loads(disks.site.inventory.read_text("utf-8"))
    hosts = inventory["all"]["hosts"]
    properties = Path(hosts[f"node{_FIRST}"]["quorum_recovery_properties"]).read_text("utf-8")
    other = tmp_path / "copy.properties"
    other.write_text(properties.replace(str(disks.paths[_FIRST]), str(tmp_path / "copy")), encoding="utf-8")
    hosts["archive"] = hosts[f"node{_FIRST}"] | {"quorum_recovery_properties": str(other)}
    with_copy = tmp_path / "inventory.json"
    with_copy.write_text(json.dumps(inventory), encoding="utf-8")
    both = {"hosts": f"node{_FIRST},archive", "lost_voters": "102,103"}
    disks.assert_refused("controller 101 is in this run more than once", "-i", str(with_copy), **both)


def test_hosts_and_files_that_are_not_there_are_named(disks: Disks, tmp_path: Path) -> None:
    disks.lose(*_LOST)
    lost = ",".join(map(str, _LOST))
    disks.assert_refused("no host of the inventory matches 'node104'", hosts="node101,node104", lost_voters=lost)
    without = tmp_path / "inventory.ini"
    without.write_text("first ansible_connection=local\n", encoding="utf-8")
    both = {"hosts": f"first,node{_FIRST}", "lost_voters": lost}
    disks.assert_refused("quorum_recovery_properties is required. Nothing was read", "-i", str(without), **both)
    missing = tmp_path / "none.properties"
    disks.assert_refused(f"{missing} could not be read", properties=str(missing), lost_voters=lost)


def test_the_survivor_must_be_stopped(disks: Disks) -> None:
    disks.lose(*_LOST)
    survivor = disks.cluster.controllers[_FIRST]
    survivor.start()
    try:
        run = disks.site.run(automated_recovery=True, lost_voters=_LOST)
        assert run.returncode != 0, run.output
        assert "Stop controller 101 on node101, and run again. Nothing was changed." in run.words, run.output
        assert not [each for each in disks.paths[_FIRST].parent.iterdir() if "quorum-recovery" in each.name]
    finally:
        survivor.kill()
