# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A partition whose only disk is gone: what the refusal advises works on real brokers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.aftermath import find_aftermath
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import (
    AftermathKind,
    outcome_of_left_alone,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.start_order import find_start_order
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Policy, Strategy
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.survey import mark_as_lost
from integration.on_call import OnCall
from lab import Cluster, settings, wait_until

_RECORDS = 20


@pytest.mark.wide
def test_the_same_id_with_an_empty_disk_leads_from_offset_0(kafka_version: str, tmp_path: Path) -> None:
    offsets = {"offsets.topic.replication.factor": 2, "offsets.topic.num.partitions": 1}
    with Cluster(kafka_version, brokers=2, properties=offsets) as cluster:
        on_call = OnCall(cluster, tmp_path)
        cluster.client.create_topic("alone", {0: [1]})
        cluster.client.produce("alone", 0, _RECORDS)
        where = {"bootstrap.servers": cluster.bootstrap(settings.INTERNAL), "group.id": "readers"}
        with Consumer(where) as reader:
            reader.commit(offsets=[TopicPartition("alone", 0, _RECORDS)], asynchronous=False)
        cluster.brokers[1].kill()
        wait_until(lambda: cluster.client.leader("alone") is None, 60, what="it is offline")
        found = on_call.look("alone")
        lost = tuple(mark_as_lost(each, {1}) for each in found.brokers)
        (advice,) = find_start_order(found.offline, lost)
        assert advice.broker_id == 1
        (left,) = on_call.plan_of(replace(found, brokers=lost), Strategy.BALANCED).left_alone
        assert left.status is Status.UNRECOVERABLE
        assert (
            "start the same id with an empty disk, and recover again with unclean_recovery_allow_empty_leader"
            in left.reason
        )
        assert "groups with committed offsets point beyond its end" in left.reason
        with Wire(on_call.settings) as connected:
            (finding,) = find_aftermath(Kafka(connected), [outcome_of_left_alone(left)])
        assert (finding.kind, finding.topic, finding.partition) == (AftermathKind.COMMITTED_BEYOND_END, "alone", 0)
        assert f"group readers committed offset {_RECORDS}. If the partition begins again" in finding.explanation
        cluster.brokers[1].wipe()
        cluster.brokers[1].start()
        wait_until(
            lambda: not cluster.client.describe("alone")[0].offline_replicas, 60, what="the new disk is assigned"
        )
        if cluster.client.leader("alone") is None:
            policies = {"alone": Policy(Strategy.AGGRESSIVE, allow_empty_leader=True)}
            (outcome,) = on_call.carry_out(on_call.plans({"": policies}, "alone")[""])
            assert outcome.status is Status.RECOVERED, outcome
        assert cluster.client.leader("alone") == 1
        assert cluster.client.log_end_offset("alone", 0, 1) == 0
        cluster.client.produce("alone", 0, 1)
        with Consumer(where) as reader:
            (committed,) = reader.committed([TopicPartition("alone", 0)], timeout=30)
        assert (committed.offset, cluster.client.log_end_offset("alone", 0, 1)) == (_RECORDS, 1)
