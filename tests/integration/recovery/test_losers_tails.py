# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Records that only live losers hold are saved before the election, and replayed, on real brokers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

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
    options = {**where}
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


def _returned_loser(cluster: Cluster, topic: str, plan: Path) -> tuple[int, int]:
    """Plan while the loser is frozen, and return when it is back: the loser, and the leader of the plan."""
    offline = longer_log_of_older_epoch(cluster, topic, records=_RECORDS)
    _dead, loser, leader = offline.replicas

    def wait(*, away: bool) -> None:
        wait_until(
            lambda: (loser in cluster.client.describe(topic, broker=leader)[0].offline_replicas) == away,
            60,
            what=f"broker {loser} is {'away' if away else 'back'}",
        )

    cluster.brokers[loser].freeze()
    wait(away=True)
    how = {"recovery_strategy": "aggressive", "partitions": [{"topic": topic, "partitions": [0]}]}
    where = {"bootstrap_servers": [cluster.bootstrap()], "request_timeout_ms": 2000, "recovery_duration_ms": 4000}
    planned = run_module("leader_candidate_info", {**where, **how, "plan_file": str(plan)})
    assert "msg" not in planned, planned["msg"]
    cluster.brokers[loser].thaw()
    wait(away=False)
    return loser, leader


def _saved_labels(saved: Path) -> list[str]:
    return [row["value"].decode() for row in pq.read_table(saved / "records").to_pylist()]


@pytest.mark.wide
def test_a_loser_that_was_silent_in_the_plan_is_saved_too(cluster: Cluster, tmp_path: Path) -> None:
    """What is saved comes from the last look. The plan, made while the loser was away, foresaw no loss."""
    plan, saved = tmp_path / "plan.json", tmp_path / "saved"
    loser, leader = _returned_loser(cluster, "late", plan)
    elected = run_module(
        "designated_election",
        {
            "bootstrap_servers": [cluster.bootstrap()],
            "plan_file": str(plan),
            "salvage": "required",
            "salvage_dir": str(saved),
        },
    )
    assert "msg" not in elected, elected["msg"]
    (row,) = elected["partitions"]
    assert (
        f"loses offsets {_COMMON}..{_COMMON + _OLDER - 1} ({_OLDER} records) that replica {loser} holds"
        in (row["reason"])
    )
    assert _saved_labels(saved) == [f"older-{number}" for number in range(_OLDER)]
    assert cluster.client.leader("late") == leader


@pytest.mark.wide
def test_losers_of_a_bare_designation_are_saved(cluster: Cluster, tmp_path: Path) -> None:
    offline = longer_log_of_older_epoch(cluster, "bare", records=_RECORDS)
    saved = tmp_path / "saved"
    elected = run_module(
        "designated_election",
        {
            "bootstrap_servers": [cluster.bootstrap()],
            "partitions": [{"topic": "bare", "partition": 0, "designated_leader": offline.best}],
            "salvage": "required",
            "salvage_dir": str(saved),
        },
    )
    assert "msg" not in elected, elected["msg"]
    assert _saved_labels(saved) == [f"older-{number}" for number in range(_OLDER)]
    assert [each["kind"] for each in elected["aftermath"]].count("will_truncate") == len(offline.replicas) - 1
