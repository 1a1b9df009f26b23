# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How librdkafka's producer is configured."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address, settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.transactional import (
    ProducerError,
    TransactionalProducer,
    producer_config,
)


def test_a_bootstrap_server_of_another_cluster_gets_no_record() -> None:
    """All other requests compare the cluster id, and leave such a server out. librdkafka does not compare."""
    settings = settings_from({"bootstrap_servers": "kafka2:9092,kafka2.of-staging:9092"})
    brokers = [Address("kafka1", 9092), Address("kafka2", 9092)]
    config = producer_config(settings, brokers, "some-id", 1_000_000)
    assert config["bootstrap.servers"] == "kafka1:9092,kafka2:9092"
    assert config["transactional.id"] == "some-id"


@pytest.mark.parametrize(("limit_ms", "expected_ms"), [(None, 90_000), (900_000, 90_000), (30_000, 30_000)])
def test_a_transaction_lasts_no_longer_than_brokers_allow(limit_ms: int | None, expected_ms: int) -> None:
    settings = settings_from({"bootstrap_servers": "kafka1:9092", "request_timeout_ms": 90_000})
    config = producer_config(settings, [Address("kafka1", 9092)], "some-id", 1_000_000, limit_ms)
    assert (config["transaction.timeout.ms"], config["message.timeout.ms"]) == (expected_ms, expected_ms)


def test_librdkafka_takes_a_longer_limit_than_its_own() -> None:
    settings = settings_from({"bootstrap_servers": "kafka1:9092", "request_timeout_ms": 900_000})
    Producer(producer_config(settings, [Address("kafka1", 9092)], "some-id", 1_000_000))


def test_a_setting_that_librdkafka_refuses_is_an_error_of_the_producer() -> None:
    settings = settings_from({"bootstrap_servers": "kafka1:9092"})
    brokers = [Address("kafka1", 9092)]
    with pytest.raises(ProducerError, match=r"confluent-kafka refuses the connection settings: .*transaction\.timeout"):
        TransactionalProducer(settings, brokers, "some-id", 1_000_000, lambda: "", lambda _text: None, limit_ms=500)
