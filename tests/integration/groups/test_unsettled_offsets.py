# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The coordinator of a group died after an offset in a transaction, and before its marker: nobody knows its outcome.

Committed offsets are read by confluent-kafka.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition

from integration.groups.lost_tails import GROUPS, ONLINE, STATE, commit, committed, lose, reader, writer
from integration.on_call import OnCall
from integration.salvage.disks import salvage
from integration.strategies.outages import wait_isr
from lab import Cluster
from lab.playbook import run_playbook

_PLAYBOOK = "kafkaops.recovery.restore_groups"
_PROPERTIES = {
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
    "broker.session.timeout.ms": 10_000,
}


@pytest.mark.wide
@pytest.mark.timeout(300)
def test_its_group_is_named_and_gets_what_is_known_by_the_operator_s_word(kafka_version: str, tmp_path: Path) -> None:
    with Cluster(kafka_version, brokers=4, properties=_PROPERTIES, proxied=True) as cluster:
        client = cluster.client
        few = {"min.insync.replicas": 1}
        client.create_topic(GROUPS, {0: [1, 2, 3]}, {**few, "cleanup.policy": "compact"})
        client.create_topic(STATE, {0: [4]}, {**few, "cleanup.policy": "compact"})
        client.create_topic(ONLINE, {0: [4]}, few)
        client.produce(ONLINE, 0, 9)
        producer = writer(cluster, "shop")
        producer.init_transactions(60)
        # It remembers the group's coordinator: it would ask a frozen broker later, and wait for ever.
        _begin(cluster, producer, 3)
        producer.commit_transaction(60)
        wait_isr(cluster, [GROUPS], {1, 2, 3}, seen_by=1)
        for each in (2, 3):
            cluster.brokers[each].freeze()
        wait_isr(cluster, [GROUPS], {1}, seen_by=1)
        commit(cluster, "shop", 5)
        commit(cluster, "other", 5)
        _begin(cluster, producer, 7)
        lose(OnCall(cluster, tmp_path), GROUPS, 1, [2, 3], 4)
        salvage(cluster, tmp_path / "saved", log_dirs=cluster.brokers[1].data_dirs)
        go: dict[str, object] = {
            "kafka_bootstrap_servers": cluster.bootstrap(),
            "group_recovery_salvage_dir": str(tmp_path / "saved"),
            "group_recovery_automated_recovery": "true",
            "group_recovery_undo_file": str(tmp_path / "before"),
        }
        run = run_playbook(_PLAYBOOK, go)
        assert run.returncode == 2, run.output
        assert (
            f"shop {ONLINE}-0: the salvage has a commit at 7 in a transaction whose outcome is not known" in run.words
        )
        assert (committed(cluster, "shop"), committed(cluster, "other")) == (3, 5), run.output
        named = run_playbook(_PLAYBOOK, {**go, "group_recovery_overwrite_groups": "shop"})
        assert committed(cluster, "shop") == 5, named.output
        assert named.returncode == 0, named.output
        again = run_playbook(_PLAYBOOK, go)
        assert (again.returncode, again.counts["changed"]) == (0, 0), again.output
        producer.abort_transaction(60)
        producer.close()


def _begin(cluster: Cluster, producer: Producer, offset: int) -> None:
    """Begin a transaction with an offset of group ``shop``."""
    producer.begin_transaction()
    with reader(cluster, "shop") as consumer:
        where = consumer.consumer_group_metadata()
        producer.send_offsets_to_transaction([TopicPartition(ONLINE, 0, offset)], where, 60)
