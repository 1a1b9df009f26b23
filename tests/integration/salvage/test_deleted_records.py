# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Records that were deleted on the dead leader are neither lost nor saved, though its segment still has them."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.finding import SalvageStatus
from integration.salvage.disks import read_rows, records, salvage
from integration.salvage.oracle import Oracle, in_short
from integration.salvage.wreck import PATIENT, PROPERTIES
from integration.strategies.outages import wait_isr
from lab import Cluster, settings, wait_until

PARTLY, WHOLLY = "partly", "wholly"


@pytest.mark.wide
def test_records_that_were_deleted_on_the_dead_leader(kafka_version: str, tmp_path: Path) -> None:
    with Cluster(kafka_version, properties=PROPERTIES, controller_properties=PATIENT) as cluster:
        oracle = Oracle(cluster)
        for topic in (PARTLY, WHOLLY):
            cluster.client.create_topic(topic, {0: (1, 2)}, {"min.insync.replicas": 1, "retention.ms": -1})
            oracle.write("common", topic, 0, 20)
        leader = cluster.brokers[1]
        cluster.brokers[2].stop()
        wait_isr(cluster, [PARTLY, WHOLLY], {1}, seen_by=3)
        for topic in (PARTLY, WHOLLY):
            oracle.write("lost", topic, 0, 40)
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap(settings.INTERNAL)})
        # Offset 33 is within a batch.
        for each in admin.delete_records([TopicPartition(PARTLY, 0, 33), TopicPartition(WHOLLY, 0, -1)]).values():
            each.result(30)
        leader.stop()
        cluster.brokers[2].start()
        for topic in (PARTLY, WHOLLY):
            wait_until(lambda name=topic: cluster.client.leader(name) is None, 60, what="it has no leader")  # type: ignore[misc]
            cluster.client.elect_unclean(topic, [0])
            wait_until(lambda name=topic: cluster.client.leader(name) == 2, 60, what="broker 2 leads")  # type: ignore[misc]

        done = salvage(cluster, tmp_path / "saved", log_dirs=leader.data_dirs, topics={PARTLY, WHOLLY})
        partly, wholly = done.findings
        assert [(each.start_offset, each.end_offset) for each in partly.lost] == [(33, 60)]
        assert "records before offset 33 were deleted on the broker, and are not saved" in partly.reason
        assert (wholly.status, wholly.lost) == (SalvageStatus.NOTHING_LACKING, ())
        kept = [each for each in oracle.of("lost", PARTLY) if each.offset >= 33]
        assert in_short(records(read_rows(tmp_path / "saved"))) == in_short(kept)
