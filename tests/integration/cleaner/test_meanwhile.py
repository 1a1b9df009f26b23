# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Throttles and other changes of other parties during repairs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource
from kafka.protocol.api_key import ApiKey

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.run_topic import RUN_TOPIC
from lab.changes import pending_changes
from lab.cleaner import CleanerCluster, CleanerOperator
from lab.faults import After
from lab.held import held
from lab.module_process import results
from lab.waiting import wait_until

pytestmark = pytest.mark.on_any_version

_RATE = "follower.replication.throttled.rate"
_THROTTLED = "follower.replication.throttled.replicas"


def _configs(lab: CleanerCluster, kind: Any, name: str) -> dict[str, str]:
    resource = ConfigResource(kind, name)
    entries = lab.admin.describe_configs([resource])[resource].result(30)
    return {each: entries[each].value for each in (_RATE, _THROTTLED) if each in entries and entries[each].value}


def _set(lab: CleanerCluster, kind: Any, resource: str, name: str, value: str | None) -> None:
    operation = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
    entry = ConfigEntry(name, value or "", incremental_operation=operation)
    wanted = ConfigResource(kind, resource, incremental_configs=[entry])
    lab.admin.incremental_alter_configs([wanted])[wanted].result(30)
    wait_until(lambda: _configs(lab, kind, resource).get(name) == value, what=f"{resource} has {name} {value}")


def _written(lab: CleanerCluster) -> list[tuple[str, str, str | None]]:
    """Return resource, name and value of each edit that the proxy saw; None for a deletion."""
    return [
        (resource.resource_name, config.name, config.value)
        for request in lab.cluster.proxy.write_requests()
        if request.api_key == ApiKey.IncrementalAlterConfigs
        for resource in request.decode().resources
        for config in resource.configs
    ]


@contextmanager
def _others_throttle(lab: CleanerCluster, topic: str, replicas: str, broker: int, rate: str) -> Iterator[None]:
    _set(lab, ConfigResource.Type.TOPIC, topic, _THROTTLED, replicas)
    _set(lab, ConfigResource.Type.BROKER, str(broker), _RATE, rate)
    try:
        yield
    finally:
        _set(lab, ConfigResource.Type.BROKER, str(broker), _RATE, None)


@pytest.mark.wide
@pytest.mark.parametrize("theirs", ["30000000", "90000000"], ids=["a lower rate", "a higher rate"])
def test_another_partys_throttle_is_kept_and_restored(
    lab: CleanerCluster, operator: CleanerOperator, theirs: str
) -> None:
    topic = f"throttled-{theirs}"
    lab.damaged(topic, (1, 2, 3), 2)
    with _others_throttle(lab, topic, "7:1", 2, theirs):
        lab.cluster.proxy.clear()
        reported = operator.run("log_cleaner_repair", brokers=[2], throttle_bytes_per_second=50_000_000)
        assert [each["status"] for each in reported["outcomes"]] == ["repaired"], reported
        list_edits = [(topic, _THROTTLED, "7:1,0:2"), (topic, _THROTTLED, "7:1")]
        rate_edits = [("2", _RATE, "50000000"), ("2", _RATE, theirs)]
        assert sorted(_written(lab)) == sorted(list_edits + (rate_edits if int(theirs) > 50_000_000 else []))
        assert _configs(lab, ConfigResource.Type.TOPIC, topic) == {_THROTTLED: "7:1"}
        assert _configs(lab, ConfigResource.Type.BROKER, "2") == {_RATE: theirs}
    lab.assert_in_sync(topic, (1, 2, 3))


@pytest.mark.parametrize(
    ("during", "writes"),
    [
        pytest.param(ApiKey.IncrementalAlterConfigs, [], marks=pytest.mark.wide),
        (ApiKey.ElectLeaders, [(1, 3, 2), (3, 1, 2)]),
    ],
    ids=["before it is touched", "before it is dropped"],
)
def test_a_repair_is_refused_if_the_isr_shrinks_after_the_plan(
    lab: CleanerCluster, operator: CleanerOperator, during: int, writes: list[tuple[int, ...]]
) -> None:
    """Broker 2 dies while the throttle is set or while leadership moves, so only one other copy stays in sync."""
    topic = f"shrunk-{during}"
    lab.damaged(topic, (3, 1, 2), 3)
    lab.cluster.proxy.clear()

    def kill_broker_2() -> None:
        lab.cluster.brokers[2].kill()
        wait_until(
            lambda: all(2 not in lab.cluster.client.describe(topic, broker=each)[0].isr for each in (1, 3)),
            60,
            what="brokers 1 and 3 see a smaller ISR",
        )

    try:
        with lab.cluster.proxy.inject(After(kill_broker_2), api_key=during, times=1):
            reported = operator.run("log_cleaner_repair", brokers=[3], request_timeout_ms=60_000)
    finally:
        if not lab.cluster.brokers[2].running:
            lab.cluster.brokers[2].start()
    assert [each["status"] for each in reported["outcomes"]] == ["refused"], reported
    assert "only 1 in-sync copies stay" in reported["msg"]
    assert lab.drops(3) == []
    assert _asked_for(lab)[: len(writes)] == writes
    assert {*_asked_for(lab)[len(writes) :]} <= {*writes[1:]}
    assert pending_changes(lab.cluster) == ()
    # Not before broker 2 is back: the other client may have sent its question to it.
    lab.assert_in_sync(topic, (3, 1, 2))
    assert _configs(lab, ConfigResource.Type.TOPIC, topic) == {}
    again = operator.run("log_cleaner_repair", brokers=[3])
    assert [each["status"] for each in again["outcomes"]] == ["repaired"], again


def _asked_for(lab: CleanerCluster) -> list[tuple[int, ...]]:
    """Return the replica lists that the proxy saw, oldest first."""
    return [
        tuple(partition.replicas or ())
        for request in lab.cluster.proxy.write_requests()
        if request.is_reassignment
        for topic in request.decode().topics
        for partition in topic.partitions
    ]


@pytest.mark.wide
def test_a_repair_is_undone_for_another_replicas_mark_and_refused_for_unknown_threads(
    lab: CleanerCluster, operator: CleanerOperator
) -> None:
    """Broker 3 has one mark. The named replica is in the same log directory, and is not the marked one."""
    lab.damaged("other", (3, 1, 2), 3)
    lab.create("innocent", (3, 1, 2), {"min.insync.replicas": 2})
    lab.write("innocent")
    named: dict[str, Any] = {"brokers": [3], "partitions": [{"topic": "innocent", "partition": 0}]}
    lab.cluster.proxy.clear()
    unknown = operator.run("log_cleaner_repair", metrics_names={"dead_thread_count": "nowhere"}, **named)
    assert [each["status"] for each in unknown["outcomes"]] == ["refused"], unknown
    assert "does not have DeadThreadCount" in unknown["msg"]
    foreseen = operator.run("log_cleaner_repair", check_mode=True, brokers=[3])
    assert foreseen["outcomes"] == [], "check mode reads no copies to find the marked replica"
    assert "set search_in_check_mode" in foreseen["unidentified_marks"][0]
    assert lab.cluster.proxy.write_requests() == []

    began = time.monotonic()
    given_up = operator.run("log_cleaner_repair", repair_timeout_ms=900_000, **named)
    assert time.monotonic() - began < 180
    assert [each["status"] for each in given_up["outcomes"]] == ["failed"], given_up
    assert "as many as before: the mark is not this replica's; restored" in given_up["msg"]
    lab.assert_in_sync("innocent", (3, 1, 2))
    assert pending_changes(lab.cluster) == ()

    restarted = operator.run("log_cleaner", brokers=[3], force=True, metrics_names={"dead_thread_count": "nowhere"})
    (outcome,) = restarted["outcomes"]
    assert outcome["verified_by"] == "config", restarted
    assert "whether its threads are alive now is unknown" in outcome["reason"]

    # The mark stayed for all of this. The next test expects no mark but its own.
    found = operator.run("log_cleaner_repair", brokers=[3])
    assert [(each["topic"], each["status"]) for each in found["outcomes"]] == [("other", "repaired")], found


@pytest.mark.wide
def test_the_lock_is_free_while_copies_are_read_in_search_of_marks(
    lab: CleanerCluster, operator: CleanerOperator
) -> None:
    lab.damaged("searched", (3, 1, 2), 3)
    lab.cluster.proxy.clear()
    with held(lab.cluster.proxy, ApiKey.Fetch) as (rule, let_go):
        process = operator.start("log_cleaner_repair", brokers=[3], request_timeout_ms=60_000)
        wait_until(lambda: rule.hits, 60, what="a copy is read")
        assert not lab.cluster.client.describe(RUN_TOPIC)
        assert lab.cluster.proxy.write_requests() == []
        let_go.set()
        reported = results(process)
    assert [each["status"] for each in reported["outcomes"]] == ["repaired"], reported
