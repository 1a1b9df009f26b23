# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Without a controller quorum, a repair does not undo the changes of an earlier repair either."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_topic import RUN_TOPIC
from integration.quorum.watched import Quorum
from lab import settings
from lab.cleaner import drops, own_settings
from lab.cluster import Cluster
from lab.faults import After
from lab.module_process import run_module, start_module
from lab.quorum import QuorumCluster, Starve
from lab.waiting import wait_until

pytestmark = [pytest.mark.wide, pytest.mark.timeout(400)]

_TOPIC = "dropped"
_ORDER = (3, 1, 2)
_RATE = {"follower.replication.throttled.rate": "50000000"}


def test_a_killed_repair_is_undone_only_after_the_quorum_returns(kafka_version: str, tmp_path: Path) -> None:
    cluster = QuorumCluster(kafka_version, controllers=3, proxied=True)
    with cluster:
        quorum = Quorum(cluster)
        quorum.wait_healthy()
        cluster.client.create_topic(_TOPIC, {0: _ORDER})
        cluster.client.produce(_TOPIC, 0, 50)
        options = {
            "bootstrap_servers": [cluster.bootstrap()],
            "request_timeout_ms": 3000,
            "verify_timeout_ms": 5000,
            "repair_timeout_ms": 10_000,
            "brokers": [3],
            "partitions": [{"topic": _TOPIC, "partition": 0}],
            "metrics_source": "none",
            "throttle_bytes_per_second": 50_000_000,
        }
        _kill_after_the_drop(cluster, start_module("log_cleaner_repair", {**options, "force": True}))
        wait_until(lambda: cluster.client.describe(_TOPIC)[0].replicas == (1, 2), what="the replica is dropped")
        recorded = _recorded(cluster)

        # A leader whose followers get no records still answers reads, but cannot commit.
        with cluster.proxy.inject(Starve((*quorum.followers(),))):
            quorum.look_until(lambda seen: not seen.verdicts.elections.allowed, "no majority", controllers=False)
            foreseen = run_module("log_cleaner_repair", options, check_mode=True)
            assert {each["undoing"] for each in foreseen["leftovers"]} == {"would_restore"}, foreseen
            refused = run_module("log_cleaner_repair", options)
            assert refused["failed"]
            assert refused["msg"].startswith("no quorum: 1 of 3 voters are caught up"), refused
            assert "Nothing was asked of the controller" in refused["msg"]
            assert _written(cluster) == []
        # By now, requests that a leader without a majority accepted would be committed.
        quorum.wait_healthy()
        _assert_as_it_was_left(cluster, recorded)

        # Even the plan fails, because no controller lists the reassignments.
        with quorum.killed(*_leader_first(quorum)[:2]):
            silent = run_module("log_cleaner_repair", options)
            assert silent["failed"]
            assert "no broker answered ListPartitionReassignments" in silent["msg"]
            assert _written(cluster) == []
        quorum.wait_healthy()
        _assert_as_it_was_left(cluster, recorded)

        done = run_module("log_cleaner_repair", options)
        assert {each["undoing"] for each in done["leftovers"]} == {"restored"}, done
        state = cluster.client.describe(_TOPIC)[0]
        assert (state.replicas, sorted(state.isr)) == (_ORDER, sorted(_ORDER))
        assert _settings(cluster) == {}


def _kill_after_the_drop(cluster: Cluster, process: subprocess.Popen[str]) -> None:
    def kill() -> None:
        if drops(cluster.proxy, 3):
            process.kill()

    with cluster.proxy.inject(After(kill), api_key=ApiKey.AlterPartitionReassignments):
        process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    cluster.proxy.clear()


def _leader_first(quorum: Quorum) -> list[int]:
    """Return the controllers, the leader first: alone, it stays the leader until a fetch timeout."""
    return [quorum.leader(), *quorum.followers()]


def _written(cluster: Cluster) -> list[str]:
    """Return the write requests that clients sent to brokers."""
    return [each.name for each in cluster.proxy.write_requests() if each.broker in cluster.brokers]


def _recorded(cluster: Cluster) -> int | None:
    """Return how many records the journal has, as another client reads it."""
    return cluster.client.log_end_offset(RUN_TOPIC, 0, 1)


def _settings(cluster: Cluster) -> dict[str, str]:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap(settings.INTERNAL), "log_level": 0})
    return own_settings(admin, 3)


def _assert_as_it_was_left(cluster: Cluster, recorded: int | None) -> None:
    assert recorded
    assert _recorded(cluster) == recorded
    assert cluster.client.describe(_TOPIC)[0].replicas == (1, 2)
    assert _settings(cluster) == _RATE
