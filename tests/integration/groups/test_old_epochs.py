# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A client commits a leader epoch that it does not keep, as Sarama does: no group goes back for that.

Committed offsets are read by confluent-kafka.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.groups.lost_tails import ONLINE, commit, committed
from integration.strategies.outages import wait_isr, wait_offline
from lab import Cluster, wait_until
from lab.playbook import run_playbook

_PLAYBOOK = "kafkaops.recovery.restore_groups"
_RECORDS = 9
"""Of each leader epoch."""


@pytest.mark.wide
@pytest.mark.timeout(600)
def test_an_old_epoch_moves_a_group_only_to_what_an_unclean_election_lost(kafka_version: str, tmp_path: Path) -> None:
    properties = {"offsets.topic.num.partitions": 1, "broker.session.timeout.ms": 10_000}
    with Cluster(kafka_version, brokers=4, properties=properties, proxied=True) as cluster:
        client = cluster.client
        commit(cluster, "first", 0, topic="")
        client.create_topic(ONLINE, {0: [1, 2]}, {"min.insync.replicas": 1})
        client.produce(ONLINE, 0, _RECORDS)
        wait_isr(cluster, [ONLINE], {1, 2}, seen_by=3)
        cluster.brokers[1].restart()
        wait_until(lambda: client.describe(ONLINE)[0].leader is not None, 60, what="it has a leader")
        wait_isr(cluster, [ONLINE], {1, 2}, seen_by=3)
        client.produce(ONLINE, 0, _RECORDS)
        commit(cluster, "sarama", 2 * _RECORDS, epoch=0)
        go: dict[str, object] = {
            "kafka_bootstrap_servers": cluster.bootstrap(),
            "group_recovery_automated_recovery": "true",
            "group_recovery_undo_file": str(tmp_path / "before"),
        }
        cluster.proxy.clear()
        healthy = run_playbook(_PLAYBOOK, go)
        assert (healthy.returncode, healthy.counts["changed"]) == (0, 0), healthy.output
        assert f"the metadata log has no unclean election of {ONLINE} 0" in healthy.words, healthy.output
        assert cluster.proxy.write_requests() == []

        leader = client.describe(ONLINE)[0].leader or 0
        follower = 3 - leader
        cluster.brokers[follower].freeze()
        wait_isr(cluster, [ONLINE], {leader}, seen_by=3)
        client.produce(ONLINE, 0, _RECORDS)
        commit(cluster, "lost", 3 * _RECORDS, epoch=0)
        cluster.brokers[leader].kill()
        cluster.brokers[follower].thaw()
        for each in (3, 4, follower):
            wait_offline(cluster, [ONLINE], seen_by=each, away=[leader])
        client.elect_unclean(ONLINE, [0])
        wait_until(lambda: client.describe(ONLINE)[0].leader == follower, 60, what="the follower leads")
        client.produce(ONLINE, 0, 2 * _RECORDS)
        run = run_playbook(_PLAYBOOK, go)
        assert run.returncode == 0, run.output
        assert committed(cluster, "sarama") == 2 * _RECORDS, "what it has read is still there"
        assert committed(cluster, "lost") == 2 * _RECORDS, run.output
