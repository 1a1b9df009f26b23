# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An empty log is elected only if the operator allows it, on real brokers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab import Cluster, scenarios
from lab.module_process import run_module

_LOST = 50


def _options(cluster: Cluster, directory: Path, **more: Any) -> dict[str, Any]:
    return {"bootstrap_servers": [cluster.bootstrap()], **more}


def test_an_empty_log_is_not_elected_while_another_replica_may_hold_records(cluster: Cluster, tmp_path: Path) -> None:
    """Both survivors are empty. The dead leader, declared lost, holds records."""
    offline = scenarios.diverged(cluster, "emptied", records=(0, 0, _LOST))
    dead = offline.replicas[0]
    wanted = [{"topic": "emptied", "partitions": [0]}]
    options = _options(cluster, tmp_path, partitions=wanted, lost_brokers=[dead])
    for check_mode in (True, False):
        refused = run_module("unclean_recovery", options, check_mode=check_mode)
        (row,) = refused["partitions"]
        assert row["status"] == "refused"
        assert "its election leaves the partition empty for good" in row["reason"]
        assert f"what broker {dead} may hold is unknown" in row["reason"]
        assert "allow_empty_leader" in row["reason"]
        (group,) = refused["groups"]
        assert group["loss"].startswith("leaves the partition empty; ")
        assert "loses nothing" not in group["loss"]
    assert cluster.client.leader("emptied") is None
    allowed = run_module("unclean_recovery", {**options, "allow_empty_leader": True})
    assert "msg" not in allowed, allowed["msg"]
    assert allowed["loss"]["left_empty"] == 1
    assert cluster.client.leader("emptied") in offline.replicas[1:]


@pytest.mark.wide
def test_a_designation_of_an_empty_log_needs_the_option_too(cluster: Cluster, tmp_path: Path) -> None:
    """One survivor is empty, the other one holds records. A person designates the empty one, in both ways."""
    offline = scenarios.diverged(cluster, "chosen", records=(0, _LOST, 10))
    _dead, empty, longer = offline.replicas
    chosen = [{"topic": "chosen", "partition": 0, "designated_leader": empty}]
    for module, option in (("unclean_recovery", "designations"), ("designated_election", "partitions")):
        options = _options(cluster, tmp_path, **{option: chosen})
        if module == "unclean_recovery":
            options["recovery_strategy"] = "aggressive"
        refused = run_module(module, options)
        (row,) = refused["partitions"]
        assert row["status"] == "refused"
        assert f"broker {longer} holds offsets 0 to {_LOST - 1}" in row["reason"]
        assert "allow_empty_leader" in row["reason"]
    assert cluster.client.leader("chosen") is None
    done = run_module("designated_election", {**options, "allow_empty_leader": True})
    assert "msg" not in done, done["msg"]
    expected = {"at_least": _LOST, "at_most": None, "unbounded": 1, "left_empty": 1, "with_gap": 0}
    assert {name: done["loss"][name] for name in expected} == expected
    assert cluster.client.leader("chosen") == empty
