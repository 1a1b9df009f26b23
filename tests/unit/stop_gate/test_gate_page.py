# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The printed answer of the stop gate, and when the task fails."""

from __future__ import annotations

from typing import Any

from ansible_collections.kafkaops.recovery.plugins.plugin_utils import stop_gate_page
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.rendering import rendered

STOP = {
    "brokers": [4, 5],
    "verdict": "no",
    "partitions": 40,
    "leaders_that_move": 12,
    "margin": -1,
    "controllers": [],
    "controllers_to_spare": 1,
    "part_that_may_stop": [4],
    "changes": ["stop only broker 4 now"],
}
REASON = {
    "kind": "below_min_isr",
    "brokers": [4, 5],
    "text": "1 partition would be below min.insync.replicas: orders 0",
    "remedy": "Wait",
    "partitions": [{"topic": "orders", "partition": 0}],
}
NO: dict[str, Any] = {
    "cluster_id": "c",
    "asked": "may_stop",
    "verdict": "no",
    "stops": [STOP],
    "reasons": [REASON],
    "notes": ["broker 6 is fenced"],
    "waves": [{"rack": "a", "brokers": [1, 2]}, {"rack": None, "brokers": [3]}],
    "in_no_wave": [6],
    "racks": [{"broker_id": 4, "rack": "b"}],
    "tickets": [],
    "taken": [],
    "released": [],
}
TICKET = {
    "ticket_id": "t",
    "brokers": [4, 5],
    "racks": ["b"],
    "owner": "upgrade 7",
    "job": "12",
    "since": "2026-01-31T10:00:00Z",
    "until": "2026-01-31T11:00:00Z",
}


def test_a_no_has_its_reasons_and_what_would_make_it_a_yes() -> None:
    text = rendered(stop_gate_page.blocks(NO), 100, color=False)
    assert text.splitlines()[0] == "NO: brokers 4, 5 must not stop now: 1 reason."
    for each in (
        REASON["text"],
        "do: Wait",
        "stop only broker 4",
        "broker 6 is fenced",
        "1. brokers 1, 2, rack a",
        "broker 3, without a rack",
        "broker 6 may not stop, not even alone",
    ):
        assert str(each) in " ".join(text.split())
    assert str(REASON["text"]) in stop_gate_page.failure(NO)


def test_a_yes_does_not_fail() -> None:
    yes = NO | {"verdict": "yes", "reasons": [], "stops": [STOP | {"verdict": "yes", "changes": []}]}
    assert stop_gate_page.failure(yes) == ""
    assert rendered(stop_gate_page.blocks(yes), 100, color=False).startswith("YES: brokers 4, 5 may stop now.")


def test_a_ticket_is_named_when_it_is_taken_and_released_and_when_it_is_another_s() -> None:
    stops = [STOP | {"verdict": "yes", "changes": []}]
    taken = NO | {"asked": "take", "verdict": "yes", "reasons": [], "stops": stops, "tickets": [TICKET]}
    words = "upgrade 7, AWX job 12, since 2026-01-31T10:00:00Z, until 2026-01-31T11:00:00Z"
    assert stop_gate_page.verdict(taken | {"taken": [TICKET]}) == f"YES: brokers 4, 5 may stop now. Ticket: {words}."
    assert f"4,5 {words}" in " ".join(rendered(stop_gate_page.blocks(taken), 200, color=False).split())
    released = NO | {"asked": "release", "verdict": "yes", "reasons": [], "stops": [], "released": [TICKET]}
    assert "the ticket is released" in stop_gate_page.verdict(released)
    assert stop_gate_page.verdict(released | {"released": []}) == "YES: no ticket names these brokers."
    assert "not released: 1 reason" in stop_gate_page.verdict(released | {"verdict": "no", "reasons": [REASON]})


def test_one_broker_is_back_and_two_are() -> None:
    for ids, said in (([4], "broker 4 is back"), ([4, 5], "brokers 4, 5 are back")):
        done = {**NO, "asked": "release", "verdict": "yes", "released": [{**TICKET, "brokers": ids}]}
        assert stop_gate_page.verdict(done).startswith(f"YES: {said} in every ISR")
