# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each sync of a salvage fails once: what is said about the files is true, and a rerun succeeds."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from integration.salvage.attempts import attempts_at_a_disk, check_saved, check_whole
from integration.salvage.disks import read_rows
from integration.salvage.oracle import Oracle
from lab.killed_at import run_with_failed_sync
from lab.module_process import run_module
from lab.pool import STANDARD, ClusterPool
from lab.scenarios import longer_log_of_older_epoch

pytestmark = pytest.mark.wide

_COMMON, _OLDER, _NEWER = 10, 50, 5
_WHOLE = "has all records, and they were read back, but its disk does not confirm"


def test_a_salvage_of_a_disk(oracle: Oracle, tmp_path: Path) -> None:
    whole = 0
    for number, place, saved, options in attempts_at_a_disk(oracle, tmp_path):
        first = run_with_failed_sync(number, place, tmp_path, "replica_log_salvage", options)
        if "msg" not in first:
            break
        assert (_WHOLE in first["msg"]) == saved.exists(), first["msg"]
        whole += saved.exists()
        again = run_module("replica_log_salvage", options)
        assert "msg" not in again, again["msg"]
        statuses = {each["status"] for each in again["partitions"]} - {"nothing_lacking"}
        assert statuses == {"already_saved" if _WHOLE in first["msg"] else "saved"}
        check_saved(oracle, saved)
    assert (number > 4, whole) == (True, 1)

    (saved / "records" / next((saved / "records").iterdir()).name).unlink()
    damaged = run_module("replica_log_salvage", options)
    assert "could not be read: No such file or directory; name another directory" in damaged["msg"]


def test_a_salvage_before_an_election(clusters: ClusterPool, kafka_version: str, tmp_path: Path) -> None:
    """A required salvage elects only after the last sync, and a rerun accepts the files that are there."""
    with clusters.lease(STANDARD, kafka_version) as cluster:
        offline = longer_log_of_older_epoch(cluster, "tails", 1, records=(_COMMON, _OLDER, _NEWER))
        where: dict[str, Any] = {"bootstrap_servers": [cluster.bootstrap()]}
        place = tmp_path / "place"
        place.mkdir()
        electing = {**where, "salvage": "required", "salvage_dir": str(place / "saved")}
        for number in count(1):
            plan = str(tmp_path / f"plan-{number}.json")
            wanted = [{"topic": offline.topic, "partitions": [0]}]
            how = {"recovery_strategy": "aggressive", "partitions": wanted, "plan_file": plan}
            planned = run_module("leader_candidate_info", {**where, **how})
            assert "msg" not in planned, planned["msg"]
            given = {**electing, "plan_file": plan}
            ended = run_with_failed_sync(number, place, tmp_path, "designated_election", given)
            if "msg" not in ended:
                break
            assert cluster.client.leader(offline.topic) is None
            assert (_WHOLE in ended["msg"]) == (place / "saved").exists(), ended["msg"]
        assert cluster.client.leader(offline.topic) == offline.best
        check_whole(place / "saved")
        assert [row["value"].decode() for row in read_rows(place / "saved")] == [
            f"older-{each}" for each in range(_OLDER)
        ]
