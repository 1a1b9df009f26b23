# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cluster is recorded, a leader dies, and a plan knows from the recordings what it held.

The log ends are read by the lab's client while the brokers live.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from lab import Cluster, scenarios
from lab.module_process import run_module

pytestmark = pytest.mark.timeout(400)

_TOPIC = "orders"


def record(cluster: Cluster, directory: Path, *, check_mode: bool = False) -> dict[str, Any]:
    options = {"recorder_dir": str(directory), "scope": _TOPIC, "request_timeout_ms": 3000}
    asked = {"bootstrap_servers": [cluster.bootstrap()], **options}
    return run_module("cluster_recording", asked, check_mode=check_mode)


def stored(results: dict[str, Any], part: str = "replicas") -> list[dict[str, Any]]:
    """Return the rows of a snapshot, read without Spark."""
    (file,) = Path(results["place"].removeprefix("file://"), part).glob("*.parquet")
    rows: list[dict[str, Any]] = pq.ParquetFile(file).read().to_pylist()
    return sorted(rows, key=lambda row: row["broker_id"])


def plan(cluster: Cluster, **more: Any) -> dict[str, Any]:
    options = {"recovery_duration_ms": 2000, "engine": "process", "recovery_strategy": "aggressive"}
    (row,) = run_module(
        "leader_candidate_info",
        {
            "bootstrap_servers": [cluster.bootstrap()],
            "partitions": [{"topic": _TOPIC, "partition": 0}],
            "request_timeout_ms": 3000,
            **options,
            **more,
        },
    )["partitions"]
    (loss,) = row["losses"]
    return dict(loss)


def test_a_plan_knows_what_a_dead_leader_held_when_it_was_recorded(cluster: Cluster, tmp_path: Path) -> None:
    cluster.client.create_topic(_TOPIC, {0: [1, 2]}, {"min.insync.replicas": 1})
    cluster.client.produce(_TOPIC, [0], 7)
    cluster.brokers[2].freeze()
    scenarios.wait_isr(cluster, _TOPIC, {1}, seen_by=1)
    cluster.client.produce(_TOPIC, [0], 5)
    end = cluster.client.log_end_offset(_TOPIC, 0, 1)
    assert end is not None
    first = record(cluster, tmp_path)
    leader, hung = stored(first)
    assert (leader["log_end_offset"], leader["high_watermark"], leader["leader_id"]) == (end, end, 1)
    assert leader["size_bytes"] > 0
    # Brokers before 4.0 give no address of a fenced broker (KIP-1073).
    cause = "fenced" if cluster.version == "3.9.2" else "hung"
    assert (hung["cause"], hung["log_end_offset"], hung["size_bytes"]) == (cause, None, None)
    assert first["missing"] == {cause: 1}
    space = {row["broker_id"]: row["usable_bytes"] for row in stored(first, "brokers")}
    assert space[1] > 0
    assert space[2] is None

    cluster.brokers[1].kill()
    cluster.brokers[2].thaw()
    scenarios.wait_offline(cluster, _TOPIC, away={1}, seen_by=2)
    survivor = cluster.client.log_end_offset(_TOPIC, 0, 2)
    assert survivor is not None
    second = record(cluster, tmp_path)
    assert not second["is_full"]
    assert [*second["silent_brokers"]] == ["1"]
    dead = stored(second)[0]
    assert (dead["log_end_offset"], dead["last_answer"]["log_end_offset"]) == (None, end)

    blind = plan(cluster)
    assert (blind["at_least"], blind["recorded"]) == (0, None)
    loss = plan(cluster, recordings=str(tmp_path))
    assert (loss["at_least"], loss["at_most"]) == (end - survivor, None)
    assert loss["recorded"]["records"] == end - survivor == 5
    assert loss["recorded"]["broker_id"] == 1


@pytest.mark.wide
def test_check_mode_writes_nothing(cluster: Cluster, tmp_path: Path) -> None:
    cluster.client.create_topic(_TOPIC, {0: [1, 2, 3]})
    planned = record(cluster, tmp_path / "new", check_mode=True)
    assert (planned["replicas"], planned["stored_rows"], planned["size_bytes"]) == (3, 3, None)
    assert not (tmp_path / "new").exists()
