# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Nodes are started, stopped, killed, frozen and wiped for real."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lab import Cluster, NodeError, jars, versions, wait_until, wire, work_dir
from lab.ports import HeldPorts

pytestmark = [pytest.mark.on_any_version, pytest.mark.wide]

TOPIC = "orders"

# A killed test run leaves a frozen broker and a running controller.
ABANDONED = """\
import sys, time
from lab import Cluster
cluster = Cluster(sys.argv[1], brokers=1)
cluster.start()
cluster.brokers[1].freeze()
print(*(node.pid for node in cluster.nodes), cluster.work_dir, flush=True)
time.sleep(600)
"""


@pytest.fixture(scope="module")
def agent_port() -> Iterator[int]:
    ports = HeldPorts()
    yield ports.take()
    ports.release()


@pytest.fixture(scope="module")
def cluster(kafka_version: str, agent_port: int) -> Iterator[Cluster]:
    agent = f"-javaagent:{jars.artifact(versions.JOLOKIA)}=host=127.0.0.1,port={agent_port}"
    with Cluster(
        kafka_version,
        broker_properties={2: {"broker.rack": "second"}},
        jvm_args={3: [agent]},
        log_dirs=2,
    ) as cluster:
        cluster.client.create_topic(TOPIC, {0: [1, 2, 3], 1: [2, 3, 1]}, {"min.insync.replicas": 1})
        yield cluster


@pytest.fixture
def whole(cluster: Cluster) -> Cluster:
    """Return the cluster with every broker up and in every ISR."""
    for broker in cluster.brokers.values():
        if not broker.running:
            broker.start()
        broker.thaw()
    wait_until(lambda: all(len(state.isr) == 3 for state in cluster.client.describe(TOPIC).values()), 30)
    return cluster


def unfenced(cluster: Cluster, *, seen_by: int) -> set[int]:
    broker = cluster.brokers[seen_by]
    return {node.node_id for node in wire.metadata(broker.host, broker.ports["INTERNAL"]).brokers}


def test_every_broker_is_unfenced_after_the_start(whole: Cluster) -> None:
    assert [unfenced(whole, seen_by=broker) for broker in whole.brokers] == [{1, 2, 3}] * 3


def test_a_node_s_own_properties_are_in_force(whole: Cluster) -> None:
    metadata = wire.metadata(whole.host, whole.brokers[1].ports["INTERNAL"])
    assert {broker.node_id: broker.rack for broker in metadata.brokers} == {1: None, 2: "second", 3: None}
    assert [len(broker.data_dirs) for broker in whole.brokers.values()] == [2, 2, 2]
    assert all((log_dir / "meta.properties").is_file() for log_dir in whole.brokers[1].data_dirs)


def test_an_agent_runs_in_a_node_s_jvm(whole: Cluster, agent_port: int) -> None:
    assert whole.brokers[3].running
    count = f"http://127.0.0.1:{agent_port}/jolokia/read/kafka.log:type=LogCleaner,name=DeadThreadCount"
    with urllib.request.urlopen(count, timeout=5) as answer:
        assert json.load(answer)["value"] == {"Value": 0}


def test_what_is_produced_is_consumed(whole: Cluster) -> None:
    whole.client.produce(TOPIC, [0, 1], 3, label="first")
    assert whole.client.consume_all(TOPIC, 1)[-3:] == ["first-0", "first-1", "first-2"]
    offsets = [whole.client.log_end_offset(TOPIC, 0, broker) for broker in whole.brokers]
    assert offsets == [len(whole.client.consume_all(TOPIC, 0))] * 3


def test_a_stopped_broker_hands_its_leadership_over(whole: Cluster) -> None:
    leader = whole.client.leader(TOPIC, 0)
    assert leader is not None
    whole.brokers[leader].stop()
    assert not whole.brokers[leader].running
    assert whole.client.leader(TOPIC, 0) not in {leader, None}


def test_a_killed_broker_refuses_connections_and_is_fenced(whole: Cluster) -> None:
    whole.brokers[3].kill()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((whole.host, whole.brokers[3].port), 1)
    wait_until(lambda: unfenced(whole, seen_by=1) == {1, 2}, 15)
    whole.brokers[3].start()
    assert unfenced(whole, seen_by=3) >= {3}


def test_a_frozen_broker_accepts_connections_and_answers_nothing(whole: Cluster) -> None:
    whole.brokers[2].freeze()
    with pytest.raises(TimeoutError):
        wire.metadata(whole.host, whole.brokers[2].ports["INTERNAL"], timeout=0.5)
    assert whole.brokers[2] not in whole.live_brokers
    whole.brokers[2].thaw()
    wait_until(lambda: 2 in unfenced(whole, seen_by=2))


def test_a_frozen_broker_can_be_killed(whole: Cluster) -> None:
    whole.brokers[2].freeze()
    whole.brokers[2].kill()
    assert whole.brokers[2].pid is None


def test_a_wiped_broker_fetches_everything_again(whole: Cluster) -> None:
    whole.client.produce(TOPIC, 0, 1)
    held = whole.client.log_end_offset(TOPIC, 0, 3)
    with pytest.raises(NodeError, match="stop it before wiping"):
        whole.brokers[3].wipe()
    whole.brokers[3].stop()
    whole.brokers[3].wipe()
    whole.brokers[3].start()
    wait_until(lambda: whole.client.log_end_offset(TOPIC, 0, 3) == held, 30)


def test_a_node_that_cannot_start_shows_its_log(whole: Cluster) -> None:
    broker = whole.brokers[3]
    broker.stop()
    good = broker.properties.pop("log.dirs")
    broker.properties["log.dirs"] = "/proc/nowhere"
    try:
        with pytest.raises(NodeError, match=r"No readable meta\.properties"):
            broker.start()
    finally:
        broker.properties["log.dirs"] = good


def test_kafka_s_own_tools_run(whole: Cluster) -> None:
    result = whole.client.run_tool(
        "org.apache.kafka.tools.TopicCommand", "--bootstrap-server", whole.bootstrap(), "--describe", "--topic", TOPIC
    )
    assert result.returncode == 0, result.stderr
    assert "PartitionCount: 2" in result.stdout


def test_nothing_is_left_when_the_parent_is_killed(kafka_version: str) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", ABANDONED, kafka_version],
        stdout=subprocess.PIPE,
        text=True,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(__file__).parents[2]), "HOME": str(Path.home())},
    )
    assert parent.stdout is not None
    *pids, directory = parent.stdout.readline().split()
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 5
    while alive := [pid for pid in pids if Path("/proc", pid).exists()]:
        assert time.monotonic() < deadline, f"still there: {alive}"
        time.sleep(0.05)
    work_dir.sweep(Path(directory).parent)
    assert not Path(directory).exists()


def test_a_broker_that_ends_while_it_starts_is_started_once_more(kafka_version: str) -> None:
    cluster = Cluster(kafka_version, brokers=1)

    def kill_at_once() -> int:
        wait_until(lambda: 1 in cluster.brokers and cluster.brokers[1].running, 60, what="the broker's process")
        pid = cluster.brokers[1].pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        return pid

    with ThreadPoolExecutor() as pool:
        killed = pool.submit(kill_at_once)
        with cluster:
            assert cluster.brokers[1].pid not in (None, killed.result())


def test_a_broker_that_ends_twice_is_named(kafka_version: str) -> None:
    impatient = {1: {"initial.broker.registration.timeout.ms": 1}}
    with (
        pytest.raises(NodeError, match="broker 1 ended with 1"),
        Cluster(kafka_version, brokers=1, broker_properties=impatient),
    ):
        pass
