# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Of two pipelines that ask at once, one is killed before each of its writes: never two tickets, and never a dead end.

The topic with the tickets is read by confluent-kafka.
"""

from __future__ import annotations

from typing import Any

import pytest

from integration.groups.killed import KilledBefore
from integration.stop_gate.tickets import tickets_in
from lab import Cluster, settings
from lab.module_process import results, run_module, start_module

pytestmark = [pytest.mark.wide, pytest.mark.timeout(1800)]


def test_a_pipeline_that_is_killed_lets_nobody_in_beside_its_ticket(cluster: Cluster) -> None:
    cluster.client.create_topic("orders", {0: [1, 3, 5], 1: [2, 4, 5]}, {"min.insync.replicas": 1})
    # The other one does not come through the proxy, so that only this one is killed.
    one = {"bootstrap_servers": cluster.bootstrap(), "brokers": [1, 2], "owner": "one", "minutes": 5}
    two = {
        "bootstrap_servers": cluster.bootstrap(settings.INTERNAL),
        "brokers": [3, 4],
        "owner": "two",
        "minutes": 5,
    }
    deaths: list[tuple[str, int]] = []
    left = []
    while True:
        process = start_module("stop_gate", one | {"take": True})
        fault = KilledBefore(process, deaths)
        with cluster.proxy.inject(fault):
            other = start_module("stop_gate", two | {"take": True})
            answer = results(other)
            process.wait(timeout=240)
        told = [] if fault.is_killed else [results(process)]
        tickets = {*tickets_in(cluster)}
        assert len(tickets) <= 1, (deaths, tickets, answer)
        granted = {name for name, each in (("one", told), ("two", [answer])) if each and each[0]["verdict"] == "yes"}
        assert granted <= tickets, (deaths, tickets, answer, told)
        left.append(tickets)
        # Whoever is alive can go on: it gets a ticket, or is told whose ticket it waits for.
        again = run_module("stop_gate", two | {"take": True})
        assert outcome(again) == ("ticket" if tickets == {"one"} else "yes"), (deaths, again)
        for each in (one, two):
            ended = run_module("stop_gate", each | {"release": True})
            assert ended["verdict"] == "yes", ended
        assert tickets_in(cluster) == {}
        if fault.is_killed:
            process.communicate()
        elif told[0]["verdict"] == "yes":
            break  # otherwise the other one was faster, so that this one wrote nothing before which it could die
    assert {"one"} in left, "one died between its ticket and its answer"
    assert {name for name, _before in deaths} >= {"CreateTopics", "Produce", "DeleteTopics"}, deaths


def outcome(result: dict[str, Any]) -> str:
    """Return the verdict, or the only kind of reason against it."""
    if result["verdict"] == "yes":
        return "yes"
    (kind,) = {each["kind"] for each in result["reasons"]}
    return str(kind)
