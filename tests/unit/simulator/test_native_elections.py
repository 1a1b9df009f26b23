# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""ElectLeaders with designated leaders, where brokers offer it: the outcomes of the detour, and no order touched."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal_reader import JournalOptions
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.elections import (
    elect_designated,
    offers_designated_election,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address, settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import NullProgress
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.designations import plan_from_designations
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.election_run import (
    ElectionOptions,
    ElectionReport,
    run_elections,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from simulator import SimulatedCluster, offline_world

PARTITIONS = 25
DESIGNATIONS = {TopicPartition("orders", number): 1 + (number + 2) % 3 for number in range(PARTITIONS)}


def elect(cluster: SimulatedCluster, *, check_mode: bool = False) -> ElectionReport:
    settings = settings_from({"bootstrap_servers": cluster.bootstrap(), "request_timeout_ms": 5000})
    options = ElectionOptions(journal=JournalOptions(), attempts=2, verify_timeout_ms=5000, check_mode=check_mode)
    with Wire(settings) as wire:
        plan = plan_from_designations(Kafka(wire), DESIGNATIONS)
        return run_elections(Kafka(wire), plan, options, NullProgress(), threading.Event())


def keys(cluster: SimulatedCluster) -> set[int]:
    return {each.api_key for each in cluster.proxy.requests()}


def test_the_outcomes_are_those_of_the_detour_and_no_order_is_touched(tmp_path: Path) -> None:
    reports, orders = {}, {}
    for is_native in (False, True):
        world = offline_world({"orders": PARTITIONS}, (1, 2, 3))
        before = {number: each.replicas for number, each in world.topics["orders"].partitions.items()}
        with SimulatedCluster(world, designated_elections=is_native) as cluster:
            reports[is_native] = elect(cluster)
            assert any(each.is_reassignment for each in cluster.proxy.requests()) is not is_native
            versions = {each.api_version for each in cluster.proxy.requests() if each.api_key == ApiKey.ElectLeaders}
        assert versions == ({3} if is_native else {2})
        led = {number: each.leader for number, each in world.topics["orders"].partitions.items()}
        assert led == {each.partition: broker_id for each, broker_id in DESIGNATIONS.items()}
        orders[is_native] = {number: each.replicas for number, each in world.topics["orders"].partitions.items()}
        assert orders[is_native] == before
    assert reports[True] == reports[False]
    assert {each.status for each in reports[True].outcomes} == {Status.RECOVERED}


def test_check_mode_writes_nothing_and_says_the_same(tmp_path: Path) -> None:
    reports = []
    for is_native in (False, True):
        world = offline_world({"orders": PARTITIONS}, (1, 2, 3))
        with SimulatedCluster(world, designated_elections=is_native) as cluster:
            reports.append(elect(cluster, check_mode=True))
            assert cluster.proxy.write_requests() == []
    public, native = ([replace(each, reason="", cause="") for each in report.outcomes] for report in reports)
    assert public == native
    assert "in the order [3, 2, 1]" in reports[0].outcomes[0].reason
    assert "in the order" not in reports[1].outcomes[0].reason


def test_one_broker_without_it_is_enough_for_the_public_way() -> None:
    old = SimulatedCluster(offline_world({"orders": 1}, (1,), replication=1))
    new = SimulatedCluster(offline_world({"orders": 1}, (1,), replication=1), designated_elections=True)
    with old, new:
        places = [Address("127.0.0.1", each.ports[1]) for each in (new, old)]
        settings = settings_from({"bootstrap_servers": new.bootstrap(), "request_timeout_ms": 5000})
        with Wire(settings) as wire:
            assert offers_designated_election(wire, places[:1])
            assert not offers_designated_election(wire, places)
            assert not offers_designated_election(wire, [])
    with Wire(replace(settings, request_timeout_ms=1000)) as wire:
        assert not offers_designated_election(wire, places[:1])


def test_an_election_over_nothing_is_never_sent() -> None:
    settings = settings_from({"bootstrap_servers": "127.0.0.1:1"})
    with Wire(settings) as wire, pytest.raises(ValueError, match="no partitions"):
        elect_designated(wire, settings.bootstrap_servers[0], {})
