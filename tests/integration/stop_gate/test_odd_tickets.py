# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tickets that nobody releases as usual, on real brokers: never two owners, and each refusal says how it ends."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from integration.stop_gate.tickets import TOPIC, tickets_in, write_ticket
from lab import Cluster, settings, wait_until, wire
from lab.module_process import results, run_module, start_module

pytestmark = [pytest.mark.wide, pytest.mark.timeout(600)]

_LISTS_FENCED = (4, 0)


@pytest.fixture
def mine(cluster: Cluster) -> dict[str, object]:
    """Return the question of the pipeline "mine" about brokers 3 and 4, all of rack b."""
    cluster.client.create_topic("orders", {0: [1, 3, 5], 1: [2, 4, 5]}, {"min.insync.replicas": 1})
    connection = {"bootstrap_servers": cluster.bootstrap(), "request_timeout_ms": 2000}
    return connection | {"brokers": [3, 4], "owner": "mine", "minutes": 5}


def create_inheriting_topic(cluster: Cluster, *replicas: int) -> None:
    """Create the topic as an earlier version may have: compacted, and with odd values or the brokers' defaults."""
    cluster.client.create_topic(TOPIC, {0: [*replicas]}, {"cleanup.policy": "compact", "max.message.bytes": 1000})


def own_config(cluster: Cluster, name: str) -> str:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap("INTERNAL"), "log_level": 0})
    resource = ConfigResource(ResourceType.TOPIC, TOPIC)
    return str(admin.describe_configs([resource])[resource].result(30)[name].value)


def kinds(result: dict[str, Any]) -> list[str]:
    return [each["kind"] for each in result["reasons"]]


def test_an_expired_ticket_is_taken_over_and_a_valid_one_is_not(cluster: Cluster, mine: dict[str, object]) -> None:
    create_inheriting_topic(cluster, 1, 5)
    # Only a minute after its time, a ticket counts for nothing.
    write_ticket(cluster, "dead", [3], minutes_ago=60, minutes=58)
    write_ticket(cluster, "late", [5], minutes_ago=60, minutes=60)
    refused = run_module("stop_gate", mine | {"take": True})
    assert kinds(refused) == ["ticket"], refused
    assert refused["reasons"][0]["text"].startswith("broker 5 is being stopped by late, since ")
    assert "It expires at " in refused["reasons"][0]["remedy"]
    assert any("dead" in each and "expired" in each for each in refused["notes"]), refused

    assert run_module("stop_gate", mine | {"brokers": [5], "owner": "late", "release": True})["verdict"] == "yes"
    taken = run_module("stop_gate", mine | {"take": True})
    assert taken["verdict"] == "yes", taken
    assert [*tickets_in(cluster)] == ["mine"]
    # What the topic of an earlier run inherited is repaired: no ticket expires there or is refused for its size.
    assert {name: own_config(cluster, name) for name in ("retention.ms", "max.message.bytes")} == {
        "retention.ms": "-1",
        "max.message.bytes": "2097152",
    }
    wait_until(lambda: len(cluster.client.describe(TOPIC)[0].isr) == 3, 60, what="the topic has three copies")


def test_a_topic_that_deletes_tickets_is_named_with_the_command(cluster: Cluster, mine: dict[str, object]) -> None:
    # On a broker that stays up: its only copy would be a reason for a no otherwise.
    cluster.client.create_topic(TOPIC, {0: [1]})
    refused = run_module("stop_gate", mine | {"take": True})
    assert refused["failed"], refused
    assert "cleanup.policy of topic _kafkaops_stops is delete" in refused["msg"]
    assert "--add-config cleanup.policy=compact" in refused["msg"]
    assert tickets_in(cluster) == {}


def test_two_pipelines_with_one_name_at_once_never_both_get_a_yes(cluster: Cluster, mine: dict[str, object]) -> None:
    create_inheriting_topic(cluster, 1, 2, 5)
    for number in range(8):
        at_once = threading.Barrier(2)

        def take(_name: int, barrier: threading.Barrier = at_once) -> dict[str, Any]:
            barrier.wait()
            return results(start_module("stop_gate", mine | {"take": True}))

        with ThreadPoolExecutor(2) as pool:
            answers = [*pool.map(take, range(2))]
        yes = [each for each in answers if each["verdict"] == "yes"]
        fresh = [each for each in yes if not any("renews an earlier ticket" in note for note in each["notes"])]
        # The second one is refused, unless it began after the first one had ended: then it says that it renews.
        assert len(fresh) == 1, (number, answers)
        assert [*tickets_in(cluster)] == ["mine"]
        for each in answers:
            if each not in yes:
                assert {*kinds(each)} <= {"ticket", "another_run"}, each
        assert run_module("stop_gate", mine | {"release": True})["verdict"] == "yes"


def test_a_second_take_renews_and_says_so_and_other_brokers_are_refused(
    cluster: Cluster, mine: dict[str, object]
) -> None:
    first = run_module("stop_gate", mine | {"take": True})
    again = run_module("stop_gate", mine | {"take": True})
    assert (first["verdict"], again["verdict"]) == ("yes", "yes")
    assert any(each.startswith("this renews an earlier ticket: brokers 3, 4 of rack b") for each in again["notes"])
    assert len(tickets_in(cluster)) == 1
    assert kinds(run_module("stop_gate", mine | {"brokers": [3], "take": True})) == ["ticket"]
    assert kinds(run_module("stop_gate", mine | {"owner": "other", "take": True})) == ["ticket"]
    # Its brokers never stopped.
    released = run_module("stop_gate", mine | {"brokers": [3], "release": True, "release_timeout_ms": 0})
    assert (released["verdict"], len(released["released"])) == ("yes", 1), released
    assert not any("is being stopped" in each for each in released["notes"]), "its own ticket is no news to its owner"
    assert tickets_in(cluster) == {}


def test_a_rack_whose_brokers_are_all_down_is_waited_for(cluster: Cluster, mine: dict[str, object]) -> None:
    assert run_module("stop_gate", mine | {"take": True})["verdict"] == "yes"
    for each in (3, 4):
        cluster.brokers[each].stop()
    by_rack = {name: value for name, value in mine.items() if name != "brokers"} | {"racks": ["b"], "release": True}
    early = run_module("stop_gate", by_rack | {"release_timeout_ms": 0})
    assert {*kinds(early)} == {"not_back"}, early
    for each in (3, 4):
        cluster.brokers[each].start()
    assert run_module("stop_gate", by_rack | {"release_timeout_ms": 60_000})["verdict"] == "yes"
    assert tickets_in(cluster) == {}


def test_the_ticket_of_a_removed_broker_is_released(
    cluster: Cluster, mine: dict[str, object], kafka_version: str
) -> None:
    mine |= {"brokers": [4]}
    cluster.client.delete_topic("orders")
    cluster.client.create_topic("kept", {0: [1, 3, 5]})
    create_inheriting_topic(cluster, 1, 2, 5)
    assert run_module("stop_gate", mine | {"take": True})["verdict"] == "yes"
    cluster.brokers[4].stop()
    observer = cluster.brokers[1]
    wire.unregister_broker(observer.host, observer.ports[settings.INTERNAL], 4)
    ended = run_module("stop_gate", mine | {"release": True, "release_timeout_ms": 0})
    others = run_module("stop_gate", mine | {"brokers": [5], "owner": "other"})
    if tuple(map(int, kafka_version.split(".")[:2])) >= _LISTS_FENCED:
        assert (ended["verdict"], len(ended["released"])) == ("yes", 1), ended
        assert any("broker 4 is no longer part of the cluster" in each for each in ended["notes"])
        assert kinds(others) == []
    else:
        # It is not known whether it is only down: then the answer says when the ticket ends.
        assert kinds(ended) == ["not_back"], ended
        assert "the ticket ends a minute after " in ended["reasons"][0]["remedy"]
        assert kinds(others) == ["ticket"]
