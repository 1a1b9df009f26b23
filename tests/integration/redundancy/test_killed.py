# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run that is killed before or after each of its write requests, and the next run: on real brokers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import LastingOrders
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_topic import RUN_TOPIC
from integration.redundancy.throttles import throttles
from lab import Cluster, wait_until
from lab.boundary import Boundary
from lab.changes import pending_changes
from lab.faults import After, Before
from lab.module_process import run_module, start_module

pytestmark = [pytest.mark.wide, pytest.mark.timeout(600)]

# The run creates the topic of the lock, claims it, throttles the broker and the topic (a record before each), begins
# the reassignment, takes the throttle off (a record after each), and deletes the topic.
_BOUNDARIES = [
    Boundary("the-topic-is-created", After, ApiKey.CreateTopics),
    Boundary("before-the-rate-is-recorded", Before, ApiKey.Produce, 2),
    Boundary("the-rate-is-recorded", After, ApiKey.Produce, 2),
    Boundary("before-the-rate-is-set", Before, ApiKey.IncrementalAlterConfigs),
    Boundary("the-rate-is-set", After, ApiKey.IncrementalAlterConfigs),
    Boundary("the-list-is-set", After, ApiKey.IncrementalAlterConfigs, 2),
    Boundary("before-the-copy-is-begun", Before, ApiKey.AlterPartitionReassignments),
    Boundary("the-copy-is-begun", After, ApiKey.AlterPartitionReassignments),
    Boundary("the-list-is-reset", After, ApiKey.IncrementalAlterConfigs, 3),
    Boundary("the-rate-is-reset", After, ApiKey.IncrementalAlterConfigs, 4),
    Boundary("before-the-topic-is-deleted", Before, ApiKey.DeleteTopics),
]
_LOST = 4


@pytest.fixture(scope="module")
def cluster(kafka_version: str) -> Iterator[Cluster]:
    """Four brokers of which one is lost. Each boundary has a topic with one partition, which has a replica on it."""
    with Cluster(kafka_version, brokers=4, proxied=True) as started:
        for each in _BOUNDARIES:
            started.client.create_topic(each.name, {0: [1, _LOST, 2]})
            started.client.produce(each.name, 0, 9, record_bytes=50_000)
        started.brokers[_LOST].kill()
        started.brokers[_LOST].wipe()
        yield started


@pytest.mark.parametrize("boundary", _BOUNDARIES, ids=lambda each: each.name)
def test_the_next_run_completes_it(cluster: Cluster, tmp_path: Path, boundary: Boundary) -> None:
    topic = boundary.name
    wait_until(lambda: _LOST not in cluster.client.describe(topic)[0].isr, 60, what="the lost broker has left the ISR")
    partitions = tmp_path / "partitions.json"
    partitions.write_text(json.dumps({"partitions": [{"topic": topic, "partition": 0}]}), encoding="utf-8")
    options = {
        "bootstrap_servers": [cluster.bootstrap()],
        "partitions_file": str(partitions),
        "lost_brokers": [_LOST],
        "apply": True,
        "throttle_bytes_per_second": 1_000_000,
        "request_timeout_ms": 5000,
    }
    boundary.kill(cluster.proxy, partial(start_module, "redundancy", options))

    again = run_module("redundancy", options)
    assert "failed" not in again, again.get("msg")
    throttle = [each for each in again["leftovers"] if each["change"] != str(LastingOrders())]
    assert {each["undoing"] for each in throttle} <= {"restored", "already_back"}, again
    state = cluster.client.describe(topic)[0]
    assert {*state.isr} == {*state.replicas} == {1, 2, 3}
    assert throttles(cluster, topic) == []
    assert pending_changes(cluster) == ()
    wait_until(lambda: not cluster.client.describe(RUN_TOPIC), 10, what="the topic of the lock is gone")
