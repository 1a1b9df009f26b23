# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""No controller's disk is left: the newest broker's copy of the metadata log goes on, as docs/quorum.md says."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.quorum_recovery import objects
from integration.quorum_recovery.site import Site, lose
from lab.cluster import Cluster

pytestmark = [pytest.mark.timeout(1200), pytest.mark.wide]

_METADATA = "__cluster_metadata-0"


@pytest.fixture(params=[True, False], ids=["dynamic", "static"])
def cluster(kafka_version: str, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with Cluster(kafka_version, brokers=2, controllers=3, dynamic_quorum=request.param, super_users=[]) as cluster:
        objects.create(cluster)
        yield cluster


def test_a_brokers_copy_goes_on_in_a_new_controller(cluster: Cluster, tmp_path: Path) -> None:
    before = objects.read(cluster)
    site = Site(cluster, tmp_path)
    first, *others = cluster.controllers
    lose(cluster, [*cluster.controllers])

    look = site.run(hosts="all", lost_voters=[first, *others])
    assert look.returncode != 0, look.output
    assert "no controller's disk has a whole metadata log" in look.words
    assert "The newest copy of a broker is that of broker" in look.words, look.output

    new = cluster.controllers[first]
    new.format()
    shutil.rmtree(new.data_dirs[0] / _METADATA, ignore_errors=True)
    shutil.copytree(cluster.brokers[1].data_dirs[0] / _METADATA, new.data_dirs[0] / _METADATA)

    # With dynamic voters, the new disk is none of the voters: that the old one is lost must be declared.
    gone = others if cluster.has_static_voters else [first, *others]
    if not cluster.has_static_voters:
        undeclared = site.run(hosts="all", lost_voters=others, automated_recovery=True)
        assert undeclared.returncode != 0
        assert f"voter {first} is neither declared lost nor has a whole disk" in undeclared.words, undeclared.output

    with site.started(new) as command:
        run = site.run(hosts="all", lost_voters=gone, automated_recovery=True, start_command=command)
        assert run.returncode == 0, run.output
        assert objects.read(cluster) == before
        cluster.client.create_topic("after", {0: [1]})
        assert cluster.client.consume_all("orders", 0)
        cluster.brokers[2].restart()
