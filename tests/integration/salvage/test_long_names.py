# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kafka cuts a long topic name in the directory of a dropped replica. Its records are still those of this topic."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.reassignments import assign
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address, settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.finding import SalvageStatus
from integration.salvage.disks import read_rows, records, salvage
from integration.salvage.oracle import Oracle, in_short, read_all
from integration.salvage.test_replay import give_back
from integration.salvage.wreck import PATIENT, PROPERTIES
from integration.strategies.outages import wait_isr
from lab import Cluster, wait_until

CUT = "t" * 214
"""What is left of the name in a directory that ends in -stray."""
LONG = "t" * 249


@pytest.mark.wide
def test_a_dropped_replica_of_a_topic_with_a_long_name(kafka_version: str, tmp_path: Path) -> None:
    with Cluster(kafka_version, properties=PROPERTIES, controller_properties=PATIENT) as cluster:
        oracle = Oracle(cluster)
        settings = {"min.insync.replicas": 1, "retention.ms": -1}
        cluster.client.create_topic(LONG, {0: (1, 2)}, settings)
        cluster.client.create_topic(CUT, {0: (2, 3)}, settings)
        oracle.write("common", LONG, 0, 20)
        oracle.write("other", CUT, 0, 10)
        leader = cluster.brokers[1]
        cluster.brokers[2].stop()
        wait_isr(cluster, [LONG], {1}, seen_by=3)
        oracle.write("lost", LONG, 0, 40)
        leader.kill()
        cluster.brokers[2].start()
        wait_until(lambda: cluster.client.leader(LONG) is None, 60, what="it has no leader")
        cluster.client.elect_unclean(LONG, [0])
        wait_until(lambda: cluster.client.leader(LONG) == 2, 60, what="broker 2 leads")
        with Wire(settings_from({"bootstrap_servers": cluster.bootstrap()})) as wire:
            assign(wire, Address(cluster.host, cluster.brokers[2].port), TopicPartition(LONG, 0), [2, 3])
        wait_isr(cluster, [LONG], {2, 3}, seen_by=2)
        leader.start()
        wait_until(lambda: _strays(leader.data_dirs), 60, what="broker 1 has set its copy aside")
        leader.stop()
        (stray,) = _strays(leader.data_dirs)
        assert stray.name.startswith(f"{CUT}-0.")

        done = salvage(cluster, tmp_path / "saved", log_dirs=leader.data_dirs, topics={LONG})
        assert [(each.topic, each.status) for each in done.findings] == [(LONG, SalvageStatus.SAVED)], done.findings
        assert in_short(records(read_rows(tmp_path / "saved"))) == in_short(oracle.of("lost", LONG))
        result = give_back(cluster, tmp_path / "saved")
        assert "msg" not in result, result["msg"]
        (target,) = {each["target_topic"] for each in result["partitions"]}
        assert target.endswith(".salvaged")
        found = [(each.key, each.value) for each in read_all(cluster, target, [0])]
        assert found == [(each.key, each.value) for each in oracle.of("lost", LONG)]

        # Without an id, the directory must not be taken for one of the topic that has the cut name.
        copy = tmp_path / "copy"
        shutil.copytree(stray, copy / stray.name)
        shutil.copy(stray.parent / "meta.properties", copy)
        (copy / stray.name / "partition.metadata").unlink()
        unproven = salvage(cluster, tmp_path / "none", log_dirs=[copy], include_absent_topics=True)
        assert [each.status for each in unproven.findings] == [SalvageStatus.FAILED]
        assert "is unknown: Kafka cuts long topic names" in unproven.findings[0].reason
        assert unproven.salvage_id is None

        # What the finding advises.
        (copy / stray.name).rename(copy / f"{LONG}-0")
        named = salvage(cluster, tmp_path / "named", log_dirs=[copy])
        assert [(each.topic, each.status) for each in named.findings] == [(LONG, SalvageStatus.SAVED)], named.findings
        assert in_short(records(read_rows(tmp_path / "named"))) == in_short(oracle.of("lost", LONG))


def _strays(disks: list[Path]) -> list[Path]:
    return [each for disk in disks for each in disk.glob("*-stray")]
