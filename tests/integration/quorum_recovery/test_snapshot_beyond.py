# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The survivor died after it had copied a snapshot, and before it cut its log to it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._quorum_recovery.scan import read_copy
from integration.quorum_recovery.site import Site, cluster_with_snapshots, lose
from lab import wait_until
from lab.cluster import Cluster

pytestmark = [pytest.mark.timeout(900), pytest.mark.wide]


@pytest.fixture
def cluster(kafka_version: str) -> Iterator[Cluster]:
    with cluster_with_snapshots(kafka_version) as cluster:
        yield cluster


def test_it_is_started_once_and_then_goes_on(cluster: Cluster, tmp_path: Path) -> None:
    wait_until(lambda: cluster.active_controller() is not None, 60, what="a leader")
    survivor = next(each for each in cluster.controllers.values() if each is not cluster.active_controller())
    survivor.kill()
    for number in range(20):
        cluster.client.create_topic(f"topic{number}", {0: [1]})
    end = read_copy("", str(survivor.data_dirs[0]), None).copy.log_end_offset or 0
    lost = [each for each in cluster.controllers.values() if each is not survivor]
    disk = lost[0].data_dirs[0] / "__cluster_metadata-0"
    wait_until(lambda: max(int(each.name[:20]) for each in disk.glob("*.checkpoint")) > end, 60, what="a snapshot")
    shutil.copy(max(disk.glob("*.checkpoint")), survivor.data_dirs[0] / disk.name)
    cluster.brokers[1].kill()  # It is ahead, and would end itself.
    lose(cluster, [each.node_id for each in lost])
    site = Site(cluster, tmp_path)
    goes = {"lost_voters": ",".join(str(each.node_id) for each in lost), "automated_recovery": "true"}
    with site.started(survivor) as command:
        refused = site.run(**goes, start_command=command)
        assert refused.returncode == 2, refused.output
        assert "ends before its newest snapshot" in refused.words, refused.output

        survivor.start()
        survivor.stop()
        whole = read_copy("", str(survivor.data_dirs[0]), None).copy
        assert not whole.ends_before_snapshot
        assert whole.contents is not None
        assert whole.contents.topics > 0
        run = site.run(**goes, start_command=command)
        # The broker is stopped.
        assert "1 of the brokers that its log knows do not follow it yet" in run.words, run.output
        shutil.rmtree(cluster.brokers[1].data_dirs[0] / disk.name)
        cluster.brokers[1].start()
        cluster.client.create_topic("after", {0: [1]})
