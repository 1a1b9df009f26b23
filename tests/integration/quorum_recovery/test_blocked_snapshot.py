# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A metadata transaction begins where the survivor's newest snapshot ends: Kafka 4.3.1 ends itself with both."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.scan import read_copy
from integration.quorum_recovery import objects
from integration.quorum_recovery.site import Site, cluster_with_snapshots, lose
from integration.quorum_recovery.test_back_to_three import SHOWS_ABORTED, append
from lab import wait_until
from lab.cluster import Cluster
from lab.node import Controller
from unit.quorum_recovery.disks import BEGIN_TRANSACTION, topic_record

pytestmark = [pytest.mark.timeout(900), pytest.mark.wide]


@pytest.fixture
def cluster(kafka_version: str) -> Iterator[Cluster]:
    with cluster_with_snapshots(kafka_version, super_users=[]) as cluster:
        objects.create(cluster)
        yield cluster


def test_the_snapshot_is_removed_and_every_object_is_kept(cluster: Cluster, tmp_path: Path) -> None:
    first, *lost = cluster.controllers
    survivor = cluster.controllers[first]
    before = objects.read(cluster)
    site = Site(cluster, tmp_path)
    lose(cluster, lost)
    survivor.stop()
    snapshot = _snapshot_at_the_end(survivor)
    unfinished = [] if cluster.version in SHOWS_ABORTED else [topic_record("unfinished")]
    append(survivor, [BEGIN_TRANSACTION, *unfinished])
    goes = {"lost_voters": lost, "automated_recovery": True}
    with site.started(survivor) as command:
        look = site.run("--check", **goes)
        assert f"{snapshot} is removed. The backup has it." in look.words, look.output
        assert snapshot.exists()
        run = site.run(**goes, start_command=command)
        assert run.returncode == 0, run.output
        assert not snapshot.exists()
        assert objects.read(cluster) == before
        cluster.client.create_topic("after", {0: [1]})


def test_with_it_the_controller_ends_itself(cluster: Cluster, tmp_path: Path) -> None:
    """The reason for all this. If it fails on a new release, Kafka has mended it."""
    first, *lost = cluster.controllers
    survivor = cluster.controllers[first]
    site = Site(cluster, tmp_path)
    lose(cluster, lost)
    survivor.stop()
    snapshot = _snapshot_at_the_end(survivor)
    append(survivor, [BEGIN_TRANSACTION])
    content = snapshot.read_bytes()
    run = site.run(lost_voters=lost, automated_recovery=True, start_command="false")
    assert run.returncode == 2, run.output
    assert not snapshot.exists()
    snapshot.write_bytes(content)
    survivor.start(wait=False)
    wait_until(lambda: not survivor.running, 60, what="the controller ends itself")
    assert "there is already a snapshot" in survivor.log_path.read_text("utf-8")


def _snapshot_at_the_end(controller: Controller) -> Path:
    """Give the newest snapshot the name of one at the end of the log, as if it had been taken there."""
    copy = read_copy("", str(controller.data_dirs[0]), None).copy
    disk = controller.data_dirs[0] / "__cluster_metadata-0"
    place = disk / f"{copy.log_end_offset:020}-{copy.last_epoch:010}.checkpoint"
    shutil.copy(max(disk.glob("*.checkpoint")), place)
    return place
