# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The shipped exporter rules, alert rules and dashboard on real brokers and a real Prometheus."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from extensions.monitoring import CLUSTER, EXTENSIONS, WITHOUT_RULES, Monitoring
from lab import wait_until

pytestmark = pytest.mark.timeout(600)

RULES = yaml.safe_load((EXTENSIONS / "prometheus" / "kafka_recovery.rules.yml").read_text(encoding="utf-8"))
DASHBOARD = json.loads((EXTENSIONS / "prometheus" / "kafka_recovery.dashboard.json").read_text(encoding="utf-8"))
RECORDED = [rule["record"] for group in RULES["groups"] for rule in group["rules"] if "record" in rule]


@pytest.fixture(scope="module")
def monitoring() -> Iterator[Monitoring]:
    with Monitoring() as started:
        wait_until(lambda: all(map(started.query, RECORDED)), 60, what="every recording rule has a series")
        yield started


@pytest.mark.parametrize("metric", RECORDED)
def test_every_recording_rule_has_a_series(monitoring: Monitoring, metric: str) -> None:
    assert {each["metric"]["cluster"] for each in monitoring.query(metric)} == {CLUSTER}


@pytest.mark.parametrize("metric", [each for each in RECORDED if "cleaner" in each or "uncleanable" in each])
def test_both_configurations_of_the_exporter_are_read(monitoring: Monitoring, metric: str) -> None:
    exporters = {monitoring.lab.exporter_address(broker) for broker in (1, 2, WITHOUT_RULES)}

    def seen() -> bool:
        return {each["metric"]["instance"] for each in monitoring.query(metric)} >= exporters

    # A scrape of a broker without rules takes seconds on a busy machine, and may time out.
    wait_until(seen, 60, what=f"{metric} is there for every broker", interval=1.0)


def test_the_dashboard_shows_something_in_every_panel(monitoring: Monitoring) -> None:
    targets = [(panel["title"], target["expr"]) for panel in DASHBOARD["panels"] for target in panel.get("targets", [])]
    assert len(targets) >= len(DASHBOARD["panels"]) - 2

    def empty() -> list[str]:
        return [title for title, expression in targets if not monitoring.query(_filled_in(expression))]

    # A rate takes two samples.
    wait_until(lambda: not empty(), 60, what="every panel shows something", interval=1.0)


def test_the_variable_of_the_dashboard_lists_the_cluster(monitoring: Monitoring) -> None:
    (variable,) = [each for each in DASHBOARD["templating"]["list"] if each["type"] == "query"]
    metric, label = variable["query"]["query"].removeprefix("label_values(").removesuffix(")").split(", ")
    assert {each["metric"][label] for each in monitoring.query(metric)} == {CLUSTER}


def test_what_happens_fires_and_what_is_over_does_not(monitoring: Monitoring) -> None:
    lab, cluster = monitoring.lab, monitoring.lab.cluster
    assert monitoring.firing() == set()
    cluster.client.create_topic("lost", {0: [1], 1: [1]})
    lab.kill_threads(2)
    monitoring.wait_firing("KafkaLogCleanerThreadsDead")
    cluster.brokers[1].kill()
    monitoring.wait_firing("KafkaPartitionsOffline")
    # Partitions of internal topics may be there, too.
    assert (monitoring.value("kafka_recovery:offline_partitions") or 0) >= 2
    assert _labels(monitoring, "KafkaLogCleanerThreadsDead") >= {(CLUSTER, lab.exporter_address(2))}
    cluster.brokers[1].start()
    cluster.brokers[2].restart()
    wait_until(lambda: not monitoring.firing(), 120, what="no alert fires any more", interval=1.0)


def _labels(monitoring: Monitoring, alert: str) -> set[tuple[str, str]]:
    series: list[dict[str, Any]] = monitoring.query(f'ALERTS{{alertname="{alert}", alertstate="firing"}}')
    return {(each["metric"]["cluster"], each["metric"]["instance"]) for each in series}


def _filled_in(expression: str) -> str:
    return expression.replace("$cluster", CLUSTER).replace("$__rate_interval", "30s")
