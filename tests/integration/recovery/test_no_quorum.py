# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Without a controller quorum nothing is asked of a controller: the roles say so and stop."""

from __future__ import annotations

from pathlib import Path

from lab import Cluster, scenarios
from lab.playbook import run_playbook
from lab.recovery import Recovery


def test_roles_refuse_without_a_quorum(kafka_version: str, tmp_path: Path) -> None:
    with Cluster(kafka_version, controllers=3, proxied=True) as cluster:
        scenarios.diverged(cluster, "headless")
        recovery = Recovery(cluster, tmp_path)
        plan = recovery.make_plan()
        for controller in [*cluster.controllers.values()][:2]:
            controller.kill()
        cluster.proxy.clear()

        refused = recovery.carry_out(plan)
        assert refused.returncode != 0
        assert "no quorum" in refused.output
        assert "ignore_quorum" in refused.output
        assert "Traceback" not in refused.output

        drain = run_playbook(
            "kafkaops.recovery.drain_leadership",
            {
                "kafka_bootstrap_servers": cluster.bootstrap(),
                "kafka_request_timeout_ms": 3000,
                "leadership_drain_brokers": [3],
            },
        )
        assert drain.returncode != 0
        assert "no quorum" in drain.output
        assert cluster.proxy.write_requests() == []
