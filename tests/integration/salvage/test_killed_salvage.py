# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A salvage is killed before each of its changes: a directory with the final name is complete, and a rerun succeeds."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from integration.salvage.attempts import attempts_at_a_disk, check_files, check_saved, check_whole
from integration.salvage.disks import read_rows
from integration.salvage.oracle import Oracle
from lab.killed_at import run_killed_at
from lab.module_process import run_module
from lab.pool import STANDARD, ClusterPool
from lab.scenarios import longer_log_of_older_epoch

pytestmark = pytest.mark.wide

_COMMON, _OLDER, _NEWER = 10, 50, 5
_FEWEST_BOUNDARIES = 8


def test_a_salvage_of_a_disk(oracle: Oracle, tmp_path: Path) -> None:
    for number, place, saved, options in attempts_at_a_disk(oracle, tmp_path):
        ended = run_killed_at(number, place, tmp_path, "replica_log_salvage", options)
        if saved.exists():
            check_files(saved)
        again = run_module("replica_log_salvage", options)
        assert "msg" not in again, again["msg"]
        check_saved(oracle, saved)
        if ended is not None:
            assert number > _FEWEST_BOUNDARIES
            return


def test_a_salvage_before_an_election(clusters: ClusterPool, kafka_version: str, tmp_path: Path) -> None:
    """Nothing is elected before the files are complete, even if the run is killed many times."""
    with clusters.lease(STANDARD, kafka_version) as cluster:
        offline = longer_log_of_older_epoch(cluster, "tails", 1, records=(_COMMON, _OLDER, _NEWER))
        where: dict[str, Any] = {"bootstrap_servers": [cluster.bootstrap()]}
        place = tmp_path / "place"
        place.mkdir()
        saved = place / "saved"
        electing = {**where, "salvage": "required", "salvage_dir": str(saved)}
        for number in count(1):
            plan = str(tmp_path / f"plan-{number}.json")
            wanted = [{"topic": offline.topic, "partitions": [0]}]
            how = {"recovery_strategy": "aggressive", "partitions": wanted, "plan_file": plan}
            planned = run_module("leader_candidate_info", {"bootstrap_servers": where["bootstrap_servers"], **how})
            assert "msg" not in planned, planned["msg"]
            ended = run_killed_at(number, place, tmp_path, "designated_election", {**electing, "plan_file": plan})
            if ended is not None:
                break
            assert cluster.client.leader(offline.topic) is None
        assert ended is not None
        assert "msg" not in ended, ended["msg"]
        assert number > _FEWEST_BOUNDARIES
        assert cluster.client.leader(offline.topic) == offline.best
        check_whole(saved)
        assert [row["value"].decode() for row in read_rows(saved)] == [f"older-{each}" for each in range(_OLDER)]
