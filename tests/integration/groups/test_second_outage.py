# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""After the salvage of one outage, another unclean election loses more: the group gets all that it has not read."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.groups.lost_tails import ONLINE, commit, committed, elect_survivor
from integration.strategies.outages import wait_isr
from lab import Cluster
from lab.module_process import run_module
from lab.playbook import run_playbook

_PLAYBOOK = "kafkaops.recovery.restore_groups"
_RECORDS = 10
_NEW = 15


@pytest.mark.wide
@pytest.mark.timeout(600)
def test_a_group_goes_back_to_where_the_logs_diverge_now(kafka_version: str, tmp_path: Path) -> None:
    properties = {"offsets.topic.num.partitions": 1, "broker.session.timeout.ms": 10_000}
    with Cluster(kafka_version, brokers=4, properties=properties) as cluster:
        client = cluster.client
        client.create_topic("__consumer_offsets", {0: [4]}, {"cleanup.policy": "compact", "min.insync.replicas": 1})
        client.create_topic(ONLINE, {0: [1, 2, 3]}, {"min.insync.replicas": 1})
        client.produce(ONLINE, 0, _RECORDS)
        for frozen, isr in ((3, {1, 2}), (2, {1})):
            wait_isr(cluster, [ONLINE], isr | {frozen}, seen_by=4)
            cluster.brokers[frozen].freeze()
            wait_isr(cluster, [ONLINE], isr, seen_by=4)
            client.produce(ONLINE, 0, _RECORDS)
        commit(cluster, "billing", 3 * _RECORDS)
        elect_survivor(cluster, ONLINE, dead=1, away=[1, 3], leader=2)
        client.produce(ONLINE, 0, 3)
        saved = tmp_path / "saved"
        disks = [str(each) for each in cluster.brokers[1].data_dirs]
        where = {"bootstrap_servers": [cluster.bootstrap()], "log_dirs": disks, "salvage_dir": str(saved)}
        done = run_module("replica_log_salvage", {**where, "topics": [ONLINE]})
        assert done["summary"]["saved_records"] == _RECORDS, done
        given = {"kafka_bootstrap_servers": cluster.bootstrap(), "group_recovery_salvage_dir": str(saved)}
        plan = {"group_recovery_plan_file": str(tmp_path / "plan")}
        look = run_playbook(_PLAYBOOK, {**given, "group_recovery_manual_output_file": str(tmp_path / "plan")})
        assert f"billing elsewhere-0 beyond end would give back 30 - {2 * _RECORDS}" in look.words, look.output
        elect_survivor(cluster, ONLINE, dead=2, away=[1, 2], leader=3)
        client.produce(ONLINE, 0, _NEW)
        go = {
            **given,
            "group_recovery_automated_recovery": "true",
            "group_recovery_undo_file": str(tmp_path / "before"),
        }
        outdated = run_playbook(_PLAYBOOK, {**go, **plan})
        assert committed(cluster, "billing") == 3 * _RECORDS, outdated.output
        assert "an election since the plan lost records before 20: make the plan again" in outdated.words
        run = run_playbook(_PLAYBOOK, go)
        assert committed(cluster, "billing") == _RECORDS, run.output
