# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""SIGTERM and SIGHUP for each part of a playbook, while it drops a replica.

The current request is completed. The replica ends with its original order and without a throttle: either the module
undoes the repair, or the signal does not reach the module, and it completes the repair.
"""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_topic import RUN_TOPIC
from lab.changes import pending_changes
from lab.cleaner import CleanerCluster, CleanerOperator, own_settings
from lab.playbook import Part
from lab.signals import output_of_signalled
from lab.waiting import wait_until

pytestmark = [pytest.mark.wide, pytest.mark.on_any_version]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("who", Part)
def test_a_repair_ends_in_order(
    lab: CleanerCluster, operator: CleanerOperator, tmp_path: Path, who: Part, number: signal.Signals
) -> None:
    topic = f"signalled-{who.name.lower()}-{number.name.lower()}"
    lab.damaged(topic, (1, 2, 3), 3)
    report = tmp_path / "report.json"
    variables = {
        "kafka_bootstrap_servers": lab.cluster.bootstrap(),
        "log_cleaner_recovery_metrics_source": "prometheus",
        "log_cleaner_recovery_metrics_url": lab.prometheus_url,
        "log_cleaner_recovery_metrics_timeout_ms": 30_000,
        "log_cleaner_recovery_repair_uncleanable": True,
        "log_cleaner_recovery_report_file": str(report),
        "log_cleaner_recovery_suspect_bytes": 500_000,
    }
    lab.cluster.proxy.clear()
    playbook, request = "kafkaops.recovery.recover_log_cleaners", ApiKey.AlterPartitionReassignments
    output = output_of_signalled(lab.cluster, playbook, variables, who, number, request, timeout=180)
    wait_until(lambda: not lab.cluster.client.describe(RUN_TOPIC), 120, what="the module has released the lock")
    assert len(lab.drops(3)) == 1, "the request in flight was completed"
    lab.assert_in_sync(topic, (1, 2, 3), leader=1)
    assert pending_changes(lab.cluster) == ()
    assert all("throttled" not in name for broker in lab.cluster.brokers for name in own_settings(lab.admin, broker))
    # Separate tasks write the report and the table: they do not run after ansible-playbook has ended.
    assert report.exists() is ("Print the summary" in output) is (who is Part.MODULE), output
    if who is Part.MODULE:
        (repair,) = json.loads(report.read_text(encoding="utf-8"))["repairs"]
        assert repair["status"] == "failed"
        assert "the run was asked to stop; restored" in repair["reason"]
        assert "repair" in output
    # A mark may have outlived the damaged copy. Then no read of the new copy finds it.
    again = operator.run("log_cleaner_repair", brokers=[3], partitions=[{"topic": topic, "partition": 0}], force=True)
    assert [each["status"] for each in again["outcomes"]] == ["repaired"], again
    assert again["leftovers"] == [], again
    lab.assert_in_sync(topic, (1, 2, 3), leader=1)
    operator.assert_healthy(3)
