# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which events start a playbook of the rulebook. No broker is needed: each playbook fails to connect."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from extensions.eda_parts import TOKEN, Rulebook, alert, free_address
from lab import wait_until

pytestmark = pytest.mark.timeout(600)

QUORUM, RECOVER = "Check the quorum of the controllers", "Recover offline partitions"


@pytest.fixture
def address() -> Iterator[str]:
    held, free = free_address()
    yield free
    held.release()


def add_cluster(rulebook: Rulebook, name: str) -> None:
    """Add a cluster whose addresses refuse connections."""
    (rulebook.clusters / f"{name}.properties").write_text("bootstrap.servers=127.0.0.1:1\n", encoding="utf-8")


def test_only_an_alert_that_is_new_and_fires_starts_something(tmp_path: Path, address: str) -> None:
    with Rulebook(tmp_path, address) as rulebook:
        add_cluster(rulebook, "orders")
        add_cluster(rulebook, "last")
        offline = alert("KafkaPartitionsOffline", "orders")
        assert rulebook.send(offline, token="wrong") == 401
        for nothing in (
            alert("KafkaPartitionsOffline", "orders", status="resolved"),
            alert("KafkaDiskFullSoon", "orders"),
            # The example variables do not enable this.
            alert("KafkaLogCleanerThreadsDead", "orders"),
            # Paths and templates in labels that become parts of a path.
            alert("KafkaPartitionsOffline", "../clusters/orders"),
            alert("KafkaPartitionsOffline", "orders\n"),
            alert("KafkaPartitionsOffline", "{{ 1 }}"),
            alert("KafkaPartitionsOffline", "orders", meta={"received_at": "../0"}),
            {"status": "firing", "labels": {"alertname": "KafkaPartitionsOffline"}},
        ):
            assert rulebook.send(nothing) == 200
        # Twice in one group, again alone, and an alert with the same action.
        rulebook.send(offline, offline)
        rulebook.send(offline)
        rulebook.send(alert("KafkaPartitionsUnderMinIsr", "orders"))
        rulebook.send(alert("KafkaActiveControllerCount", "last"))
        # Events are handled in order: all playbooks of earlier events have started.
        rulebook.wait_started([QUORUM, RECOVER, QUORUM])
        output = rulebook.output()
    assert output.count("no broker answered DescribeQuorum") >= 2
    assert [*rulebook.reports.iterdir()] == []
    secret = [path for path in tmp_path.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
    assert secret == []


def test_an_election_that_fails_leaves_a_look_at_the_quorum_and_a_plan(tmp_path: Path, address: str) -> None:
    with Rulebook(tmp_path, address, {"kafka_recovery_elect_proven": True}) as rulebook:
        for name in ("orders", "last"):
            add_cluster(rulebook, name)
        offline = alert("KafkaPartitionsOffline", "orders")
        rulebook.send(offline, offline)
        rulebook.send(alert("KafkaLogDirectoryOffline", "orders"))
        rulebook.send(alert("KafkaActiveControllerCount", "last"))
        # The last event comes after all that the others start.
        rulebook.wait_started([RECOVER, QUORUM, RECOVER, QUORUM])


def test_each_cluster_and_each_window_has_a_turn(tmp_path: Path, address: str) -> None:
    with Rulebook(tmp_path, address, window="30 seconds") as rulebook:
        for name in ("orders", "payments"):
            add_cluster(rulebook, name)
        rulebook.send(*(alert("KafkaActiveControllerCount", name) for name in ("orders", "payments", "orders")))
        rulebook.wait_started([QUORUM] * 2)

        def again() -> bool:
            rulebook.send(alert("KafkaActiveControllerCount", "orders"))
            return len(rulebook.started()) > 2

        wait_until(again, 120, what="the alert starts a play in the next window", interval=5.0)
        assert rulebook.started() == [QUORUM] * 3


# ansible-rulebook reads digits as a number, which never equals a header.
@pytest.mark.parametrize("token", ["", "12345"])
def test_a_token_of_no_use_lets_nobody_in(tmp_path: Path, address: str, token: str) -> None:
    with Rulebook(tmp_path, address, token=token) as rulebook:
        assert rulebook.send(alert("KafkaPartitionsOffline", "orders"), token=token) == 401
