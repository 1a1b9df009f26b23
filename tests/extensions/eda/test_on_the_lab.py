# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From a broker's failure, over Prometheus and Alertmanager, to the files that ansible-rulebook writes for a person."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from extensions.eda_parts import Rulebook, alert, free_address, webhook_receiver
from extensions.monitoring import CLUSTER, Monitoring
from lab import scenarios, wait_until

pytestmark = pytest.mark.timeout(900)

QUORUM, RECOVER, CLEANERS = "Check the quorum of the controllers", "Recover offline partitions", "Recover log cleaners"
DEAD_CLEANERS, OFFLINE = "KafkaLogCleanerThreadsDead", "KafkaPartitionsOffline"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    held, free = free_address()
    yield free
    held.release()


@pytest.fixture(scope="module")
def monitoring(address: str) -> Iterator[Monitoring]:
    with Monitoring(webhook_receiver(address)) as started:
        yield started


def add_cluster(rulebook: Rulebook, monitoring: Monitoring) -> None:
    servers = f"bootstrap.servers={monitoring.lab.cluster.bootstrap()}\n"
    (rulebook.clusters / f"{CLUSTER}.properties").write_text(servers, encoding="utf-8")


def wait_received(rulebook: Rulebook, name: str, status: str) -> None:
    """Wait until Alertmanager has sent an alert."""

    def received() -> bool:
        events = rulebook.output().split("[received event]")
        return any(f"'alertname': '{name}'" in each and f"'status': '{status}'" in each for each in events)

    wait_until(received, 180, what=f"{name} arrives, {status}", interval=1.0)


def test_a_killed_leader_and_dead_cleaners_lead_to_a_plan_and_to_no_write(
    monitoring: Monitoring, address: str, tmp_path: Path
) -> None:
    lab, cluster = monitoring.lab, monitoring.lab.cluster
    with Rulebook(tmp_path, address, {"kafka_recovery_strategy": "aggressive"}) as rulebook:
        add_cluster(rulebook, monitoring)
        cluster.proxy.clear()
        lab.kill_threads(2)
        offline = scenarios.diverged(cluster, "lost")
        wait_received(rulebook, DEAD_CLEANERS, "firing")
        wait_until(lambda: rulebook.document("report"), 300, what="the report is written", interval=1.0)
        rulebook.wait_started([QUORUM, RECOVER])

        plan, report, quorum = map(rulebook.document, ("plan", "report", "quorum"))
        assert plan is not None
        assert report is not None
        assert quorum is not None
        planned = {(each["topic"], each["partition"]): each["designatedLeader"] for each in plan["partitions"]}
        assert planned[("lost", 0)] == offline.best
        assert ("lost", 0) in {(each["topic"], each["partition"]) for each in report["partitions"]}
        assert quorum["verdicts"]["elections"]["allowed"]
        # A person decides.
        assert cluster.client.describe("lost", broker=offline.best)[0].leader is None
        cluster.brokers[1].start()
        wait_received(rulebook, OFFLINE, "resolved")
        rulebook.send(alert("KafkaActiveControllerCount", CLUSTER))
        rulebook.wait_started([QUORUM, RECOVER, QUORUM])
        assert [request.name for request in cluster.proxy.write_requests()] == []
        assert (monitoring.value("sum(kafka_recovery:dead_cleaner_threads)") or 0) == 1


def test_dead_cleaners_are_restarted_only_where_that_was_chosen(
    monitoring: Monitoring, address: str, tmp_path: Path
) -> None:
    lab, cluster = monitoring.lab, monitoring.lab.cluster
    chosen = {"kafka_recovery_restart_dead_cleaners": True, "kafka_recovery_metrics_url": lab.prometheus_url}
    wait_until(lambda: OFFLINE not in monitoring.firing(), 120, what="no partition is offline", interval=1.0)
    with Rulebook(tmp_path, address, chosen) as rulebook:
        add_cluster(rulebook, monitoring)
        cluster.proxy.clear()
        lab.kill_threads(1)
        wait_received(rulebook, DEAD_CLEANERS, "firing")
        wait_until(lambda: rulebook.document("cleaners"), 300, what="the report is written", interval=1.0)
        wait_received(rulebook, DEAD_CLEANERS, "resolved")
        assert rulebook.started() == [CLEANERS]
        requests = cluster.proxy.write_requests()
        written = {request.name for request in requests}
    assert "IncrementalAlterConfigs" in written
    assert "ElectLeaders" not in written
    assert not any(request.is_reassignment for request in requests)
    assert monitoring.value("sum(kafka_recovery:dead_cleaner_threads)") == 0
