# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A group whose newest commit only a dead broker's disk holds continues where it was, and no record is skipped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from integration.salvage.disks import salvage
from integration.salvage.oracle import Oracle
from integration.salvage.wreck import COMMITTED, COMMITTED_BEFORE, GROUP, LEDGER
from lab import Cluster, settings
from lab.module_process import run_module


@pytest.mark.wide
def test_a_group_gets_its_commit_back(oracle: Oracle, tmp_path: Path) -> None:
    cluster = oracle.cluster
    salvage(cluster, tmp_path / "saved")
    options: dict[str, Any] = {
        "bootstrap_servers": [cluster.bootstrap()],
        "salvage_dir": str(tmp_path / "saved"),
        "groups": [GROUP],
    }
    # The log diverges where the dead broker's own records begin. After that, it has others.
    diverged = min(each.offset for each in oracle.of("lost", LEDGER))
    assert COMMITTED_BEFORE < diverged < COMMITTED

    looked = run_module("group_recovery", options)
    (step,) = looked["commits"]
    assert (step["need"], step["status"]) == ("went_back", "would_give_back")
    assert (step["committed"], step["saved"], step["target"]) == (COMMITTED_BEFORE, COMMITTED, diverged)
    assert _committed(cluster) == COMMITTED_BEFORE, "it only looked"

    with _consumer(cluster) as member:
        member.subscribe([LEDGER])
        while not member.assignment():
            member.poll(0.2)
        refused = run_module("group_recovery", {**options, **_writing(tmp_path)})
        assert refused["commits"][0]["status"] == "has_members"
        assert _committed(cluster) == COMMITTED_BEFORE, "a group with members is untouched"

    given = run_module("group_recovery", {**options, **_writing(tmp_path), "report_file": str(tmp_path / "report")})
    assert [each["status"] for each in given["commits"]] == ["given_back"], given
    assert Path(given["undo_file"]).read_text("utf-8") == f"{GROUP},{LEDGER},0,{COMMITTED_BEFORE}\n"
    assert _committed(cluster) == diverged

    again = run_module("group_recovery", {**options, **_writing(tmp_path)})
    assert (again["changed"], again["commits"], again["undo_file"]) == (False, [], None)


def _writing(directory: Path) -> dict[str, Any]:
    return {"apply": True, "undo_file": str(directory / "before.csv")}


def _consumer(cluster: Cluster) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": cluster.bootstrap(settings.INTERNAL),
            "group.id": GROUP,
            "enable.auto.commit": False,
            "auto.offset.reset": "latest",
        }
    )


def _committed(cluster: Cluster) -> int:
    with _consumer(cluster) as reader:
        (found,) = reader.committed([TopicPartition(LEDGER, 0)], 60)
    offset: int = found.offset
    return offset
