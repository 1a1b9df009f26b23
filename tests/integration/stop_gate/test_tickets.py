# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tickets of the stop gate on real brokers. The topic with the tickets is read by confluent-kafka."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal_reader import JournalOptions
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import settings_from
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.stop_prediction import StopReasonKind
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.gate import Answer, Gate
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.question import Question
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.taking import (
    TicketTerms,
    release_tickets,
    take_ticket,
)
from integration.stop_gate.tickets import TOPIC, tickets_in
from lab import Cluster, wait_until
from lab.module_process import run_module
from lab.playbook import run_playbook


def terms(owner: str) -> TicketTerms:
    return TicketTerms(owner=owner, minutes=5, wait_s=60.0, journal=JournalOptions(), check_mode=False)


def take(cluster: Cluster, owner: str, *brokers: int, at_once: threading.Barrier | None = None) -> Gate:
    settings = settings_from({"bootstrap_servers": cluster.bootstrap()})
    with Wire(settings) as wire:
        if at_once is not None:
            at_once.wait()
        return take_ticket(Kafka(wire), Question((brokers,)), terms(owner))


def release(cluster: Cluster, owner: str, *brokers: int) -> Gate:
    with Wire(settings_from({"bootstrap_servers": cluster.bootstrap()})) as wire:
        return release_tickets(Kafka(wire), Question((brokers,)), terms(owner))


@pytest.mark.timeout(900)
@pytest.mark.parametrize("rounds", [1, pytest.param(50, marks=pytest.mark.wide)])
def test_of_two_pipelines_at_once_never_both_get_a_ticket(cluster: Cluster, rounds: int) -> None:
    cluster.client.create_topic("orders", {0: [1, 3, 5], 1: [2, 4, 5]}, {"min.insync.replicas": 1})
    wanted = {"one": (1, 2), "two": (3, 4)}
    winners = []
    for number in range(rounds):
        at_once = threading.Barrier(2)
        with ThreadPoolExecutor(2) as pool:
            answers = {
                name: pool.submit(take, cluster, name, *brokers, at_once=at_once) for name, brokers in wanted.items()
            }
            gates = {name: each.result() for name, each in answers.items()}
        got = [name for name, gate in gates.items() if gate.verdict is Answer.YES]
        assert [*tickets_in(cluster)] == got, (number, gates)
        assert len(got) <= 1, (number, gates)
        for name in got:
            loser = gates["two" if name == "one" else "one"]
            assert {each.kind for each in loser.reasons} <= {StopReasonKind.TICKET, StopReasonKind.ANOTHER_RUN}, (
                number,
                gates,
            )
            assert release(cluster, name, *wanted[name]).verdict is Answer.YES
        winners += got
    assert winners, gates


@pytest.mark.wide
def test_a_ticket_stands_until_its_brokers_are_back(cluster: Cluster) -> None:
    cluster.client.create_topic("orders", {0: [1, 3, 5], 1: [2, 4, 5]}, {"min.insync.replicas": 2})
    connection = {"bootstrap_servers": cluster.bootstrap(), "request_timeout_ms": 2000}
    mine = connection | {"brokers": [3, 4], "owner": "upgrade 7"}

    foreseen = run_module("stop_gate", mine | {"take": True}, check_mode=True)
    assert (foreseen["verdict"], foreseen["changed"], len(foreseen["taken"])) == ("yes", True, 1)
    assert cluster.proxy.write_requests() == []
    assert not cluster.client.describe(TOPIC)

    taken = run_module("stop_gate", mine | {"take": True})
    assert taken["verdict"] == "yes", taken
    assert tickets_in(cluster)["upgrade 7"]["brokers"] == [3, 4]
    refused = run_module("stop_gate", connection | {"brokers": [5], "take": True})
    assert refused["verdict"] == "no"
    (why,) = refused["reasons"]
    assert why["text"].startswith("brokers 3, 4 of rack b are being stopped by upgrade 7, since ")
    assert run_module("stop_gate", mine | {"take": True})["verdict"] == "yes"
    assert [*tickets_in(cluster)] == ["upgrade 7"]

    cluster.brokers[4].stop()
    early = run_module("stop_gate", mine | {"release": True, "release_timeout_ms": 0})
    assert early["verdict"] == "no"
    assert {each["kind"] for each in early["reasons"]} == {"not_back"}
    assert run_module("stop_gate", mine | {"release": True, "owner": "me"})["reasons"][0]["kind"] == "ticket"
    drained = run_module("preferred_leader_blacklist", connection | {"brokers": [5], "state": "present"})
    assert any("brokers 3, 4 of rack b are being stopped by upgrade 7" in str(each) for each in drained["warnings"]), (
        drained
    )
    cluster.brokers[4].start()
    done = run_module("stop_gate", mine | {"release": True})
    assert (done["verdict"], done["changed"]) == ("yes", True), done
    assert tickets_in(cluster) == {}
    assert 4 in cluster.client.describe("orders")[1].isr


@pytest.mark.wide
def test_the_playbook_takes_and_releases(cluster: Cluster, tmp_path: Path) -> None:
    cluster.client.create_topic("orders", {0: [1, 3, 5], 1: [2, 4, 5]}, {"min.insync.replicas": 2})
    check = "kafkaops.recovery.check_stop"
    typed = {"kafka_bootstrap_servers": cluster.bootstrap()}
    mine = typed | {"stop_gate_racks": "b", "stop_gate_owner": "upgrade 7", "stop_gate_report_file": f"{tmp_path}/r"}
    taken = run_playbook(check, mine | {"stop_gate_take": "true", "stop_gate_minutes": "5"})
    assert taken.returncode == 0, taken.output
    assert "YES: brokers 3, 4 may stop now. Ticket: upgrade 7, since" in taken.words
    assert json.loads((tmp_path / "r").read_text("utf-8"))["taken"][0]["owner"] == "upgrade 7"
    refused = run_playbook(check, typed | {"stop_gate_brokers": "1", "stop_gate_take": "yes"})
    assert refused.returncode == 2, refused.output
    assert "brokers 3, 4 of rack b are being stopped by upgrade 7" in refused.words
    released = run_playbook(check, typed | {"stop_gate_racks": "b", "stop_gate_owner": "upgrade 7"}, *_and_release())
    assert released.returncode == 0, released.output
    assert "the ticket is released" in released.words
    wait_until(lambda: tickets_in(cluster) == {}, 60, what="no ticket is left")


def _and_release() -> tuple[str, str]:
    return "-e", "stop_gate_release=true"
