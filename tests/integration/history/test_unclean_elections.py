# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A broker whose disk may hold records that a leader lacks is not to be started before its disk is saved.

The leader was elected by an earlier run, or by another tool: the partition is healthy by its metadata.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from integration.history.alone import controllers_at, produce
from lab import Cluster, scenarios, wait_until
from lab.module_process import run_module
from lab.playbook import RECOVER, SALVAGE, run_playbook

_OFFLINE, _LED, _MOVED = "only-there", "elected-uncleanly", "moved-cleanly"
_UNKNOWN = "It is not known whether another partition's leader was elected uncleanly since it stopped"


def looked_at(cluster: Cluster, **more: Any) -> dict[int, int | None]:
    options = {
        "bootstrap_servers": [cluster.bootstrap()],
        "bootstrap_controllers": [controllers_at(cluster)],
        "engine": "process",
        **more,
    }
    found = run_module("leader_candidate_info", options)
    return {each["broker_id"]: each["unclean_elections"] for each in found["brokers"]}


def readiness_of(cluster: Cluster, **more: Any) -> dict[str, str]:
    """Return the remedies of what is said of brokers."""
    options = {"bootstrap_servers": [cluster.bootstrap()], "bootstrap_controllers": [controllers_at(cluster)], **more}
    found = run_module("readiness_info", options)
    return {each["subject"]: each["remedy"] for each in found["checks"] if each["name"] == "brokers"}


def elect_without_broker_1(cluster: Cluster) -> None:
    """Elect broker 2 for a partition whose last records only broker 1 holds. Another one stays without a leader."""
    cluster.client.create_topic(_OFFLINE, {0: [1]})
    cluster.client.create_topic(_LED, {0: [1, 2]}, {"min.insync.replicas": 1})
    cluster.client.create_topic(_MOVED, {0: [1, 3]}, {"min.insync.replicas": 1})
    for topic in (_OFFLINE, _LED, _MOVED):
        produce(cluster, topic, 5, "all")
    cluster.brokers[2].freeze()
    scenarios.wait_isr(cluster, _LED, {1}, seen_by=1)
    produce(cluster, _LED, 5, "1")
    cluster.brokers[1].kill()
    cluster.brokers[2].thaw()
    scenarios.wait_offline(cluster, _LED, away={1}, seen_by=2)
    scenarios.wait_isr(cluster, _MOVED, {3}, seen_by=3)
    assert looked_at(cluster) == {1: 0, 2: 0, 3: 0}
    cluster.client.elect_unclean(_LED, [0])
    scenarios.wait_isr(cluster, _LED, {2}, seen_by=3)


def addresses_of(cluster: Cluster) -> dict[str, str]:
    return {"kafka_bootstrap_servers": cluster.bootstrap(), "kafka_bootstrap_controllers": controllers_at(cluster)}


@pytest.mark.wide
def test_the_disk_is_to_be_saved_if_another_leader_was_elected_uncleanly(cluster: Cluster) -> None:
    elect_without_broker_1(cluster)
    # The partitions that are looked at are not all that the broker has.
    assert looked_at(cluster, partitions=[{"topic": _OFFLINE, "partition": 0}]) == {1: 1, 2: 0, 3: 0}
    _assert_saves_first(run_playbook(RECOVER, addresses_of(cluster)).output)


@pytest.mark.wide
def test_the_advice_leads_to_the_end(cluster: Cluster, tmp_path: Path) -> None:
    """A look says: save the disk, then start the broker. The salvage cannot compare what has no other replica."""
    elect_without_broker_1(cluster)
    variables = {
        **addresses_of(cluster),
        "log_salvage_hosts": "localhost",
        "log_salvage_log_dirs": [str(each) for each in cluster.brokers[1].data_dirs],
        "log_salvage_dir": str(tmp_path / "saved"),
    }
    shown = " ".join(run_playbook(SALVAGE, variables).output.split())
    start = "no online broker has a replica: start broker 1 once all other partitions on its disks are saved"
    assert start in shown, shown
    assert "5 records" in shown, shown
    cluster.brokers[1].start()
    wait_until(lambda: cluster.client.leader(_OFFLINE) == 1, 60, what="the returned broker leads")
    assert len(cluster.client.consume_all(_OFFLINE, 0)) == 5
    assert len(cluster.client.consume_all(_LED, 0)) == 5, "its last 5 records are in the salvage"


@pytest.mark.wide
def test_runs_and_readiness_say_so_and_name_what_is_not_known(cluster: Cluster) -> None:
    elect_without_broker_1(cluster)
    unreachable = ["127.0.0.1:1"]
    assert looked_at(cluster, bootstrap_controllers=unreachable) == {1: None, 2: 0, 3: 0}
    checks = readiness_of(cluster)
    assert checks["broker 1"].startswith("Do not start it yet: it may hold the only copy of records"), checks
    remedy = readiness_of(cluster, bootstrap_controllers=unreachable)["broker 1"]
    assert f"{_UNKNOWN}, because " in remedy, remedy
    assert "127.0.0.1:1" in remedy, "the source that is missing is named"

    run = {
        **addresses_of(cluster),
        "unclean_recovery_all_offline_partitions": "true",
        "unclean_recovery_automated_recovery": "true",
        "unclean_recovery_duration_ms": "2000",
    }
    _assert_saves_first(run_playbook(RECOVER, run).output)
    # Whoever looks later finds that all partitions have leaders.
    cluster.client.delete_topic(_OFFLINE)
    shown = " ".join(run_playbook(RECOVER, addresses_of(cluster)).output.split())
    assert "No partition is offline. Next 1. Before broker 1 is started: save the records that only its" in shown, shown
    one = addresses_of(cluster) | {"unclean_recovery_partitions": [{"topic": _MOVED, "partition": 0}]}
    shown = " ".join(run_playbook(RECOVER, one).output.split())
    assert "Before broker 1 is started: save the records that only its" in shown, "its disk has other partitions, too"
    blind = addresses_of(cluster) | {"kafka_bootstrap_controllers": "127.0.0.1:1"}
    shown = " ".join(run_playbook(RECOVER, blind).output.split())
    assert f"{_UNKNOWN}, because " in shown, shown


def _assert_saves_first(output: str) -> None:
    shown = " ".join(output.split())
    save = shown.index("Before broker 1 is started: save the records that only its disks may hold")
    # Before Kafka 4.0, the address of a broker that is down is not known.
    assert save < shown.index(". Start broker 1"), shown
    assert _UNKNOWN not in shown
