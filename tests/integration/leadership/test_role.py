# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role and its playbooks."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lab import Cluster
from lab.leadership import Operator, leaders, orders, wait_in_sync
from lab.playbook import PROJECT, PlaybookRun, run_playbook
from lab.waiting import wait_until

_DRAIN, _RESTORE = "kafkaops.recovery.drain_leadership", "kafkaops.recovery.restore_leadership"
_ORIGINAL = {0: (1, 2, 3), 1: (1, 3, 2), 2: (2, 1, 3), 3: (3, 2, 1)}
_SCHEMA = PROJECT / "docs" / "schemas" / "leadership-report.schema.json"


@dataclass
class Shift:
    """Run playbooks, each with its own report file."""

    operator: Operator
    directory: Path
    report: dict[str, Any]

    def run(self, playbook: str, *arguments: str, **variables: object) -> PlaybookRun:
        path = self.directory / f"report-{len(list(self.directory.glob('report-*')))}.json"
        given = {
            "kafka_bootstrap_servers": self.operator.cluster.bootstrap(),
            "kafka_request_timeout_ms": 5000,
            "leadership_drain_elect_preferred": True,
            "leadership_drain_report_file": str(path),
            **variables,
        }
        run = run_playbook(playbook, given, *arguments)
        self.report = json.loads(path.read_text(encoding="utf-8"))
        Draft202012Validator(json.loads(_SCHEMA.read_text(encoding="utf-8"))).validate(self.report)
        return run

    def statuses(self, part: str, topic: str) -> list[str]:
        """Return the statuses of a topic's partitions in a part of the report."""
        return [each["status"] for each in self.report[part] if each["topic"] == topic]


@pytest.fixture
def shift(operator: Operator, tmp_path: Path) -> Shift:
    return Shift(operator, tmp_path, {})


@pytest.mark.wide
def test_drain_and_restore(cluster: Cluster, shift: Shift) -> None:
    cluster.client.create_topic("drained", _ORIGINAL)
    cluster.proxy.clear_once_idle()
    check = shift.run(_DRAIN, "--check", "--diff", "-v", leadership_drain_brokers=[1])
    assert check.returncode == 0, check.output
    assert cluster.proxy.write_requests() == []
    assert "drained-0 would reorder 1,2,3 → 2,3,1 broker 1 is last" in check.words
    assert "drained-0 would move 1 → 2" in check.words
    would_move = Counter(each["target"] for each in shift.report["leaders"] if each["status"] == "would_move")
    shares = ", ".join(f"{count} to broker {broker}" for broker, count in sorted(would_move.items()))
    assert f"Leaderships that would move: {shares}." in check.words
    assert shift.statuses("leaders", "drained") == ["would_move", "would_move"]

    drain = shift.run(_DRAIN, leadership_drain_brokers=[1], leadership_drain_max_moves=2)
    assert drain.returncode == 0, drain.output
    assert leaders(cluster, "drained") == {0: 2, 1: 3, 2: 2, 3: 3}
    assert "Safe to stop broker 1 yes; still leads 0 partitions" in drain.words
    assert 1 not in {leader for topic in ("__transaction_state",) for leader in leaders(cluster, topic).values()}
    assert shift.statuses("orders", "drained") == ["reordered", "reordered", "reordered", "in_order"]
    assert shift.statuses("leaders", "drained") == ["moved", "moved"]

    cluster.proxy.clear_once_idle()
    again = shift.run(_DRAIN, leadership_drain_brokers=[1])
    assert (again.returncode, again.counts["changed"]) == (0, 0), again.output
    assert cluster.proxy.write_requests() == []

    check = shift.run(_RESTORE, "--check", "-v")
    assert check.returncode == 0, check.output
    assert cluster.proxy.write_requests() == []
    assert "drained-0 would move 2 → 1" in check.words
    assert shift.statuses("leaders", "drained") == ["would_move", "would_move"]

    restore = shift.run(_RESTORE)
    assert restore.returncode == 0, restore.output
    assert "preferred_leader_blacklist: 1 → (empty)" in restore.words
    assert orders(cluster, "drained") == _ORIGINAL
    assert leaders(cluster, "drained") == {0: 1, 1: 1, 2: 2, 3: 3}
    assert shift.report["leaders"]


@pytest.mark.wide
def test_leaders_move_back_after_a_restore_that_died_before_its_elections(cluster: Cluster, shift: Shift) -> None:
    cluster.client.create_topic("half-restored", {0: (1, 2, 3)})
    drain = shift.run(_DRAIN, leadership_drain_brokers=[1])
    assert drain.returncode == 0, drain.output
    shift.operator.unlist(1)
    assert (orders(cluster, "half-restored"), leaders(cluster, "half-restored")) == ({0: (1, 2, 3)}, {0: 2})
    restore = shift.run(_RESTORE, leadership_drain_brokers=["1"])
    assert restore.returncode == 0, restore.output
    assert leaders(cluster, "half-restored") == {0: 1}


@pytest.mark.wide
def test_a_broker_is_drained_while_another_one_is_down(cluster: Cluster, shift: Shift) -> None:
    """Broker 4 is the next in order. If 3 is in sync, it leads. Without another one, 1 still leads and is reported."""
    original = {"alone": (1, 4), "around": (1, 4, 3)}
    for topic, order in original.items():
        cluster.client.create_topic(topic, {0: order})
    cluster.brokers[4].kill()
    try:
        wait_until(lambda: not any(_is_in_sync(cluster, topic, 4) for topic in original), what="4 leaves the ISRs")
        drain = shift.run(_DRAIN, leadership_drain_brokers=[1])
        assert drain.returncode == 0, drain.output
        assert shift.statuses("leaders", "alone") == ["only_in_sync"]
        assert shift.statuses("leaders", "around") == ["moved"]
        assert "1 only in sync alone 0" in drain.words
        led = [each.leader for topic in original for each in cluster.client.describe(topic).values()].count(1)
        assert led == 1
        answer = drain.words.partition("Safe to stop ")[2].partition(" preferred_leader_blacklist")[0]
        assert answer.startswith("broker 1 no; still leads 1 partition ")
        assert "no leader: 1 partition would have no leader: alone 0 do: " in answer
        assert "ask again: ansible-playbook kafkaops.recovery.check_stop " in answer
        assert (leaders(cluster, "alone"), leaders(cluster, "around")) == ({0: 1}, {0: 3})
        assert orders(cluster, "around") == {0: (4, 3, 1)}
    finally:
        cluster.brokers[4].start()
    for topic in original:
        wait_in_sync(cluster, topic)
    assert shift.run(_DRAIN, leadership_drain_brokers=[1]).returncode == 0
    assert leaders(cluster, "alone") == {0: 4}
    shift.operator.restore()
    assert {topic: orders(cluster, topic)[0] for topic in original} == original


def _is_in_sync(cluster: Cluster, topic: str, broker: int) -> bool:
    return broker in cluster.client.describe(topic)[0].isr
