# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A topic was deleted and created again since the election: a saved offset of the former one would skip records.

Committed offsets are read by confluent-kafka.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from integration.groups.lost_tails import FIRST, GROUPS, ONLINE, commit, committed, lose, reader, replicas_of
from integration.on_call import OnCall
from integration.salvage.disks import salvage
from integration.strategies.outages import wait_isr
from lab import Cluster, wait_until
from lab.playbook import run_playbook

_PLAYBOOK = "kafkaops.recovery.restore_groups"
_NONE = -1001


@pytest.mark.wide
@pytest.mark.timeout(600)
def test_a_saved_offset_of_a_former_topic_is_left_out_by_its_leader_epoch(kafka_version: str, tmp_path: Path) -> None:
    properties = {"offsets.topic.num.partitions": 1, "broker.session.timeout.ms": 10_000}
    with Cluster(kafka_version, brokers=4, properties=properties, proxied=True) as cluster:
        client = cluster.client
        commit(cluster, "first", 0, topic="")
        dead, followers, witness = replicas_of(cluster, GROUPS)
        client.create_topic(ONLINE, {0: [witness]}, {"min.insync.replicas": 1})
        # Its leader epoch grows.
        cluster.brokers[witness].restart()
        wait_until(lambda: client.describe(ONLINE)[0].leader == witness, 60, what="the leader is back")
        client.produce(ONLINE, 0, 9)
        wait_isr(cluster, [GROUPS], {dead, *followers}, seen_by=dead)
        wait_isr(cluster, [FIRST], {*cluster.brokers}, seen_by=dead)
        for each in followers:
            cluster.brokers[each].freeze()
        wait_isr(cluster, [GROUPS], {dead}, seen_by=dead)
        with reader(cluster, "only on disk") as consumer:
            consumer.assign([TopicPartition(ONLINE, 0, 0)])
            while (message := consumer.poll(1.0)) is None or message.offset() != 8:
                pass
            # With the leader epoch of the last record.
            consumer.commit(asynchronous=False)
        lose(OnCall(cluster, tmp_path), GROUPS, dead, followers, witness)
        salvage(cluster, tmp_path / "saved", log_dirs=cluster.brokers[dead].data_dirs)
        given: dict[str, object] = {
            "kafka_bootstrap_servers": cluster.bootstrap(),
            "group_recovery_salvage_dir": str(tmp_path / "saved"),
        }
        go = {
            **given,
            "group_recovery_automated_recovery": "true",
            "group_recovery_undo_file": str(tmp_path / "before"),
        }
        plan = str(tmp_path / "plan")
        look = run_playbook(_PLAYBOOK, {**given, "group_recovery_manual_output_file": plan})
        assert "1 committed offset would be given back." in look.words, look.output

        client.delete_topic(ONLINE)
        client.create_topic(ONLINE, {0: [witness]}, {"min.insync.replicas": 1})
        client.produce(ONLINE, 0, 20)
        planned = run_playbook(_PLAYBOOK, {**go, "group_recovery_plan_file": plan})
        assert committed(cluster, "only on disk") == _NONE, planned.output
        assert "the topic was deleted and created again since the plan" in planned.words, planned.output
        run = run_playbook(_PLAYBOOK, go)
        assert committed(cluster, "only on disk") == _NONE, run.output
        assert (run.returncode, run.counts["changed"]) == (0, 0), run.output
        assert f"saved offsets in topics that were created again since are left out: {ONLINE}" in run.words


@pytest.mark.wide
@pytest.mark.timeout(600)
def test_a_group_with_an_offset_of_a_former_topic_reads_all_of_the_new_one(kafka_version: str, tmp_path: Path) -> None:
    """As if ``__consumer_offsets`` was offline when the topic was deleted: the offsets have its leader epoch."""
    with Cluster(kafka_version, brokers=1, proxied=True) as cluster:
        cluster.client.create_topic(ONLINE, {0: [1]})
        cluster.client.produce(ONLINE, 0, 20)
        commit(cluster, "beyond", 500, epoch=12)
        commit(cluster, "within", 15, epoch=12)
        go: dict[str, object] = {
            "kafka_bootstrap_servers": cluster.bootstrap(),
            "group_recovery_automated_recovery": "true",
            "group_recovery_undo_file": str(tmp_path / "before"),
        }
        run = run_playbook(_PLAYBOOK, go)
        assert run.returncode == 2, run.output
        assert (committed(cluster, "beyond"), committed(cluster, "within")) == (0, 15), run.output
        assert f"within {ONLINE}-0: leader epoch 12 is above every one of this topic" in run.words, run.output
        named = run_playbook(_PLAYBOOK, {**go, "group_recovery_overwrite_groups": "within"})
        assert named.returncode == 0, named.output
        assert committed(cluster, "within") == 0
        again = run_playbook(_PLAYBOOK, go)
        assert (again.returncode, again.counts["changed"]) == (0, 0), again.output
