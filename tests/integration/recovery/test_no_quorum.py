# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Without a controller quorum, the roles request nothing from a controller, report this, and stop."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan_file import write_plan
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Strategy
from integration.on_call import OnCall
from lab import Cluster, scenarios, settings
from lab.faults import After
from lab.module_process import run_module, start_module
from lab.playbook import run_playbook
from lab.recovery import Recovery

pytestmark = pytest.mark.on_any_version


@pytest.mark.wide
def test_roles_refuse_without_a_quorum(kafka_version: str, tmp_path: Path) -> None:
    with Cluster(kafka_version, controllers=3, proxied=True) as cluster:
        scenarios.diverged(cluster, "headless")
        recovery = Recovery(cluster, tmp_path)
        plan = tmp_path / "plan.json"
        on_call = OnCall(cluster, tmp_path)
        write_plan(on_call.plan(Strategy.AGGRESSIVE, "headless"), str(plan))
        cleaner = _restart_that_is_killed(cluster, tmp_path)
        # Stop the leader, too: an isolated leader considers itself the leader until a fetch timeout has passed.
        leader = _quorum_leader(cluster)
        for controller in sorted(cluster.controllers, key=lambda node_id: node_id != leader)[:2]:
            cluster.controllers[controller].kill()
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

        # The only task is to undo the changes of the killed run.
        foreseen = run_module("log_cleaner", cleaner, check_mode=True)
        assert [each["undoing"] for each in foreseen["leftovers"]] == ["would_restore"]
        assert "no quorum" in run_module("log_cleaner", cleaner)["msg"]
        assert cluster.proxy.write_requests() == []


def _restart_that_is_killed(cluster: Cluster, tmp_path: Path) -> dict[str, object]:
    """Kill a restart of a log cleaner after its first edit, and return the options that it was started with."""
    options = {
        "bootstrap_servers": [cluster.bootstrap()],
        "request_timeout_ms": 3000,
        "brokers": [3],
        "metrics_source": "none",
    }
    process = start_module("log_cleaner", {**options, "force": True})
    with cluster.proxy.inject(After(process.kill), api_key=ApiKey.IncrementalAlterConfigs, times=1) as rule:
        process.communicate(timeout=60)
    assert rule.hits
    return options


def _quorum_leader(cluster: Cluster) -> int:
    reported = cluster.client.run_tool(
        "org.apache.kafka.tools.MetadataQuorumCommand",
        *("--bootstrap-server", cluster.bootstrap(settings.INTERNAL), "describe", "--status"),
    )
    found = re.search(r"^LeaderId:\s+(\d+)$", reported.stdout, re.MULTILINE)
    assert found, reported.stdout + reported.stderr
    return int(found[1])
