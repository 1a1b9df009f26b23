# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Groups whose committed offset is outside of the log continue at its start or at its end, without any salvage."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from integration.groups.lost_tails import ONLINE, commit, committed
from lab import Cluster, settings
from lab.playbook import run_playbook

_PLAYBOOK = "kafkaops.recovery.restore_groups"


@pytest.mark.wide
def test_groups_outside_of_the_log_continue_at_its_start_or_end(kafka_version: str, tmp_path: Path) -> None:
    # With 50 partitions of __consumer_offsets, so that groups have three coordinators.
    with Cluster(kafka_version, brokers=3, proxied=True) as cluster:
        cluster.client.create_topic(ONLINE, {0: [1]}, {"min.insync.replicas": 1})
        cluster.client.produce(ONLINE, 0, 9)
        well = ["billing", "reader", "shipping", "orders", "audit"]
        for group, offset in {"behind": 2, "ahead": 1000, **dict.fromkeys(well, 6)}.items():
            commit(cluster, group, offset)
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap(settings.INTERNAL)})
        (deleted,) = admin.delete_records([TopicPartition(ONLINE, 0, 4)]).values()
        assert deleted.result(30).low_watermark == 4

        given = {"kafka_bootstrap_servers": cluster.bootstrap()}
        cluster.proxy.clear()
        look = run_playbook(_PLAYBOOK, given)
        assert look.returncode == 2, look.output
        assert "behind elsewhere-0 below start would give back 2 - 4" in look.words
        assert "ahead elsewhere-0 beyond end would give back 1000 - 9" in look.words
        assert cluster.proxy.write_requests() == []

        go = {**given, "group_recovery_automated_recovery": "true", "group_recovery_undo_file": str(tmp_path / "undo")}
        one = run_playbook(_PLAYBOOK, {**go, "group_recovery_groups": "behind"})
        assert one.returncode == 0, one.output
        assert {each: committed(cluster, each) for each in ("behind", "ahead")} == {"behind": 4, "ahead": 1000}
        every = run_playbook(_PLAYBOOK, go)
        assert every.returncode == 0, every.output
        assert {each: committed(cluster, each) for each in ("behind", "ahead", *well)} == {
            "behind": 4,
            "ahead": 9,
            **dict.fromkeys(well, 6),
        }
        assert run_playbook(_PLAYBOOK, given).returncode == 0
