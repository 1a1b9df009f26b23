# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How late the death of a leader is noticed: by the controllers' own session timeout, which no broker returns."""

from __future__ import annotations

from typing import Any

import pytest

from integration.history.alone import break_down, controllers_at
from lab import Cluster, versions
from lab.module_process import run_module

_SESSION = "broker.session.timeout.ms"


@pytest.mark.wide
@pytest.mark.on_every_version
def test_estimates_use_the_timeout_of_the_controllers_or_say_that_it_is_unknown(kafka_version: str) -> None:
    features = {"eligible.leader.replicas.version": 0} if versions.has_elr(kafka_version) else {}
    of_brokers = {_SESSION: 60_000}
    with Cluster(kafka_version, properties=of_brokers, features=features) as cluster:
        break_down(cluster, "late", min_isr=1)
        controller = cluster.active_controller()
        known = _history_of(cluster, bootstrap_controllers=[controllers_at(cluster)])
        assert not [each for each in known["missing"] if _SESSION in each]
        nobody = ["127.0.0.1:1"]
        unknown = _history_of(cluster, metadata_log_dir=str(controller.data_dirs[0]), bootstrap_controllers=nobody)
        (doubt,) = [each for each in unknown["missing"] if _SESSION in each]
        assert "controller at 127.0.0.1:1: " in doubt
        assert "the estimates assume 60000 ms, which brokers have" in doubt


def _history_of(cluster: Cluster, **more: object) -> dict[str, Any]:
    options = {"bootstrap_servers": [cluster.bootstrap()], "recovery_duration_ms": 2000, **more}
    wanted = [{"topic": "late", "partition": 0}]
    found = run_module("leader_candidate_info", {**options, "partitions": wanted})
    assert "msg" not in found, found["msg"]
    history: dict[str, Any] = found["partitions"][0]["history"]
    return history
