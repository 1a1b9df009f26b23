# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Records that only live losers hold are saved before the election, and replayed, on real brokers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from lab import Cluster
from lab.module_process import run_module
from lab.scenarios import longer_log_of_older_epoch
from lab.waiting import wait_until

_TOPIC = "tails"
_COMMON, _OLDER, _NEWER = _RECORDS = (10, 50, 5)


def forget_high_watermarks(cluster: Cluster, broker: int) -> None:
    """Remove a killed broker's knowledge of committed records, so that a consumer may read none of its records."""
    node = cluster.brokers[broker]
    node.kill()
    for directory in node.data_dirs:
        (directory / "replication-offset-checkpoint").unlink()
    node.start()
    wait_until(
        lambda: all(
            broker not in each.offline_replicas for each in cluster.client.describe(_TOPIC, broker=broker).values()
        ),
        60,
        what=f"broker {broker} is back",
    )


def test_a_loser_s_records_are_saved_before_the_election_and_given_back(cluster: Cluster, tmp_path: Path) -> None:
    offline = longer_log_of_older_epoch(cluster, _TOPIC, 2, records=_RECORDS)
    forget_high_watermarks(cluster, offline.replicas[1])
    where: dict[str, Any] = {"bootstrap_servers": [cluster.bootstrap()]}
    options = {**where, "journal_dir": str(tmp_path)}
    wanted = [{"topic": _TOPIC, "partitions": [0, 1]}]
    plan = tmp_path / "plan.json"
    how = {"recovery_strategy": "aggressive", "partitions": wanted, "plan_file": str(plan)}
    planned = run_module("leader_candidate_info", {**where, **how})
    assert "msg" not in planned, planned["msg"]
    refused = run_module(
        "designated_election",
        {**options, "plan_file": str(plan), "salvage": "required", "salvage_dir": str(tmp_path / "none" / "saved")},
    )
    assert "has no directory" in refused["msg"]
    saved = tmp_path / "saved"
    elected = run_module(
        "designated_election",
        {**options, "plan_file": str(plan), "salvage": "required", "salvage_dir": str(saved)},
    )
    assert "msg" not in elected, elected["msg"]
    counts = ("held_by_losers", "saved", "given_back", "still_lost", "reason")
    assert [tuple(each[name] for name in counts) for each in elected["salvage"]["partitions"]] == [
        (_OLDER, _OLDER, 0, _OLDER, "")
    ] * 2
    rows = pq.read_table(saved / "records").to_pylist()
    labels = [f"older-{number}" for number in range(_OLDER)]
    for partition in offline.partitions:
        assert [row["value"].decode() for row in rows if row["partition"] == partition] == labels
        assert {row["origin_broker"] for row in rows} == {offline.replicas[1]}
    given = run_module("salvage_replay", {**options, "salvage_dir": str(saved), "target": "original"})
    assert "msg" not in given, given["msg"]
    assert [tuple(each[name] for name in counts[:-1]) for each in given["account"]["partitions"]] == [
        (_OLDER, _OLDER, _OLDER, 0)
    ] * 2, "the forecast of the losers comes with the salvage"
    kept = [f"common-{number}" for number in range(_COMMON)] + [f"newer-{number}" for number in range(_NEWER)]
    for partition in offline.partitions:
        assert cluster.client.consume_all(_TOPIC, partition) == [*kept, *labels]
