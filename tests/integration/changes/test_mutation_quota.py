# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A quota on changes of topics (controller_mutation_rate, KIP-599) that other runs have used up."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import JournalError
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Strategy
from integration.on_call import OnCall
from lab import Cluster, scenarios, settings, wait_until

CLIENT_ID = "kafkaops.recovery"
RATE, PARTITIONS = "controller_mutation_rate=0.02", 50


@contextmanager
def _used_up(cluster: Cluster) -> Iterator[None]:
    """Set the quota for all client ids, and let a client with our id use it up for 40 minutes."""

    def alter(*how: str) -> None:
        entity = ("--entity-type", "clients", "--entity-default")
        where = ("--bootstrap-server", cluster.bootstrap(settings.INTERNAL), "--alter")
        done = cluster.client.run_tool("kafka.admin.ConfigCommand", *where, *entity, *how)
        assert done.returncode == 0, done.stderr

    admin = AdminClient(
        {"bootstrap.servers": cluster.bootstrap(settings.INTERNAL), "client.id": CLIENT_ID, "log_level": 0}
    )
    numbers = itertools.count()

    def is_used_up() -> bool:
        """Create topics until one is refused: librdkafka repeats that request until its time limit."""
        topic = NewTopic(f"other-{next(numbers)}", PARTITIONS, 1)
        with suppress(KafkaException):
            admin.create_topics([topic], request_timeout=5)[topic.topic].result()
            return False
        return True

    alter("--add-config", RATE)
    try:
        wait_until(is_used_up, 60, what="a topic is refused because of the quota")
        yield
    finally:
        alter("--delete-config", RATE.partition("=")[0])


@pytest.mark.wide
def test_a_quota_that_is_used_up_is_named_and_nothing_is_changed(kafka_version: str, tmp_path: Path) -> None:
    with Cluster(kafka_version) as cluster:
        offline = scenarios.diverged(cluster, "limited")
        on_call = OnCall(cluster, tmp_path, request_timeout_ms=2000)
        plan = on_call.plan(Strategy.AGGRESSIVE, "limited")
        with _used_up(cluster):
            with pytest.raises(
                JournalError, match="quota of this user or client id for the time of the run"
            ) as refused:
                on_call.carry_out(plan)
            assert "check security_protocol" not in str(refused.value)
            state = cluster.client.describe("limited", broker=offline.replicas[1])[0]
            assert (state.leader, state.replicas) == (None, offline.replicas)
        (outcome,) = on_call.carry_out(plan)
        assert outcome.status is Status.RECOVERED
