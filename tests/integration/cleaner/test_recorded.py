# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The cleaner threads of one broker die, and recordings show by sizes alone whose log cleaner falls behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.cleaner import CleanerCluster
from lab.module_process import run_module
from lab.waiting import wait_until

_TOPIC = "state"
_MIB = 1 << 20


def _record(lab: CleanerCluster, recordings: Path) -> None:
    options = {"recorder_dir": str(recordings), "scope": _TOPIC}
    run_module("cluster_recording", {"bootstrap_servers": [lab.cluster.bootstrap()], **options})


@pytest.mark.wide
@pytest.mark.on_any_version
@pytest.mark.timeout(600)
def test_recordings_name_the_log_cleaner_that_falls_behind(lab: CleanerCluster, tmp_path: Path) -> None:
    recordings = tmp_path / "recordings"
    lab.create(_TOPIC, (1, 2, 3))
    lab.compact(_TOPIC)
    lab.write(_TOPIC)
    _record(lab, recordings)
    lab.kill_threads(2)
    lab.write(_TOPIC, 80)
    wait_until(
        lambda: max(lab.size(_TOPIC, broker) for broker in (1, 3)) < 10 * _MIB, 120, what="brokers 1 and 3 compact it"
    )
    behind = lab.size(_TOPIC, 2)
    assert behind > 70 * _MIB
    _record(lab, recordings)

    page = tmp_path / "exposure.html"
    report = {"report_file": str(tmp_path / "exposure.json")}
    found = run_module("exposure_report", {"recordings": str(recordings), "scope": _TOPIC, **report})
    first, second, third = found["clusters"][0]["cleaners"]
    assert [each["broker_id"] for each in (first, second, third)] == [1, 2, 3]
    assert second["diagnosis"] == "uncleanable_partitions"
    (copy,) = second["suspects"]
    assert (copy["topic"], copy["partition"], copy["size_bytes"]) == (_TOPIC, 0, behind)
    for other in (first, third):
        # It shrank between the looks, or it had grown and shrunk again by then.
        assert other["diagnosis"] in {"healthy", "idle", "unknown"}
        assert other["suspects"] == []
    run_module("incident_report", {"files": [report["report_file"]], "html": str(page)})
    assert "Copies of compacted partitions that seem not to be compacted" in page.read_text("utf-8")
