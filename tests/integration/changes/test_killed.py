# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An election that is killed before or after one of its requests, and the next run without its home directory."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import pytest
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_topic import RUN_TOPIC
from lab import Cluster, scenarios
from lab.boundary import Boundary
from lab.changes import elect, elect_in_process, pending_changes
from lab.faults import After, Before
from lab.waiting import wait_until

_TWO_DEAD = "two of three brokers dead: "
# The run creates the topic, claims it, records the changes, reorders, elects, restores, settles, and deletes the topic.
# The restore follows the election, so killing after the one and before the other is the same. With one live broker, the
# original order elects it, and nothing is reordered.
_BOUNDARIES = [
    (1, Boundary("after the topic was created", After, ApiKey.CreateTopics)),
    # The next run waits more than a minute for a late order.
    (1, Boundary("after the changes were recorded", After, ApiKey.Produce, 2)),
    (1, Boundary("after the reorder", After, ApiKey.AlterPartitionReassignments)),
    (1, Boundary("after the election", After, ApiKey.ElectLeaders)),
    (1, Boundary("before the topic is deleted", Before, ApiKey.DeleteTopics)),
    (2, Boundary(_TWO_DEAD + "after the topic was created", After, ApiKey.CreateTopics)),
    (2, Boundary(_TWO_DEAD + "after the election", After, ApiKey.ElectLeaders)),
    (2, Boundary(_TWO_DEAD + "before the topic is deleted", Before, ApiKey.DeleteTopics)),
]
_SHORT = {"after the election"}
"""Boundaries of `make test`."""


@pytest.mark.parametrize(
    ("dead", "boundary"),
    [
        pytest.param(dead, each, id=each.name, marks=() if each.name in _SHORT else pytest.mark.wide)
        for dead, each in _BOUNDARIES
    ],
)
def test_the_next_run_elects_and_restores_every_order(
    cluster: Cluster,
    tmp_path: Path,
    dead: int,
    boundary: Boundary,
) -> None:
    offline = scenarios.diverged(cluster, "killed", partitions=3)
    if dead > 1:
        gone = offline.replicas[:2]
        cluster.brokers[gone[1]].kill()
        wait_until(
            lambda: {*cluster.client.describe("killed", broker=offline.best)[0].offline_replicas} == {*gone},
            60,
            what="only one broker is left",
        )
    home = tmp_path / "home"
    home.mkdir()
    start = partial(elect_in_process, cluster.bootstrap(), "killed", 3, offline.best, home)
    boundary.kill(cluster.proxy, start)
    shutil.rmtree(home)

    elect(cluster.bootstrap(), "killed", 3, offline.best)
    after = cluster.client.describe("killed")
    assert {state.leader for state in after.values()} == {offline.best}
    assert {state.replicas for state in after.values()} == {offline.replicas}
    assert pending_changes(cluster) == ()
    wait_until(lambda: not cluster.client.describe(RUN_TOPIC), 10, what="the run topic is gone")
