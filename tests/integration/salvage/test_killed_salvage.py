# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A salvage is killed before each of its changes: a directory with the final name is complete, and a rerun succeeds."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.manifest import (
    find_file_problems,
    read_manifest,
)
from integration.salvage.disks import read_rows, records
from integration.salvage.oracle import Oracle, in_short
from integration.salvage.wreck import BROKER_CODECS, LAST_LEADER
from lab.killed_at import run_killed_at
from lab.module_process import run_module
from lab.pool import STANDARD, ClusterPool
from lab.scenarios import longer_log_of_older_epoch

pytestmark = pytest.mark.wide

_TOPIC = BROKER_CODECS["lz4"]
_COMMON, _OLDER, _NEWER = 10, 50, 5
_FEWEST_BOUNDARIES = 8


def check_whole(saved: Path) -> None:
    """Check that the directory is a finished salvage, and that nothing else is beside it."""
    assert not find_file_problems(str(saved), read_manifest(str(saved)).files)
    assert [each.name for each in saved.parent.iterdir()] == [saved.name]


def test_a_salvage_of_a_disk(oracle: Oracle, tmp_path: Path) -> None:
    disks = [str(each) for each in oracle.cluster.brokers[LAST_LEADER].data_dirs]
    for number in count(1):
        place = tmp_path / f"place-{number}"
        place.mkdir()
        saved = place / "saved"
        options: dict[str, Any] = {
            "bootstrap_servers": [oracle.cluster.bootstrap()],
            "log_dirs": disks,
            "topics": [_TOPIC],
            "salvage_dir": str(saved),
        }
        ended = run_killed_at(number, place, tmp_path, "replica_log_salvage", options)
        if saved.exists():
            assert not find_file_problems(str(saved), read_manifest(str(saved)).files)
        again = run_module("replica_log_salvage", options)
        assert "msg" not in again, again["msg"]
        check_whole(saved)
        assert in_short(records(read_rows(saved))) == in_short(oracle.of("lost", _TOPIC))
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
