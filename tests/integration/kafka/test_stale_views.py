# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A broker that is cut off from its controllers, or applies metadata late, returns metadata that shows no outage."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import ConnectionSettings, settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import KafkaOpsError
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.survey import survey
from lab import Cluster, settings, wait_until
from lab.cut_off import Cable
from lab.pool import STANDARD, ClusterPool
from lab.slow_metadata import SlowMetadata


@pytest.fixture
def cluster(clusters: ClusterPool, kafka_version: str) -> Iterator[Cluster]:
    with clusters.lease(STANDARD, kafka_version) as cluster:
        yield cluster


@pytest.mark.wide
def test_an_outage_that_one_broker_does_not_see(cluster: Cluster) -> None:
    dead, well, cut_off = 1, 2, 3
    cluster.client.create_topic("seen", {0: [dead]})
    cable = Cable(cluster.brokers[cut_off], cluster.brokers[well])
    cable.prepare()
    wait_until(lambda: cluster.client.describe("seen", broker=cut_off)[0].leader == dead, 30, what="all is well")
    try:
        cable.cut()
        cluster.brokers[dead].kill()
        wait_until(lambda: cluster.client.describe("seen", broker=well)[0].leader is None, 60, what="an outage")
        assert cluster.client.describe("seen", broker=cut_off)[0].leader == dead, "it serves what it knew"
        for asked in ((cut_off, well), (cut_off,)):
            with Wire(_settings(cluster, *asked)) as wire:
                kafka = Kafka(wire)
                found = survey(kafka, [TopicPartition("seen", 0)])
                assert [each.topic for each in found.offline] == ["seen"], f"asked {asked}"
                (named,) = kafka.notes_on_views()
            assert f"broker {cut_off} (" in named
            assert "has lost touch with the controllers" in named
        # Only the old metadata is available: a healthy state in it is not trusted.
        cluster.brokers[well].kill()
        with Wire(_settings(cluster, cut_off)) as wire, pytest.raises(KafkaOpsError) as refused:
            survey(Kafka(wire), [TopicPartition("seen", 0)])
        assert "it may be old" in str(refused.value)
    finally:
        cluster.brokers[well].start()
        cable.reconnect()


@pytest.mark.wide
@pytest.mark.on_every_version
def test_an_outage_that_one_broker_sees_late(cluster: Cluster) -> None:
    dead, well, late = 1, 2, 3
    cluster.client.create_topic("seen", {0: [dead]})
    slow = SlowMetadata(cluster.brokers[late])
    slow.prepare()
    wait_until(lambda: cluster.client.describe("seen", broker=late)[0].leader == dead, 30, what="all is well")
    with slow.applied_late():
        cluster.brokers[dead].kill()
        wait_until(lambda: cluster.client.describe("seen", broker=well)[0].leader is None, 60, what="an outage")
        assert cluster.client.describe("seen", broker=late)[0].leader == dead, "it has not applied it"
        with Wire(_settings(cluster, late, well)) as wire:
            kafka = Kafka(wire)
            found = survey(kafka, [TopicPartition("seen", 0)])
            assert [each.topic for each in found.offline] == ["seen"]
            (named,) = kafka.notes_on_views()
        assert f"broker {late} (" in named
        assert "applies metadata late" in named
        # The only answer is not trusted, and does not block what it shows.
        cluster.brokers[well].kill()
        with Wire(_settings(cluster, late)) as wire:
            kafka = Kafka(wire)
            assert kafka.read_partition_state(TopicPartition("seen", 0)) is not None
            assert "applies metadata late" in kafka.unconfirmed_view()
            with pytest.raises(KafkaOpsError, match="it may be old"):
                survey(kafka, [TopicPartition("seen", 0)])


def _settings(cluster: Cluster, *brokers: int) -> ConnectionSettings:
    servers = [settings.address(cluster.host, cluster.brokers[each].advertised_port("PLAINTEXT")) for each in brokers]
    return settings_from({"bootstrap_servers": servers, "request_timeout_ms": 3000})
