# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Operators and services are recognized by what they leave in a cluster."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import Broker, BrokerState
from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.check import CheckStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.other_parties import check_other_parties


def found(*, topic: str = "orders", host: str = "kafka1", **configs: str) -> list[tuple[CheckStatus, str]]:
    brokers = [Broker(1, host, 9092, None, False, BrokerState.ONLINE, "")]
    named = {name.replace("_", "."): value for name, value in configs.items()}
    return [(each.status, each.found) for each in check_other_parties({topic, "billing"}, brokers, named)]


def test_a_plain_cluster_passes() -> None:
    """Names that only look like theirs count as names of applications."""
    for topic in ("orders", "cruisecontrol", "confluent_balancer", "my__strimzi_store_topic", "__consumer_offsets"):
        assert [status for status, _text in found(topic=topic, metric_reporters="")] == [CheckStatus.OK]
    for listener in ("REPLICATION", "INTERNAL", "PLAINTEXT"):
        assert [status for status, _text in found(inter_broker_listener_name=listener)] == [CheckStatus.OK]
    for host in ("svc", "amazonaws.com", "kafka1.confluent.cloud.example.com"):
        assert [status for status, _text in found(host=host)] == [CheckStatus.OK]


@pytest.mark.parametrize(
    ("signs", "name", "status"),
    [
        ({"host": "c-kafka-0.c-kafka-brokers.ns.svc"}, "Strimzi", CheckStatus.WARNING),
        ({"host": "c-kafka-0.c-kafka-brokers.ns.svc.cluster.local"}, "Strimzi", CheckStatus.WARNING),
        ({"topic": "__strimzi_store_topic"}, "Strimzi", CheckStatus.WARNING),
        # From outside of Kubernetes, the addresses are those of a load balancer.
        ({"inter_broker_listener_name": "REPLICATION-9091"}, "Strimzi", CheckStatus.WARNING),
        ({"topic": "__CruiseControlMetrics"}, "Cruise Control", CheckStatus.WARNING),
        ({"topic": "strimzi.cruisecontrol.modeltrainingsamples"}, "Cruise Control", CheckStatus.WARNING),
        (
            {"metric_reporters": "x.Y,com.linkedin.kafka.cruisecontrol.metricsreporter.CruiseControlMetricsReporter"},
            "Cruise Control",
            CheckStatus.WARNING,
        ),
        ({"topic": "_confluent_balancer_api_state"}, "Confluent Self-Balancing", CheckStatus.WARNING),
        ({"confluent_balancer_enable": "true"}, "Confluent Self-Balancing", CheckStatus.WARNING),
        ({"host": "b-1.mine.x1y2z3.c2.kafka.us-east-1.amazonaws.com"}, "Amazon MSK", CheckStatus.WARNING),
        ({"host": "boot-x1.c1.kafka-serverless.us-east-1.amazonaws.com"}, "MSK Serverless", CheckStatus.FAILED),
        ({"host": "pkc-x1y2z.us-east-1.aws.confluent.cloud"}, "Confluent Cloud", CheckStatus.FAILED),
    ],
)
def test_a_party_is_named_by_its_sign(signs: dict[str, str], name: str, status: CheckStatus) -> None:
    [(seen, text)] = found(**signs)
    assert seen is status
    assert name in text
    assert next(iter(signs.values())) in text or "=" in text


def test_a_balancer_that_is_paused_is_not_beside_us() -> None:
    """Its topics stay when it is switched off, as the remedy says."""
    paused = found(topic="_confluent_balancer_api_state", confluent_balancer_enable="false")
    assert [status for status, _text in paused] == [CheckStatus.OK]


def test_two_parties_are_both_named() -> None:
    both = found(topic="strimzi.cruisecontrol.metrics", host="c-kafka-0.c-kafka-brokers.ns.svc")
    assert [text.split(" is beside")[0] for _status, text in both] == ["Strimzi", "Cruise Control"]
