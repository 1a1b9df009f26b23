# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controllers of an older disk give a leader epoch again: two survivors have other records of it, and both are live."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.finding import SalvageStatus
from integration.salvage.disks import salvage
from integration.salvage.test_replay import give_back, of_partition
from integration.salvage.test_reused_epochs import restore_controller
from integration.strategies.outages import wait_isr
from lab import Cluster, wait_until
from lab.client import PartitionState
from lab.module_process import run_module

_TOPIC, _COMMON, _OLD, _EPOCH = "orders", 100, 50, 5


@pytest.mark.wide
@pytest.mark.parametrize("new", [120, _OLD], ids=["a longer log", "logs that end alike"])
def test_the_records_of_an_epoch_that_two_leaders_had_are_lost_and_saved(
    kafka_version: str, tmp_path: Path, new: int
) -> None:
    with Cluster(kafka_version, brokers=3, controllers=1) as cluster:
        old, dead, copy = _give_the_epoch_twice(cluster, tmp_path / "snapshot", new)
        wanted = {
            "bootstrap_servers": [cluster.bootstrap()],
            "partitions": [{"topic": _TOPIC, "partition": 0}],
            "recovery_strategy": "aggressive",
            "lost_brokers": [dead],
            "recovery_duration_ms": 5000,
        }
        looked = run_module("leader_candidate_info", wanted)
        (row,) = looked["partitions"]
        best, other = (each["broker_id"] for each in row["candidates"])
        assert [each["reused_epochs"] for each in row["candidates"]] == [[], [_EPOCH]]
        assert {each["broker_id"]: each["at_least"] for each in row["losses"]} == {copy: _OLD, old: new}
        assert f"broker {other} holds other records of leader epoch {_EPOCH} than {best}" in row["reason"]
        chosen = {"topic": _TOPIC, "partition": 0, "designated_leader": other}
        bare = {"bootstrap_servers": [cluster.bootstrap()], "partitions": [chosen], "salvage": "off"}
        by_hand = run_module("designated_election", bare, check_mode=True)
        assert by_hand["loss"]["at_least"] == (new if other == old else _OLD), "without a plan"
        limited = run_module("leader_candidate_info", wanted | {"max_lost_records": _OLD - 1})
        assert limited["partitions"][0]["status"] == "refused"
        plan = tmp_path / "plan.json"
        stored = {"evidence": looked["evidence"], "plan_file": str(plan)}
        made = run_module("leader_candidate_info", stored | {"recovery_strategy": "aggressive"})
        assert "msg" not in made, made["msg"]
        applied = {"bootstrap_servers": [cluster.bootstrap()], "plan_file": str(plan), "salvage": "off"}
        by_plan = run_module("designated_election", applied, check_mode=True)
        assert "partitions" in by_plan, by_plan["msg"]
        (by_evidence,) = by_plan["partitions"]
        assert by_evidence["status"] == "refused"
        assert f"leader epoch {_EPOCH} had two leaders, which the plan could not know" in by_evidence["reason"]
        # Not in memory: a salvage refuses a place that the run does not outlive.
        place = Path("/var/tmp") / f"{tmp_path.name}-{cluster.cluster_id}"
        done = run_module("unclean_recovery", wanted | {"salvage": "required", "salvage_dir": str(place)})
        assert [each["saved"] for each in done["salvage"]["partitions"]] == [_OLD], done
        refused = give_back(cluster, place, topics=[_TOPIC], target="original")
        assert "which two leaders had: replay these to a side topic" in refused["msg"]
        given = give_back(cluster, place, topics=[_TOPIC], target="side")
        shutil.rmtree(place)
        assert of_partition(given, _TOPIC)["given"] == _OLD
        cluster.brokers[other].stop()
        on_disk = salvage(cluster, tmp_path / "disk", log_dirs=cluster.brokers[other].data_dirs)
        (found,) = (each for each in on_disk.findings if each.topic == _TOPIC)
        assert (found.status, found.lost_records) == (SalvageStatus.SAVED, _OLD), found
        refused = give_back(cluster, tmp_path / "disk", topics=[_TOPIC], target="original")
        assert "which two leaders had: replay these to a side topic" in refused["msg"]


def _give_the_epoch_twice(cluster: Cluster, snapshot: Path, new: int) -> tuple[int, int, int]:
    """Return the broker with the records of the first leader, the second leader, and a follower of that one."""
    (controller,) = cluster.controllers.values()
    cluster.client.create_topic(_TOPIC, {0: [1, 2, 3]}, {"min.insync.replicas": 1})
    cluster.client.produce(_TOPIC, [0], _COMMON)
    wait_isr(cluster, [_TOPIC], {1, 2, 3}, seen_by=1)
    controller.stop()
    shutil.copytree(controller.data_dirs[0], snapshot)
    controller.start()
    cluster.brokers[1].stop()
    old, other = _lead_in_the_epoch(cluster, {2, 3})
    cluster.client.produce(_TOPIC, [0], _OLD, label="old")

    restore_controller(cluster, snapshot)
    cluster.brokers[1].start()
    wait_until(lambda: _state(cluster, 1).leader in {1, None}, 60, what="the others are fenced")
    if _state(cluster, 1).leader is None:
        cluster.client.elect_unclean(_TOPIC, [0])
    wait_until(lambda: _state(cluster, 1).leader == 1, 60, what="broker 1 leads")
    cluster.brokers[other].wipe()
    cluster.brokers[other].start()
    wait_isr(cluster, [_TOPIC], {1, other}, seen_by=1)
    dead, copy = _lead_in_the_epoch(cluster, {1, other})
    cluster.client.produce(_TOPIC, [0], new, label="new")
    wait_until(lambda: cluster.client.log_end_offset(_TOPIC, 0, copy) == _COMMON + new, 60, what="the follower has it")
    cluster.brokers[copy].freeze()
    wait_isr(cluster, [_TOPIC], {dead}, seen_by=dead)
    cluster.brokers[dead].kill()
    cluster.brokers[copy].thaw()
    wait_until(lambda: _state(cluster, copy).leader is None, 60, what="it has no leader")
    cluster.brokers[old].start()
    wait_until(lambda: _state(cluster, copy).offline_replicas == (dead,), 60, what="both survivors are there")
    return old, dead, copy


def _state(cluster: Cluster, seen_by: int) -> PartitionState:
    return cluster.client.describe(_TOPIC, broker=seen_by)[0]


def _lead_in_the_epoch(cluster: Cluster, brokers: set[int]) -> tuple[int, int]:
    """Restart leaders, without a record in between, until one leads in the epoch. Return it, and the other broker."""
    while True:
        (now,) = wait_until(lambda: _led(cluster, brokers), 60, what=f"one of {brokers} leads, and both are in sync")
        leader = now.leader
        assert leader is not None
        (other,) = brokers - {leader}
        if now.leader_epoch == _EPOCH:
            return leader, other
        assert now.leader_epoch < _EPOCH, "the epoch was passed"
        cluster.brokers[leader].stop()
        cluster.brokers[leader].start()


def _led(cluster: Cluster, brokers: set[int]) -> list[PartitionState]:
    states = [_state(cluster, each) for each in brokers]
    is_settled = states[0] == states[1] and states[0].leader in brokers and {*states[0].isr} == brokers
    return states[:1] if is_settled else []
