# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Records of topics that were deleted or re-created are counted, saved if this is wanted, and given back."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_topic import RUN_TOPIC
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.finding import Absence, SalvageStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.report import summarize_disks
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.writer import SalvageError
from integration.salvage.disks import read_rows, records, salvage
from integration.salvage.oracle import Oracle, in_short, read_all
from integration.salvage.test_replay import give_back
from integration.salvage.wreck import PATIENT, PROPERTIES
from integration.strategies.outages import wait_isr
from lab import Cluster, wait_until

DELETED, AGAIN, KEPT = "deleted", "again", "kept"


def _is_led_by(cluster: Cluster, topic: str, leader: int) -> bool:
    return cluster.client.describe(topic, broker=leader)[0].leader == leader


@pytest.mark.wide
def test_deleted_and_recreated_topics(kafka_version: str, tmp_path: Path) -> None:
    with Cluster(kafka_version, properties=PROPERTIES, controller_properties=PATIENT) as cluster:
        oracle = Oracle(cluster)
        for topic in (DELETED, AGAIN, KEPT):
            cluster.client.create_topic(topic, {0: (1, 2)}, {"min.insync.replicas": 1, "retention.ms": -1})
            oracle.write("lost", topic, 0, 40)
        # Nobody misses the lock of an earlier run.
        cluster.client.create_topic(RUN_TOPIC, {0: (1, 2)}, {"min.insync.replicas": 1})
        cluster.client.produce(RUN_TOPIC, 0, 40)
        dead = cluster.brokers[1]
        dead.kill()
        for topic in (DELETED, AGAIN, RUN_TOPIC):
            wait_until(partial(_is_led_by, cluster, topic, 2), 60, what=f"broker 2 leads {topic}")
            cluster.client.delete_topic(topic)
        cluster.client.create_topic(AGAIN, {0: (2, 3)}, {"min.insync.replicas": 1})
        counted = salvage(cluster, tmp_path / "none", log_dirs=dead.data_dirs)
        summary = summarize_disks(counted.findings)
        assert summary.left_alone == {
            Absence.NO_TOPIC: 40,
            Absence.OTHER_TOPIC: 40,
            Absence.OTHER_CLUSTER: 0,
            Absence.NO_PARTITION: 0,
            Absence.NAMED_ALIKE: 0,
        }
        assert (summary.lost_offsets, counted.salvage_id) == (0, None)
        done = salvage(cluster, tmp_path / "saved", log_dirs=dead.data_dirs, include_absent_topics=True)
        statuses = {each.topic: each.status for each in done.findings if not each.topic.startswith("__")}
        assert statuses == {
            DELETED: SalvageStatus.SAVED,
            AGAIN: SalvageStatus.SAVED,
            KEPT: SalvageStatus.NOTHING_LACKING,
        }
        expected = [each for topic in (AGAIN, DELETED) for each in oracle.of("lost", topic)]
        assert in_short(records(read_rows(tmp_path / "saved"))) == in_short(expected)
        again = salvage(cluster, tmp_path / "saved", log_dirs=dead.data_dirs, include_absent_topics=True)
        assert again.salvage_id == done.salvage_id
        refused = give_back(cluster, tmp_path / "saved", target="original")
        assert "give its records back to a side topic" in refused["msg"]
        assert "give them back to a side topic" in refused["msg"]
        result = give_back(cluster, tmp_path / "saved")
        assert "msg" not in result, result["msg"]
        for topic in (DELETED, AGAIN):
            found = [(each.key, each.value) for each in read_all(cluster, f"{topic}.salvaged", [0])]
            assert found == [(each.key, each.value) for each in oracle.of("lost", topic)]


@pytest.mark.wide
def test_topics_of_one_name_on_one_disk(kafka_version: str, tmp_path: Path) -> None:
    """A broker was down while a topic was re-created on it. It keeps the old directory as stray beside the new one."""
    with Cluster(kafka_version, properties=PROPERTIES, controller_properties=PATIENT) as cluster:
        oracle = Oracle(cluster)
        settings = {"min.insync.replicas": 1, "retention.ms": -1}
        cluster.client.create_topic(AGAIN, {0: (1, 2)}, settings)
        oracle.write("lost", AGAIN, 0, 40)
        broker = cluster.brokers[1]
        broker.kill()
        wait_until(partial(_is_led_by, cluster, AGAIN, 2), 60, what="broker 2 leads")
        cluster.client.delete_topic(AGAIN)
        cluster.client.create_topic(AGAIN, {0: (2, 1)}, settings)
        oracle.write("new", AGAIN, 0, 5)
        broker.start()
        wait_isr(cluster, [AGAIN], {1, 2}, seen_by=2)
        broker.stop()
        stray = next(each for disk in broker.data_dirs for each in disk.glob(f"{AGAIN}-0.*-stray"))
        counted = salvage(cluster, tmp_path / "none", log_dirs=broker.data_dirs, topics={AGAIN})
        assert summarize_disks(counted.findings).left_alone[Absence.OTHER_TOPIC] == 40
        done = salvage(
            cluster, tmp_path / "saved", log_dirs=broker.data_dirs, topics={AGAIN}, include_absent_topics=True
        )
        assert [each.status for each in done.findings] == [SalvageStatus.NOTHING_LACKING, SalvageStatus.SAVED]
        assert in_short(records(read_rows(tmp_path / "saved"))) == in_short(oracle.of("lost", AGAIN))

        # The topic is deleted once more, so that neither topic is in the cluster.
        cluster.client.delete_topic(AGAIN)
        both = salvage(cluster, tmp_path / "one", log_dirs=broker.data_dirs, topics={AGAIN}, include_absent_topics=True)
        assert [(each.status, each.absence) for each in both.findings] == [
            (SalvageStatus.SAVED, Absence.NO_TOPIC),
            (SalvageStatus.LEFT_ALONE, Absence.NAMED_ALIKE),
        ]
        assert summarize_disks(both.findings).left_alone[Absence.NAMED_ALIKE] == 40
        apart = tmp_path / "apart"
        shutil.copytree(stray, apart / stray.name)
        shutil.copy(stray.parent / "meta.properties", apart)
        salvage(cluster, tmp_path / "other", log_dirs=[apart], include_absent_topics=True)
        assert in_short(records(read_rows(tmp_path / "other"))) == in_short(oracle.of("lost", AGAIN))


@pytest.mark.wide
def test_the_disk_of_a_cluster_that_is_gone(kafka_version: str, tmp_path: Path) -> None:
    """All its records go to side topics of another cluster, which has a topic of the same name."""
    with Cluster(kafka_version, properties=PROPERTIES) as gone:
        oracle = Oracle(gone)
        gone.client.create_topic(KEPT, {0: (1, 2)}, {"min.insync.replicas": 1, "retention.ms": -1})
        oracle.write("all", KEPT, 0, 40)
        gone.brokers[1].stop()
        disks = [tmp_path / each.name for each in gone.brokers[1].data_dirs]
        for source, target in zip(gone.brokers[1].data_dirs, disks, strict=True):
            shutil.copytree(source, target)
    with Cluster(kafka_version, properties=PROPERTIES) as cluster:
        cluster.client.create_topic(KEPT, {0: (1, 2)}, {"min.insync.replicas": 1})
        with pytest.raises(SalvageError, match="set include_absent_topics"):
            salvage(cluster, tmp_path / "saved", log_dirs=disks)
        done = salvage(cluster, tmp_path / "saved", log_dirs=disks, topics={KEPT}, include_absent_topics=True)
        assert [(each.status, each.absence) for each in done.findings] == [(SalvageStatus.SAVED, Absence.OTHER_CLUSTER)]
        assert "set other_cluster" in give_back(cluster, tmp_path / "saved")["msg"]
        assert (
            "goes with target=side"
            in give_back(cluster, tmp_path / "saved", other_cluster=True, target="original")["msg"]
        )
        result = give_back(cluster, tmp_path / "saved", other_cluster=True)
        assert "msg" not in result, result["msg"]
        again = give_back(cluster, tmp_path / "saved", other_cluster=True)
        assert (again["changed"], again["summary"]["given_before"]) == (False, 40)
        found = [(each.key, each.value) for each in read_all(cluster, f"{KEPT}.salvaged", [0])]
        assert found == [(each.key, each.value) for each in oracle.of("all", KEPT)]
        assert read_all(cluster, KEPT, [0]) == []
