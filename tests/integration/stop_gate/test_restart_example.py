# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""docs/examples/restart_brokers.yml restarts three real brokers, and ends at the first one that does not come back."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from lab import wait_until
from lab.cluster import Cluster
from lab.node import Broker
from lab.playbook import PROJECT, PlaybookRun, run_playbook

pytestmark = [pytest.mark.timeout(1200), pytest.mark.wide]

_EXAMPLE = str(PROJECT / "docs" / "examples" / "restart_brokers.yml")
_CHECK_STOP = "kafkaops.recovery.check_stop"
_BROKERS = (1, 2, 3)
_STOP = 'pid=$(cat {pid}); kill $pid; while grep -qs "^State:.[^Z]" /proc/$pid/status; do sleep 0.2; done'


class Hosts:
    """The hosts of the brokers, in an inventory. Each has a command that restarts its broker as a service does."""

    def __init__(self, cluster: Cluster, place: Path) -> None:
        self.cluster = cluster
        self._place = place
        self.started = {broker_id: self.pid(broker_id) for broker_id in _BROKERS}

    def pid(self, broker_id: int) -> int:
        file = self._pid_file(broker_id)
        if not file.exists():
            file.write_text(str(self.cluster.brokers[broker_id].pid), encoding="utf-8")
        return int(file.read_text("utf-8"))

    def restarted(self) -> list[int]:
        return [broker_id for broker_id, before in self.started.items() if self.pid(broker_id) != before]

    def run(self, *arguments: str, broken: int | None = None, **variables: object) -> PlaybookRun:
        hosts = {
            f"host{each.node_id}": {
                "ansible_connection": "local",
                "ansible_python_interpreter": sys.executable,
                "broker_id": each.node_id,
                "restart_command": self._stop(each) if each.node_id == broken else self._restart(each),
            }
            for each in self.cluster.brokers.values()
        }
        inventory = self._place / "inventory.json"
        inventory.write_text(json.dumps({"kafka_brokers": {"hosts": hosts}}), encoding="utf-8")
        given = {"kafka_bootstrap_servers": self.cluster.bootstrap(), "restart_owner": "upgrade-4711", **variables}
        return run_playbook(_EXAMPLE, given, "-i", str(inventory), *arguments, timeout=600)

    def _pid_file(self, broker_id: int) -> Path:
        return self._place / f"{broker_id}.pid"

    def _stop(self, broker: Broker) -> str:
        return _STOP.format(pid=self._pid_file(broker.node_id))

    def _restart(self, broker: Broker) -> str:
        java = shlex.join(map(str, self.cluster.java_command(broker.jvm_args, broker.write_properties())))
        pid = self._pid_file(broker.node_id)
        return f"{self._stop(broker)}; setsid {java} >> {broker.log_path} 2>&1 < /dev/null & echo $! > {pid}"

    def kill(self) -> None:
        for each in _BROKERS:
            with suppress(ProcessLookupError):
                os.kill(self.pid(each), signal.SIGKILL)


@pytest.fixture
def hosts(kafka_version: str, tmp_path: Path) -> Iterator[Hosts]:
    with Cluster(kafka_version, brokers=_BROKERS, properties={"min.insync.replicas": 2}) as cluster:
        cluster.client.create_topic(
            "orders", {each: [each + 1, (each + 1) % 3 + 1, (each + 2) % 3 + 1] for each in range(3)}
        )
        cluster.client.produce("orders", range(3), 10)
        hosts = Hosts(cluster, tmp_path)
        yield hosts
        hosts.kill()


def test_all_brokers_are_restarted_one_after_the_other(hosts: Hosts) -> None:
    checked = hosts.run("--check")
    assert checked.returncode == 0, checked.output
    assert hosts.restarted() == []

    run = hosts.run()
    assert run.returncode == 0, run.output
    assert hosts.restarted() == [*_BROKERS]
    states = hosts.cluster.client.describe("orders", broker=1)
    assert {each: state.leader for each, state in states.items()} == {0: 1, 1: 2, 2: 3}
    assert all(len(state.isr) == len(_BROKERS) for state in states.values())
    assert hosts.cluster.client.consume_all("orders", 0) == [f"record-{each}" for each in range(10)]


def test_the_play_ends_at_the_first_broker_that_does_not_come_back(hosts: Hosts) -> None:
    run = hosts.run(broken=2, restart_wait_ms=15000)
    assert run.returncode != 0, run.output
    assert "Brokers 2 did not come back" in run.words, run.output
    assert hosts.restarted() == [1]
    assert hosts.cluster.client.describe("orders", broker=1)[2].leader == 3, "broker 3 was not touched"
    # The ticket stays, so nobody else stops a broker.
    other = run_playbook(_CHECK_STOP, {"kafka_bootstrap_servers": hosts.cluster.bootstrap(), "stop_gate_brokers": [3]})
    assert other.returncode == 2, other.output
    assert "upgrade-4711" in other.words

    # After the repair, the same owner goes on with the brokers that are left.
    broker = hosts.cluster.brokers[2]
    broker.start()
    wait_until(
        lambda: len(hosts.cluster.client.describe("orders", broker=1)[1].isr) == len(_BROKERS), 60, what="an ISR"
    )
    (hosts._pid_file(2)).write_text(str(broker.pid), encoding="utf-8")
    hosts.started[2] = hosts.pid(2)
    again = hosts.run("--limit", "host2,host3")
    assert again.returncode == 0, again.output
    assert hosts.restarted() == [*_BROKERS]
    assert {each.leader for each in hosts.cluster.client.describe("orders", broker=1).values()} == {*_BROKERS}
