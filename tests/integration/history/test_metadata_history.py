# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the metadata log of real controllers says about an outage, and what it proves about promises.

The oracle wrote the records itself, and knows which of them were acknowledged with acks=all.
"""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._history.promise import (
    Obstacle,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._history.proof import judge_promise
from ansible_collections.kafkaops.recovery.plugins.module_utils._history.reading import (
    HistoryLimits,
    HistoryQuestion,
    ReadHistory,
    read_history,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.controllers import ControllerSide
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import parse_addresses, settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import MIN_ISR, TopicPartition
from integration.history.alone import break_down, controllers_at
from integration.on_call import OnCall
from lab import Cluster
from lab.module_process import run_module

_HEARTBEAT_MS = 4_000
"""The lab's brokers are fenced after 3 s."""
_ALL_LIMITS = HistoryLimits()


def read(
    cluster: Cluster, on_call: OnCall, topic: str, limits: HistoryLimits = _ALL_LIMITS, cluster_id: str = ""
) -> ReadHistory:
    states = on_call.states(topic)
    question = HistoryQuestion(
        {each: state.topic_id for each, state in states.items()},
        dict.fromkeys(states, (2, 3)),
        (MIN_ISR,),
    )
    at = controllers_at(cluster)
    with Wire(settings_from({"bootstrap_servers": at, "request_timeout_ms": 5000})) as wire:
        side = ControllerSide(wire, tuple(parse_addresses(at)))
        return read_history(side, cluster_id or cluster.cluster_id, question, limits=limits)


@pytest.mark.on_every_version
def test_the_last_survivor_in_sync_is_proven_to_hold_all_that_was_acknowledged(
    cluster: Cluster, on_call: OnCall
) -> None:
    left, lost = break_down(cluster, "promised", min_isr=2)
    found = read(cluster, on_call, "promised")
    assert found.history is not None, found.missing
    assert not found.missing
    partition = TopicPartition("promised", 0)
    of_partition = found.history.partitions[partition]
    assert of_partition.last_leader_id == 1
    assert of_partition.alone_since_ms is not None
    assert of_partition.leader_lost_at_ms is not None
    assert left - _HEARTBEAT_MS <= of_partition.alone_since_ms <= left
    assert lost <= of_partition.leader_lost_at_ms <= lost + _HEARTBEAT_MS
    assert judge_promise(found.history, partition, 3, is_empty=False).is_kept
    assert judge_promise(found.history, partition, 2, is_empty=False).obstacle is Obstacle.ISR_WAS_LARGE_ENOUGH
    options = {
        "bootstrap_servers": [cluster.bootstrap()],
        "bootstrap_controllers": [controllers_at(cluster)],
        "partitions": [{"topic": "promised", "partition": 0}],
    }
    (row,) = run_module("partition_history_info", options)["partitions"]
    assert (row["last_leader_id"], row["alone_since"] < row["leader_lost_at"]) == (1, True)
    assert [(each["broker_id"], each["keeps_acks_all"]) for each in row["survivors"]] == [(2, None), (3, True)]
    # The brokers say where the controllers are.
    assert run_module("partition_history_info", options | {"bootstrap_controllers": []})["partitions"] == [row]
    # The oracle: 3 holds the 15 records that were acknowledged by all, and 2 holds 10 of them.
    assert [cluster.client.log_end_offset("promised", 0, broker) for broker in (2, 3)] == [10, 15]


@pytest.mark.wide
def test_a_leader_that_may_acknowledge_alone_proves_nothing(cluster: Cluster, on_call: OnCall) -> None:
    break_down(cluster, "alone", min_isr=1)
    found = read(cluster, on_call, "alone")
    assert found.history is not None
    promise = judge_promise(found.history, TopicPartition("alone", 0), 3, is_empty=False)
    assert (promise.obstacle, promise.isr, promise.min_isr) == (Obstacle.ISR_WAS_LARGE_ENOUGH, (1,), 1)


@pytest.mark.wide
def test_a_limit_and_another_cluster_are_named_and_nothing_is_guessed(cluster: Cluster, on_call: OnCall) -> None:
    break_down(cluster, "limited", min_isr=2)
    found = read(cluster, on_call, "limited", HistoryLimits(max_bytes=1))
    assert found.history is None
    assert "limit" in found.missing
    other = read(cluster, on_call, "limited", cluster_id="AAAAAAAAAAAAAAAAAAAAAA")
    assert other.history is None
    assert "belongs to another cluster" in other.missing


@pytest.mark.wide
def test_without_a_controller_that_answers_the_source_is_named(cluster: Cluster, on_call: OnCall) -> None:
    break_down(cluster, "unreachable", min_isr=2)
    states = on_call.states("unreachable")
    question = HistoryQuestion({each: state.topic_id for each, state in states.items()}, {}, ())
    with Wire(settings_from({"bootstrap_servers": cluster.bootstrap(), "request_timeout_ms": 1000})) as wire:
        nowhere = read_history(ControllerSide(wire, (), "none is known"), cluster.cluster_id, question)
        no_controller = ControllerSide(wire, tuple(parse_addresses(cluster.bootstrap())))
        broker = read_history(no_controller, cluster.cluster_id, question)
    assert nowhere.missing == "none is known"
    assert broker.history is None
    assert "no controller returns its metadata log" in broker.missing
