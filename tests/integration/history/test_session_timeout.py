# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How late the cluster notices something, by settings that nobody returns: those of controllers and dead leaders."""

from __future__ import annotations

from typing import Any

import pytest

from integration.history.alone import break_down, controllers_at, without_elr
from lab import Cluster
from lab.module_process import run_module

_SESSION = "broker.session.timeout.ms"
_REPLICA_LAG = "replica.lag.time.max.ms"


@pytest.mark.wide
@pytest.mark.on_every_version
def test_estimates_use_the_timeout_of_the_controllers_or_say_that_it_is_unknown(kafka_version: str) -> None:
    of_brokers = {_SESSION: 60_000}
    with Cluster(kafka_version, properties=of_brokers, features=without_elr(kafka_version)) as cluster:
        break_down(cluster, "late", min_isr=1)
        controller = cluster.active_controller()
        known = _look(cluster, bootstrap_controllers=[controllers_at(cluster)])["history"]
        assert not [each for each in known["missing"] if _SESSION in each]
        nobody = ["127.0.0.1:1"]
        unknown = _look(cluster, metadata_log_dir=str(controller.data_dirs[0]), bootstrap_controllers=nobody)
        (doubt,) = [each for each in unknown["history"]["missing"] if _SESSION in each]
        assert "controller at 127.0.0.1:1: " in doubt
        assert "the estimates assume 60000 ms, which brokers have" in doubt


@pytest.mark.wide
def test_the_dead_leader_is_taken_to_have_the_greatest_value_of_the_others(kafka_version: str) -> None:
    slower = {3: {_REPLICA_LAG: 100_000}}  # it leads nothing, and its own value decides nothing
    with Cluster(kafka_version, broker_properties=slower, features=without_elr(kafka_version)) as cluster:
        break_down(cluster, "late", min_isr=1)
        found = _look(cluster, bootstrap_controllers=[controllers_at(cluster)])
        (doubt,) = [each for each in found["history"]["missing"] if _REPLICA_LAG in each]
        assert "100000" in doubt
        assert "the greatest value is assumed" in doubt
        # Since the topic is younger than that: all that was ever written.
        assert all(each["lacks_seconds"] is not None for each in found["losses"])


def _look(cluster: Cluster, **more: object) -> dict[str, Any]:
    options = {"bootstrap_servers": [cluster.bootstrap()], "recovery_duration_ms": 2000, **more}
    wanted = [{"topic": "late", "partition": 0}]
    found = run_module("leader_candidate_info", {**options, "partitions": wanted})
    assert "msg" not in found, found["msg"]
    row: dict[str, Any] = found["partitions"][0]
    return row
