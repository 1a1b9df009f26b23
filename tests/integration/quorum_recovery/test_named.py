# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Playbooks name the recovery of the quorum where it may apply: a majority is down. Elsewhere they do not."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from lab import wait_until
from lab.cluster import Cluster
from lab.playbook import RECOVER, PlaybookRun, run_playbook

pytestmark = [pytest.mark.timeout(900), pytest.mark.wide]

_CHECK = "kafkaops.recovery.check_quorum"
_READINESS = "kafkaops.recovery.check_readiness"
_COMMAND = "kafkaops.recovery.recover_quorum"
_TREE = "whether to wait, or to start, replace or recover controllers"
_STEPS_DOWN_S = 10
"""A leader from which nobody fetches steps down after one and a half fetch timeouts (3 s)."""


@pytest.fixture(params=[True, False], ids=["dynamic", "static"])
def cluster(kafka_version: str, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with Cluster(kafka_version, brokers=2, controllers=3, dynamic_quorum=request.param) as cluster:
        cluster.client.create_topic("orders", {0: [1, 2]}, {"min.insync.replicas": 1})
        yield cluster


def test_the_recovery_is_named_while_a_majority_is_down_and_only_then(cluster: Cluster) -> None:
    for run in (_run(cluster, _CHECK), _run(cluster, _READINESS), _run(cluster, RECOVER)):
        assert _COMMAND not in run.words, run.output
        assert _TREE not in run.words

    _lose_the_leader(cluster)
    survivor = cluster.active_controller()
    lost = [each for each in cluster.controllers.values() if each is not survivor]
    lost[0].kill()
    assert _COMMAND not in _run(cluster, _CHECK).words, "a majority is left"

    lost[1].kill()
    time.sleep(_STEPS_DOWN_S)
    ids = ",".join(str(each.node_id) for each in lost)
    start = f"Start controllers {lost[0].node_id} and {lost[1].node_id} with the old disks, until 2 of 3 run"
    elects = {
        "unclean_recovery_all_offline_partitions": True,
        "unclean_recovery_strategy": "aggressive",
        "unclean_recovery_automated_recovery": True,
    }
    for run in (_run(cluster, _CHECK), _run(cluster, _READINESS), _run(cluster, RECOVER, elects)):
        assert run.returncode == 2, run.output
        assert start in run.words, run.output
        assert f"{_COMMAND} -i inventory -e quorum_recovery_lost_voters={ids} " in run.words, run.output
    assert _TREE in _run(cluster, RECOVER).words, "a look knows only that no controller leads"

    lost[0].start()
    wait_until(lambda: _run(cluster, _CHECK).counts.get("failed") == 1, 60, what="a quorum of two")
    assert _COMMAND not in _run(cluster, _CHECK).words


def _lose_the_leader(cluster: Cluster) -> None:
    """Leave a partition without a leader, with a survivor that can be elected."""
    cluster.client.produce("orders", 0, 10)
    cluster.brokers[2].kill()
    wait_until(lambda: cluster.client.describe("orders", broker=1)[0].isr == (1,), 60, what="one member of the ISR")
    cluster.client.produce("orders", 0, 5)
    cluster.brokers[1].kill()
    cluster.brokers[2].start()
    wait_until(lambda: cluster.client.describe("orders", broker=2)[0].leader is None, 60, what="an outage")


def _run(cluster: Cluster, playbook: str, variables: dict[str, object] | None = None) -> PlaybookRun:
    given = {"kafka_bootstrap_servers": cluster.bootstrap(), "kafka_request_timeout_ms": 3000}
    return run_playbook(playbook, {**given, **(variables or {})})
