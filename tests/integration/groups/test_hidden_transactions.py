# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Transactions of live producers whose ids are hidden from our principal are never aborted, however old they look.

A producer dates its records itself, and one with two-phase commit (KIP-939) may wait for ever.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.producer import InitProducerIdRequest, ProduceRequest
from kafka.record.memory_records import MemoryRecordsBuilder

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from integration.groups.lost_tails import ONLINE, read_committed, writer
from lab import Cluster, settings, wait_until
from lab.module_process import run_module

pytestmark = [pytest.mark.wide, pytest.mark.timeout(600)]

_LIMIT_S = 10
_TWO_PHASES = {
    "transaction.two.phase.commit.enable": "true",
    "unstable.api.versions.enable": "true",
    "transaction.max.timeout.ms": _LIMIT_S * 1000,
}


@contextmanager
def guarded(version: str, properties: dict[str, object]) -> Iterator[Cluster]:
    """Start a cluster in which alice may do all that restore_groups needs, but DESCRIBE transactional ids."""
    with Cluster(version, listeners=("SASL_PLAINTEXT",), super_users=[], properties=properties) as cluster:
        cluster.client.create_topic(ONLINE, {0: [1, 2, 3]}, {"min.insync.replicas": 1})
        for each in ("DESCRIBE", "ALTER", "DESCRIBE_CONFIGS"):
            cluster.client.allow("alice", each)
        cluster.client.allow("alice", "ALL", topic="*")
        cluster.client.allow("alice", "ALL", group="*")
        yield cluster


def abort_all(cluster: Cluster, directory: Path) -> list[dict[str, Any]]:
    """Run restore_groups as alice, who allows every abort, and return what it says of transactions."""
    directory.mkdir()
    done = run_module(
        "group_recovery",
        {
            "bootstrap_servers": [cluster.bootstrap("SASL_PLAINTEXT")],
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "SCRAM-SHA-256",
            "sasl_username": "alice",
            "sasl_password": "alice-secret",
            "apply": True,
            "abort_hanging_transactions": True,
            "undo_file": str(directory / "before"),
        },
    )
    found: list[dict[str, Any]] = done["transactions"]
    return found


def test_a_live_producer_that_dates_its_records_back_is_left_alone(kafka_version: str, tmp_path: Path) -> None:
    with guarded(kafka_version, {}) as cluster:
        live = writer(cluster, "till")
        live.init_transactions(60)
        live.begin_transaction()
        # As a pipeline does it that gives its records the times of its events.
        live.produce(ONLINE, "an event of 2023", partition=0, timestamp=1_700_000_000_000)
        live.flush(60)

        (hidden,) = abort_all(cluster, tmp_path / "hidden")
        assert hidden["status"] == "unknown", hidden
        assert "DESCRIBE on every transactional id" in hidden["reason"], hidden
        cluster.client.allow("alice", "DESCRIBE", transactional_id="*")
        assert abort_all(cluster, tmp_path / "seen") == []
        live.commit_transaction(60)
        assert read_committed(cluster) == ["an event of 2023"]


@pytest.mark.parametrize("version", ["4.3.1", "4.4.0"])
def test_a_producer_with_two_phase_commit_is_left_alone(version: str, tmp_path: Path) -> None:
    with guarded(version, dict(_TWO_PHASES)) as cluster:
        prepare(cluster, "two phases")
        time.sleep(_LIMIT_S + 2)
        (hidden,) = abort_all(cluster, tmp_path / "hidden")
        assert hidden["status"] == "unknown", hidden
        assert "DESCRIBE on every transactional id" in hidden["reason"], hidden
        cluster.client.allow("alice", "DESCRIBE", transactional_id="*")
        assert abort_all(cluster, tmp_path / "seen") == [], "its coordinator has it, for any time"
        where = ("--bootstrap-server", cluster.bootstrap(settings.INTERNAL))
        listed = cluster.client.run_tool("org.apache.kafka.tools.TransactionsCommand", *where, "list").stdout
        assert re.search(r"two phases.*Ongoing", listed), listed


def prepare(cluster: Cluster, name: str) -> None:
    """Open a transaction that takes part in a two-phase commit, and write a record.

    By requests: no client library can do it yet, because version 6 of InitProducerId is still unstable.
    """
    writer(cluster, "another one", _LIMIT_S).init_transactions(60)  # creates __transaction_state
    with Wire(settings_from({"bootstrap_servers": cluster.bootstrap(settings.INTERNAL)})) as wire:
        brokers = Kafka(wire).describe_cluster().unfenced
        begun: list[Any] = []

        def is_begun() -> bool:
            asked = {"transactional_id": name, "transaction_timeout_ms": 2**31 - 1, "enable2_pc": True}
            for address in brokers.values():
                answer = wire.call(address, InitProducerIdRequest(**asked, min_version=6, max_version=6))
                if not answer.error_code:
                    begun.append(answer)
            return bool(begun)

        wait_until(is_begun, 60, what="the coordinator gives a producer id")
        producer = begun[0]
        batch = MemoryRecordsBuilder(
            magic=2,
            compression_type=0,
            batch_size=1000,
            transactional=True,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            base_sequence=0,
        )
        batch.append(timestamp=None, key=None, value=b"prepared")
        batch.close()
        topic = ProduceRequest.TopicProduceData
        written = ProduceRequest(
            transactional_id=name,
            acks=-1,
            timeout_ms=30_000,
            topic_data=[
                topic(name=ONLINE, partition_data=[topic.PartitionProduceData(index=0, records=batch.buffer())])
            ],
            min_version=12,
            max_version=12,
        )
        leader = cluster.client.leader(ONLINE)
        assert leader is not None

        def is_written() -> bool:
            (answered,) = wire.call(brokers[leader], written).responses
            return not answered.partition_responses[0].error_code

        wait_until(is_written, 60, what="the record is written")
