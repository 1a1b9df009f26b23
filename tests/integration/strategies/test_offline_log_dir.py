# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A log directory that fails in a broker that runs: the broker is not to be started, and its replica counts as lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab import Cluster, scenarios, wait_until
from lab.module_process import run_module

_TOPIC = "on_two_disks"
_LEADER, _SHORTER, _LONGER, _WITNESS = 1, 2, 3, 4
_COMMON, _MORE, _ALONE = 10, 5, 1


@pytest.mark.wide
def test_a_log_directory_fails_in_a_broker_that_runs(kafka_version: str, tmp_path: Path) -> None:
    with Cluster(kafka_version, brokers=4, log_dirs=2) as cluster:
        lost, offline = _lose_a_directory(cluster)
        wanted = {"bootstrap_servers": [cluster.bootstrap()], "partitions": [{"topic": _TOPIC, "partitions": offline}]}

        found = run_module("offline_partition_info", wanted)
        broker = found["brokers"][_LEADER - 1]
        assert (broker["state"], broker["offline_log_dirs"]) == ("online", [str(lost)])
        assert f"log directory is offline: {lost} (KAFKA_STORAGE_ERROR (error 56))" in broker["cause"]
        (advice,) = found["start_order"]
        assert (advice["broker_id"], advice["is_running"]) == (_LEADER, True)

        recovery = wanted
        waits = run_module("unclean_recovery", recovery, check_mode=True)
        assert {each["status"] for each in waits["partitions"]} == {"refused"}, "the directory may be repaired"
        ignored = run_module("unclean_recovery", {**recovery, "lost_brokers": [_WITNESS]}, check_mode=True)
        assert any("broker 4, which is online: it is treated like any other" in each for each in _warnings(ignored))
        assert ignored["summary"] == waits["summary"]

        done = run_module("unclean_recovery", {**recovery, "lost_brokers": [_LEADER]})
        assert "msg" not in done, done["msg"]
        assert any("broker 1, which is online: only its offline replicas" in each for each in _warnings(done))
        for row in done["partitions"]:
            assert (row["status"], row["leader_after"]) == ("recovered", _LONGER)
            (silent,) = row["silent"]
            assert (silent["broker_id"], silent["cause"]) == (_LEADER, "given_up")
        assert done["awaited"] == []
        assert done["brokers"][_LEADER - 1]["offline_log_dirs"] == [str(lost)]
        client = cluster.client
        assert [len(client.consume_all(_TOPIC, each)) for each in offline] == [_COMMON + _MORE] * len(offline)
        online = {*range(4)} - {*offline}
        assert all(client.leader(_TOPIC, each) == _LEADER for each in online), "its other directory works"


def _warnings(result: dict[str, Any]) -> list[str]:
    return [str(each) for each in result.get("warnings", [])]


def _lose_a_directory(cluster: Cluster) -> tuple[Path, list[int]]:
    """Take the last log directory from the leader, which holds records that no other replica holds."""
    client, leader = cluster.client, cluster.brokers[_LEADER]
    partitions = range(4)
    client.create_topic(_TOPIC, dict.fromkeys(partitions, (_LEADER, _SHORTER, _LONGER)), {"min.insync.replicas": 1})
    scenarios.wait_isr(cluster, _TOPIC, {_LEADER, _SHORTER, _LONGER}, seen_by=_WITNESS)
    client.produce(_TOPIC, partitions, _COMMON)
    cluster.brokers[_SHORTER].freeze()
    scenarios.wait_isr(cluster, _TOPIC, {_LEADER, _LONGER}, seen_by=_WITNESS)
    client.produce(_TOPIC, partitions, _MORE)
    wait_until(
        lambda: set(client.log_end_offsets(_TOPIC, partitions, _LONGER).values()) == {_COMMON + _MORE},
        60,
        what="the other follower holds them",
    )
    cluster.brokers[_LONGER].freeze()
    scenarios.wait_isr(cluster, _TOPIC, {_LEADER}, seen_by=_WITNESS)
    client.produce(_TOPIC, partitions, _ALONE)
    lost = leader.data_dirs[-1]  # without the first one, which has the metadata log, a broker halts
    on_it = sorted(int(each.name.rpartition("-")[2]) for each in lost.glob(f"{_TOPIC}-[0-9]"))
    lost.rename(lost.with_name(f"{lost.name}-moved"))
    wait_until(
        lambda: all(client.describe(_TOPIC, broker=_WITNESS)[each].leader is None for each in on_it),
        60,
        what="the broker has noticed",
    )
    for each in (_SHORTER, _LONGER):
        cluster.brokers[each].thaw()
    wait_until(
        lambda: all(
            set(state.offline_replicas) == ({_LEADER} if number in on_it else set())
            for number, state in client.describe(_TOPIC, broker=_WITNESS).items()
        ),
        60,
        what="only the replicas on the directory are offline",
    )
    return lost, on_it
