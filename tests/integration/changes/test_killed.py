# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An election that is killed before or after one of its requests, and the next run without its home directory."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_topic import RUN_TOPIC
from lab import Cluster, scenarios
from lab.changes import elect, elect_in_process, pending_changes
from lab.faults import After, Before, Fault
from lab.waiting import wait_until


@dataclass(frozen=True)
class Boundary:
    """The moment at which a run dies: before or after the ``number``-th request of a kind."""

    moment: Callable[[Callable[[], object]], Fault]
    api_key: int
    number: int = 1


_CREATE, _PRODUCE, _ALTER, _ELECT, _DELETE = 19, 0, 45, 43, 20
_TWO_DEAD = "two of three brokers dead: "
# The run creates the topic, claims it, records the changes, reorders, elects, restores, settles, and deletes the topic.
# The restore follows the election, so killing after the one and before the other is the same. With one live broker, the
# original order elects it, and nothing is reordered.
_BOUNDARIES = [
    pytest.param(1, Boundary(After, _CREATE), id="after the topic was created", marks=pytest.mark.wide),
    # The next run waits more than a minute for a late order.
    pytest.param(1, Boundary(After, _PRODUCE, 2), id="after the changes were recorded", marks=pytest.mark.wide),
    pytest.param(1, Boundary(After, _ALTER), id="after the reorder", marks=pytest.mark.wide),
    pytest.param(1, Boundary(After, _ELECT), id="after the election"),
    pytest.param(1, Boundary(Before, _DELETE), id="before the topic is deleted", marks=pytest.mark.wide),
    pytest.param(2, Boundary(After, _CREATE), id=_TWO_DEAD + "after the topic was created", marks=pytest.mark.wide),
    pytest.param(2, Boundary(After, _ELECT), id=_TWO_DEAD + "after the election", marks=pytest.mark.wide),
    pytest.param(2, Boundary(Before, _DELETE), id=_TWO_DEAD + "before the topic is deleted", marks=pytest.mark.wide),
]


@pytest.mark.parametrize(("dead", "boundary"), _BOUNDARIES)
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
    process = elect_in_process(cluster.bootstrap(), "killed", 3, offline.best, home)
    hits = []
    lock = threading.Lock()

    def kill_at_the_last() -> None:
        with lock:
            hits.append(boundary)
            if len(hits) == boundary.number:
                process.kill()

    with cluster.proxy.inject(boundary.moment(kill_at_the_last), api_key=boundary.api_key):
        process.communicate(timeout=120)
    assert len(hits) >= boundary.number, "the run ended before the moment at which it should die"
    shutil.rmtree(home)

    elect(cluster.bootstrap(), "killed", 3, offline.best)
    after = cluster.client.describe("killed")
    assert {state.leader for state in after.values()} == {offline.best}
    assert {state.replicas for state in after.values()} == {offline.replicas}
    assert pending_changes(cluster) == ()
    wait_until(lambda: not cluster.client.describe(RUN_TOPIC), 10, what="the run topic is gone")
