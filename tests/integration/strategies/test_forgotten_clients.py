# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tail of __transaction_state is lost: a transaction hangs in a partition that never went offline."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.aftermath import find_aftermath
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import AftermathFinding, AftermathKind
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Policy, Strategy
from integration.on_call import OnCall
from integration.strategies.outages import wait_isr, wait_offline
from lab import Cluster, settings, wait_until

_STATE, _ONLINE = "__transaction_state", "elsewhere"
_LONG_MS = 600_000


@pytest.mark.on_every_version
def test_a_transaction_that_its_coordinator_forgot_is_found_and_aborted(kafka_version: str, tmp_path: Path) -> None:
    with Cluster(kafka_version, brokers=4, properties={"transaction.state.log.num.partitions": 1}) as cluster:
        on_call = OnCall(cluster, tmp_path)
        _writer(cluster, "known").init_transactions(60)
        state = cluster.client.describe(_STATE)[0]
        dead, followers = state.leader, [each for each in state.replicas if each != state.leader]
        assert dead is not None
        (witness,) = {*cluster.brokers} - {*state.replicas}
        cluster.client.create_topic(_ONLINE, {0: [witness]}, {"min.insync.replicas": 1})
        for each in followers:
            cluster.brokers[each].freeze()
        wait_isr(cluster, [_STATE], {dead}, seen_by=dead)
        forgotten = _writer(cluster, "forgotten")
        forgotten.init_transactions(60)
        forgotten.begin_transaction()
        forgotten.produce(_ONLINE, "hangs", partition=0)
        forgotten.flush(60)
        cluster.client.produce(_ONLINE, 0, 3)
        cluster.brokers[dead].kill()
        for each in followers:
            cluster.brokers[each].thaw()
        for each in (*followers, witness):
            wait_offline(cluster, [_STATE], seen_by=each, away=[dead])

        policies = {"": {_STATE: Policy(Strategy.AGGRESSIVE, allow_empty_leader=True)}}
        outcomes = on_call.carry_out(on_call.plans(policies, _STATE)[""])
        assert [each.status for each in outcomes] == [Status.RECOVERED]

        def look() -> list[AftermathFinding]:
            with Wire(on_call.settings) as wire:
                found = find_aftermath(Kafka(wire), outcomes)
            return [each for each in found if each.topic == _ONLINE or each.kind is AftermathKind.NOT_KNOWN]

        wait_until(lambda: not any("LOAD_IN_PROGRESS" in each.explanation for each in look()), 60, what="it has loaded")
        (hanging,) = look()
        assert hanging.kind is AftermathKind.OPEN_TRANSACTION
        assert "no coordinator lists it, so nothing ends it" in hanging.explanation
        assert _read_committed(cluster) == []

        command = re.search(r"kafka-transactions\.sh (--.*)$", hanging.explanation)
        assert command
        done = cluster.client.run_tool("org.apache.kafka.tools.TransactionsCommand", *shlex.split(command[1]))
        done.check_returncode()
        wait_until(lambda: len(_read_committed(cluster)) == 3, 30, what="consumers go on")
        assert look() == []


def _writer(cluster: Cluster, name: str) -> Producer:
    where = {"bootstrap.servers": cluster.bootstrap(settings.INTERNAL)}
    return Producer({**where, "transactional.id": name, "transaction.timeout.ms": _LONG_MS})


def _read_committed(cluster: Cluster) -> list[str]:
    """Return what a read_committed consumer gets within some seconds."""
    where = {"bootstrap.servers": cluster.bootstrap(settings.INTERNAL), "group.id": "reader"}
    with Consumer({**where, "isolation.level": "read_committed", "enable.partition.eof": True}) as reader:
        reader.assign([TopicPartition(_ONLINE, 0, 0)])
        values = []
        for _attempt in range(20):
            message = reader.poll(1.0)
            if message is None:
                continue
            if (error := message.error()) is not None:
                if error.code() == KafkaError._PARTITION_EOF:
                    break
                continue
            values.append((message.value() or b"").decode())
        return values
