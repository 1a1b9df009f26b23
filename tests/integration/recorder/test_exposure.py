# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A broker dies and comes back between recordings, and the report says what the test did.

The times are those in the names of the snapshots, the log ends are read by the lab's client.
"""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._recorder.names import SnapshotName
from lab import Cluster, scenarios
from lab.module_process import run_module

pytestmark = pytest.mark.timeout(900)

_BOTH = "orders|payments"


def record(cluster: Cluster, directory: Path) -> datetime:
    """Record the cluster, and return the time of the snapshot."""
    options = {"recorder_dir": str(directory), "scope": _BOTH, "request_timeout_ms": 3000}
    place = run_module("cluster_recording", {"bootstrap_servers": [cluster.bootstrap()], **options})["place"]
    name = SnapshotName.parse(Path(place).name)
    assert name is not None
    return name.at


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.wide
def test_the_report_says_what_happened(cluster: Cluster, tmp_path: Path) -> None:
    cluster.client.create_topic("orders", {0: [1, 2, 3]}, {"min.insync.replicas": 2})
    cluster.client.create_topic("payments", {0: [1, 3]}, {"min.insync.replicas": 1})
    cluster.client.produce("payments", [0], 7)
    scenarios.wait_isr(cluster, "payments", {1, 3}, seen_by=1)
    recordings = tmp_path / "recordings"
    begin = datetime.now(UTC)
    record(cluster, recordings)

    cluster.brokers[3].kill()
    scenarios.wait_isr(cluster, "orders", {1, 2}, seen_by=1)
    scenarios.wait_isr(cluster, "payments", {1}, seen_by=1)
    cluster.client.produce("payments", [0], 5)
    only_copy = cluster.client.log_end_offset("payments", 0, 1)
    assert only_copy is not None
    died = record(cluster, recordings)
    time.sleep(2)
    record(cluster, recordings)

    cluster.brokers[3].start()
    scenarios.wait_isr(cluster, "orders", {1, 2, 3}, seen_by=1)
    scenarios.wait_isr(cluster, "payments", {1, 3}, seen_by=1)
    back = record(cluster, recordings)

    report_file = tmp_path / "exposure.json"
    options: dict[str, Any] = {
        "recordings": str(recordings),
        "scope": _BOTH,
        "gap_minutes": 5,
        "from": "2026-01-01T00:00:00Z",
        "report_file": str(report_file),
    }
    (found,) = run_module("exposure_report", options)["clusters"]
    away = round((back - died).total_seconds())

    (gap,) = found["coverage"]["gaps"]
    assert moment(gap["start"]) < begin <= moment(gap["end"]) < died
    assert found["coverage"]["snapshots"] == 4
    low = {each["topic"]: each for each in found["low"]}
    assert low.keys() == {"orders", "payments"}
    for each in low.values():
        assert (each["at_seconds"], each["longest_seconds"], each["snapshots"]) == (away, away, 2)
        assert (each["below_seconds"], each["offline_seconds"], each["state"]) == (0, 0, "above")
        assert moment(each["longest_at"]) == died

    brokers = {each["broker_id"]: each for each in found["brokers"]}
    third = brokers.pop(3)
    assert (third["departures"], third["returns"], third["away_seconds"], third["state"]) == (1, 1, away, "online")
    assert {(each["departures"], each["away_seconds"]) for each in brokers.values()} == {(0, 0)}
    first = brokers[1]
    assert (first["death_records"], first["death_only_answer_records"]) == (only_copy, only_copy)
    assert moment(first["death_at"]) == died
    assert {each["broker_id"] for each in found["disks"]} == {1, 2, 3}
    assert all(each["usable_bytes"] > 0 for each in found["disks"])

    assert json.loads(report_file.read_text("utf-8"))["clusters"][0]["low"][0]["minIsr"] in {1, 2}
    page = tmp_path / "exposure.html"
    written = run_module("incident_report", {"files": [str(report_file)], "html": str(page)})
    assert written["verdict"].startswith("1 cluster: 2 partitions at or below min ISR, 0 below it and 0 without")
    assert "No snapshot" in page.read_text("utf-8")
