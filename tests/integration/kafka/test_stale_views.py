# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A broker that is cut off from its controllers serves its last metadata forever, in which all is well."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import ConnectionSettings, settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.survey import survey
from lab import Cluster, jars, settings, versions, wait_until
from lab.pool import STANDARD, ClusterPool

_CUT = """
RULE no connection to a controller is ready
CLASS org.apache.kafka.clients.NetworkClient
METHOD ready
AT ENTRY
BIND flag = new java.io.File("{flag}");
     client = $0.clientId
IF flag.exists() AND (client.equals("{broker}") OR client.startsWith("raft-client"))
DO RETURN false
ENDRULE
"""


@pytest.fixture
def cluster(clusters: ClusterPool, kafka_version: str) -> Iterator[Cluster]:
    with clusters.lease(STANDARD, kafka_version) as cluster:
        yield cluster


def test_an_outage_that_one_broker_does_not_see(cluster: Cluster) -> None:
    dead, well, cut_off = 1, 2, 3
    cluster.client.create_topic("seen", {0: [dead]})
    flag, rule = cluster.work_dir / "cut", cluster.work_dir / "cut.btm"
    rule.write_text(_CUT.format(flag=flag, broker=cut_off))
    node = cluster.brokers[cut_off]
    node.stop()
    node.jvm_args.append(f"-javaagent:{jars.artifact(versions.BYTEMAN)}=script:{rule}")
    node.start()
    wait_until(lambda: cluster.client.describe("seen", broker=cut_off)[0].leader == dead, 30, what="all is well")
    flag.touch()
    try:
        wait_until(lambda: _is_fenced(cluster, cut_off, seen_by=well), 60, what="the controller fences it")
        cluster.brokers[dead].kill()
        wait_until(lambda: cluster.client.describe("seen", broker=well)[0].leader is None, 60, what="an outage")
        assert cluster.client.describe("seen", broker=cut_off)[0].leader == dead, "it serves what it knew"
        for asked in ((cut_off, well), (cut_off,)):
            with Wire(_settings(cluster, *asked)) as wire:
                kafka = Kafka(wire)
                found = survey(kafka, [TopicPartition("seen", 0)])
                assert [each.topic for each in found.offline] == ["seen"], f"asked {asked}"
                (named,) = kafka.stale_views()
            assert f"broker {cut_off} (" in named
            assert "has lost touch with the controllers" in named
    finally:
        flag.unlink()
        node.kill()
        node.jvm_args.pop()


def _is_fenced(cluster: Cluster, broker: int, *, seen_by: int) -> bool:
    with Wire(_settings(cluster, seen_by)) as wire:
        listed = {each.broker_id: each for each in Kafka(wire).describe_cluster().registrations}
    return broker not in listed or listed[broker].is_fenced


def _settings(cluster: Cluster, *brokers: int) -> ConnectionSettings:
    servers = [settings.address(cluster.host, cluster.brokers[each].advertised_port("PLAINTEXT")) for each in brokers]
    return settings_from({"bootstrap_servers": servers, "request_timeout_ms": 3000})
