# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The stop gate on real brokers: random sets of brokers on random states, predicted, and then really stopped.

The seeds are part of the tests' names, so that a failure can be repeated.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

import pytest
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.stop_prediction import Kind
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.gate import Answer, Gate
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.looking import check_stop
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.question import Question
from integration.stop_gate.five_brokers import RACKS
from lab import Cluster
from lab.client import PartitionState
from lab.playbook import run_playbook

_STABLE_S = 2.0
_SETTLED_S = 40.0


def ask(cluster: Cluster, *brokers: int) -> Gate:
    settings = settings_from({"bootstrap_servers": cluster.bootstrap(), "request_timeout_ms": 2000})
    with Wire(settings) as wire:
        return check_stop(Kafka(wire), Question((tuple(sorted(brokers)),)))


def named(gate: Gate, *kinds: Kind) -> set[tuple[str, int]]:
    return {(one.topic, one.partition) for each in gate.reasons if each.kind in kinds for one in each.partitions}


@dataclass(frozen=True)
class Topic:
    """A topic of a random state."""

    min_isr: int
    unclean: bool
    assignment: Mapping[int, list[int]]


def create_topics(cluster: Cluster, chance: random.Random) -> dict[str, Topic]:
    topics = {}
    for number in range(4):
        replicas = chance.choice([1, 2, 3, 3])
        topic = Topic(
            min_isr=chance.choice([1, 2, 2, 3]),
            unclean=number == 3,
            assignment={each: chance.sample([*RACKS], replicas) for each in range(3)},
        )
        config = {"min.insync.replicas": topic.min_isr, "unclean.leader.election.enable": str(topic.unclean).lower()}
        cluster.client.create_topic(f"t{number}", topic.assignment, config)
        topics[f"t{number}"] = topic
    return topics


def states(cluster: Cluster, topics: Mapping[str, Topic]) -> dict[tuple[str, int], PartitionState]:
    return {(topic, number): state for topic in topics for number, state in cluster.client.describe(topic).items()}


def settled(cluster: Cluster, topics: Mapping[str, Topic], gone: set[int]) -> dict[tuple[str, int], PartitionState]:
    """Wait until no dead broker leads or is in the ISR of a partition with a leader, and nothing changes."""
    deadline, since, last = monotonic() + _SETTLED_S, monotonic(), states(cluster, topics)
    while monotonic() < deadline:
        sleep(0.2)
        now = states(cluster, topics)
        dead_in_sync = any(each.leader is not None and gone & {*each.isr} for each in now.values())
        if now != last or dead_in_sync:
            since, last = monotonic(), now
        elif monotonic() - since > _STABLE_S:
            return now
    raise TimeoutError(f"not settled: {last}")


def make_replicas_lag(cluster: Cluster, broker: int, topics: Mapping[str, Topic]) -> None:
    """Throttle a follower to one byte per second, and write records: it leaves each ISR, and stays up."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap("INTERNAL"), "log_level": 0})
    throttled = {(ResourceType.BROKER, str(broker)): ("follower.replication.throttled.rate", "1")}
    throttled |= {(ResourceType.TOPIC, each): ("follower.replication.throttled.replicas", "*") for each in topics}
    for (kind, name), (key, value) in throttled.items():
        entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(kind, name, incremental_configs=[entry])
        admin.incremental_alter_configs([resource])[resource].result(30)
    sleep(0.5)
    for topic, each in topics.items():
        if each.min_isr == 1:
            cluster.client.produce(topic, [*each.assignment], 5, record_bytes=2000)


def trial(cluster: Cluster, seed: int) -> str:
    """Predict, stop exactly these brokers, and compare. Return what was tried."""
    chance = random.Random(seed)
    topics = create_topics(cluster, chance)
    down: set[int] = set()
    before = chance.choice(["whole", "whole", "one down", "one frozen", "two down", "lagging"])
    brokers = chance.sample([*RACKS], 5)
    if before in ("one down", "two down"):
        down = {*brokers[: 1 if before == "one down" else 2]}
        for each in down:
            cluster.brokers[each].kill()
    elif before == "one frozen":
        down = {brokers[0]}
        cluster.brokers[brokers[0]].freeze()
    elif before == "lagging":
        make_replicas_lag(cluster, brokers[0], topics)
        sleep(4)
    settled(cluster, topics, down)
    stopped = {*chance.sample(sorted({*RACKS} - down), chance.choice([1, 1, 2, 2]))}
    gate = ask(cluster, *stopped)
    now = states(cluster, topics)
    for each in stopped:
        cluster.brokers[each].kill()
    after = settled(cluster, topics, down | stopped)

    touched = {key for key, state in now.items() if stopped & {*state.replicas} - {*state.offline_replicas}}
    led = {key for key in touched if now[key].leader is not None}
    leaderless = {key for key in led if after[key].leader is None}
    context = f"seed {seed}, {before} {sorted(down)}, stopped {sorted(stopped)}\n{now}\n{after}\n{gate}"
    assert named(gate, Kind.NO_LEADER) == leaderless, context
    unclean = {
        key
        for key in led - leaderless
        if after[key].leader not in {*now[key].isr, *now[key].elr} and not {*now[key].isr} - stopped
    }
    assert named(gate, Kind.UNCLEAN_ELECTION) == unclean, context
    below = {
        key for key in led - leaderless if len(after[key].isr) < min(topics[key[0]].min_isr, len(after[key].replicas))
    }
    assert named(gate, Kind.BELOW_MIN_ISR) == below, context
    alive = {*RACKS} - down - stopped
    copies = {key for key in touched if not alive & {*after[key].replicas}}
    assert named(gate, Kind.LAST_COPY) == copies, context
    assert (gate.verdict is Answer.YES) == (not gate.reasons), context
    if gate.verdict is Answer.YES:
        assert not leaderless | unclean | below | copies, context
    return f"{gate.verdict.value} {before}: {len(leaderless)} leaderless, {len(below)} below, {len(unclean)} unclean"


@pytest.mark.parametrize("seed", [1, *(pytest.param(each, marks=pytest.mark.wide) for each in (2, 3))])
def test_what_is_predicted_happens(cluster: Cluster, seed: int) -> None:
    trial(cluster, seed)
    assert cluster.proxy.write_requests() == []


def test_a_hung_broker_makes_it_a_no(cluster: Cluster) -> None:
    cluster.client.create_topic("orders", {0: [1, 2, 3]}, {"min.insync.replicas": 2})
    cluster.brokers[2].freeze()
    gate = ask(cluster, 1)
    assert gate.verdict is Answer.NO
    assert named(gate, Kind.BELOW_MIN_ISR) == {("orders", 0)}
    assert any("start broker 2" in each for each in gate.stops[0].changes)


def test_the_playbook_answers_by_its_exit_status(cluster: Cluster, tmp_path: Path) -> None:
    cluster.client.create_topic("orders", {0: [1, 3, 5]}, {"min.insync.replicas": 2})
    settings = {"kafka_bootstrap_servers": cluster.bootstrap()}
    yes = run_playbook("kafkaops.recovery.check_stop", settings | {"stop_gate_brokers": "1,2"})
    assert yes.returncode == 0, yes.output
    assert "YES: brokers 1, 2 may stop now." in yes.words
    no = run_playbook(
        "kafkaops.recovery.check_stop",
        settings | {"stop_gate_sets": ["1+3"], "stop_gate_racks": "c", "stop_gate_report_html": f"{tmp_path}/no.html"},
    )
    assert no.returncode == 2, no.output
    assert "NO: brokers 1, 3; then broker 5 must not stop now: 1 reason." in no.words
    assert '"verdict": "no"' in (tmp_path / "no.html.json").read_text("utf-8")
    assert cluster.proxy.write_requests() == []
