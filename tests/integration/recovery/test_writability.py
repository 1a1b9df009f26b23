# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A partition with a leader may still take no record with acks=all: the run says so, and gives it new replicas.

Records are written by confluent-kafka, and the cluster is read by the lab's own client.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Producer

from lab import Cluster, wait_until
from lab.client import PartitionState
from lab.playbook import RECOVER, typed

_LOST, _SURVIVOR = 1, 2
_TOPICS = ("first", "second")


@pytest.fixture
def cluster(kafka_version: str) -> Iterator[Cluster]:
    """Start four brokers. Two topics on two of them have lost their leaders, and one replica of each is left."""
    with Cluster(kafka_version, brokers=4) as started:
        for topic in _TOPICS:
            started.client.create_topic(topic, {0: [_LOST, _SURVIVOR]}, {"min.insync.replicas": 2})
            started.client.produce(topic, [0], 5)
        # A broker that was killed loses its place in the ELR (KIP-966), so that the controller does not elect it.
        for each in (_SURVIVOR, _LOST):
            started.brokers[each].kill()
            wait_until(partial(_is_out, started, each), 60, what=f"broker {each} is fenced")
        started.brokers[_SURVIVOR].start()
        wait_until(
            lambda: all(_SURVIVOR not in _state(started, topic).offline_replicas for topic in _TOPICS),
            60,
            what="the survivor is back",
        )
        assert [_state(started, topic).leader for topic in _TOPICS] == [None, None]
        yield started


def _state(cluster: Cluster, topic: str) -> PartitionState:
    return cluster.client.describe(topic, broker=4)[0]


def _is_out(cluster: Cluster, broker_id: int) -> bool:
    states = [_state(cluster, topic) for topic in _TOPICS]
    # The last member of an ISR stays in it while its broker is dead.
    return all(each.leader is None or broker_id not in each.isr for each in states)


def write(cluster: Cluster, topic: str) -> KafkaError | None:
    """Write a record with acks=all, and return the broker's answer."""
    answers: list[KafkaError | None] = []
    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap(), "acks": "all", "message.timeout.ms": 8000, "retries": 0}
    )
    producer.produce(topic, b"new", partition=0, on_delivery=lambda error, _message: answers.append(error))
    producer.flush(20)
    [answer] = answers
    return answer


@pytest.mark.wide
@pytest.mark.on_any_version
def test_the_run_says_what_takes_no_records_and_makes_it_writable(cluster: Cluster, tmp_path: Path) -> None:
    given = {
        "kafka_bootstrap_servers": cluster.bootstrap(),
        "unclean_recovery_strategy": "aggressive",
        "unclean_recovery_lost_brokers": str(_LOST),
        "unclean_recovery_automated_recovery": "true",
    }
    command = ["ansible-playbook", RECOVER, *(word for each in given.items() for word in ("-e", "=".join(each)))]

    first = typed(
        tmp_path, *command, "-e", "unclean_recovery_partitions=first:0", "-e", "unclean_recovery_report_file=first.json"
    )
    assert first.returncode == 0, first.output
    assert "1 of 1 partition recovered" in first.words
    assert "writable with acks=all: 0 of 1" in first.words
    assert "restore_redundancy" in first.words
    assert "redundancy_lost_brokers" in first.words
    [outcome] = json.loads((tmp_path / "first.json").read_text(encoding="utf-8"))["partitions"]
    assert (outcome["isrAfter"], outcome["requiredIsr"]) == ([_SURVIVOR], 2)
    error = write(cluster, "first")
    assert error is not None
    assert error.code() in (KafkaError.NOT_ENOUGH_REPLICAS, KafkaError._MSG_TIMED_OUT)

    refused = typed(
        tmp_path,
        "ansible-playbook",
        RECOVER,
        *("-e", f"kafka_bootstrap_servers={cluster.bootstrap()}"),
        *("-e", "unclean_recovery_then_restore_redundancy=yes"),
    )
    assert refused.returncode != 0
    assert "unclean_recovery_lost_brokers names none" in refused.words

    everything = [
        *command,
        *("-e", "unclean_recovery_all_offline_partitions=true"),
        *("-e", "unclean_recovery_then_restore_redundancy=yes"),
    ]
    rest = typed(tmp_path, *everything)
    assert rest.returncode == 0, rest.output
    assert "copy the replicas to other brokers" not in rest.words, "it does so itself"
    for topic in _TOPICS:
        state = _state(cluster, topic)
        assert _LOST not in state.replicas, "the lost broker's replica is replaced"
        assert {*state.isr} == {*state.replicas}
        assert len(state.isr) == 2
        assert write(cluster, topic) is None
        assert len(cluster.client.consume_all(topic, 0)) == 6
    again = typed(tmp_path, *everything)
    assert (again.returncode, "changed=0" in again.output) == (0, True), again.output
