# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two outages lost commits, each of another disk: one run reads both salvages, and the newest commit counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.groups.lost_tails import GROUPS, ONLINE, commit, committed, elect_survivor
from integration.salvage.disks import salvage
from integration.strategies.outages import wait_isr
from lab import Cluster
from lab.playbook import run_playbook

_PLAYBOOK = "kafkaops.recovery.restore_groups"
_KEPT = {"only first": 2, "only second": 2, "both": 2}
_FIRST = {"only first": 9, "both": 9}
"""What only the disk of broker 1 has."""
_SECOND = {"only second": 7, "both": 5}
"""What only the disk of broker 2 has. One group went on from an older offset after the first outage."""


@pytest.mark.wide
@pytest.mark.timeout(600)
def test_the_newest_commit_of_two_disks_counts(kafka_version: str, tmp_path: Path) -> None:
    properties = {"offsets.topic.num.partitions": 1, "broker.session.timeout.ms": 10_000}
    with Cluster(kafka_version, brokers=4, properties=properties) as cluster:
        client = cluster.client
        client.create_topic(GROUPS, {0: [1, 2, 3]}, {"cleanup.policy": "compact", "min.insync.replicas": 1})
        client.create_topic(ONLINE, {0: [4]}, {"min.insync.replicas": 1})
        client.produce(ONLINE, 0, 20)
        _commit(cluster, _KEPT)
        for frozen, isr in ((3, {1, 2}), (2, {1})):
            wait_isr(cluster, [GROUPS], isr | {frozen}, seen_by=4)
            cluster.brokers[frozen].freeze()
            wait_isr(cluster, [GROUPS], isr, seen_by=4)
        _commit(cluster, _FIRST)
        elect_survivor(cluster, GROUPS, dead=1, away=[1, 3], leader=2)
        _commit(cluster, _SECOND)
        places = [tmp_path / "first", tmp_path / "second"]
        salvage(cluster, places[0], log_dirs=cluster.brokers[1].data_dirs)
        elect_survivor(cluster, GROUPS, dead=2, away=[1, 2], leader=3)
        salvage(cluster, places[1], log_dirs=cluster.brokers[2].data_dirs)
        assert {each: committed(cluster, each) for each in _KEPT} == _KEPT

        def given(*dirs: Path) -> dict[str, object]:
            return {
                "kafka_bootstrap_servers": cluster.bootstrap(),
                "group_recovery_salvage_dir": ",".join(map(str, dirs)),
            }

        go = {"group_recovery_automated_recovery": "true", "group_recovery_undo_file": str(tmp_path / "before")}
        look = run_playbook(_PLAYBOOK, given(*reversed(places)))
        assert "3 committed offsets would be given back." in look.words, look.output
        assert f'"group_recovery_salvage_dir": ["{places[1]}", "{places[0]}"]' in look.words, look.output
        run = run_playbook(_PLAYBOOK, {**given(*places), **go})
        assert run.returncode == 0, run.output
        assert {each: committed(cluster, each) for each in _KEPT} == {**_FIRST, **_SECOND}
        again = run_playbook(_PLAYBOOK, {**given(*places), **go})
        assert (again.returncode, again.counts["changed"]) == (0, 0), again.output


def _commit(cluster: Cluster, offsets: dict[str, int]) -> None:
    for group, offset in offsets.items():
        commit(cluster, group, offset)
