# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A monitored lab cluster: JMX exporters, and Debian's Prometheus, node exporter and Alertmanager."""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from lab import jars, process, versions, wait_until
from lab.cleaner import CleanerCluster
from lab.ports import HeldPorts
from lab.work_dir import WorkDir, default_base

EXTENSIONS = Path(__file__).resolve().parents[2] / "extensions"
PROGRAMS = {
    "prometheus": "prometheus",
    "promtool": "prometheus",
    "prometheus-node-exporter": "prometheus-node-exporter",
    "prometheus-alertmanager": "prometheus-alertmanager",
}
"""The required programs, by Debian package."""

CLUSTER = "lab"
WITHOUT_RULES = 3
"""The broker whose exporter has no rules: the other usual configuration."""

_CONTROLLER = 101


class PrerequisiteError(RuntimeError):
    """Programs are missing; the message says how to install them."""


def check_prerequisites() -> None:
    """Raise PrerequisiteError unless every program is there."""
    missing = sorted({package for program, package in PROGRAMS.items() if shutil.which(program) is None})
    if missing:
        raise PrerequisiteError(
            f"This needs programs of Debian: apt-get install --no-install-recommends {' '.join(missing)}"
        )


class Monitoring:
    """Three brokers and a controller, all monitored; a context manager.

    Brokers 1 and 2 and the controller have the shipped rules of the exporter, and broker 3 has none.

    Args:
        alert_receiver: a receiver of Alertmanager's configuration. Alertmanager runs only when it is given.
        delay: how long an alert's expression must hold, instead of what the rules say; promtool's cases prove those.
    """

    def __init__(self, alert_receiver: Mapping[str, Any] | None = None, delay: str = "5s") -> None:
        check_prerequisites()
        self._receiver = alert_receiver
        self._delay = delay
        self._directory = WorkDir(default_base())
        self._ports = HeldPorts()
        self.prometheus, self.node_exporter, self.alertmanager, self._controller = (
            f"127.0.0.1:{self._ports.take()}" for _each in range(4)
        )
        no_rules = self.path / "no-rules.yml"
        no_rules.write_text("{}\n", encoding="utf-8")
        shipped = EXTENSIONS / "prometheus" / "jmx_exporter.yml"
        agent = jars.artifact(versions.JMX_EXPORTER)
        self.lab = CleanerCluster(
            versions.DEFAULT,
            exporters={1: shipped, 2: shipped, WITHOUT_RULES: no_rules},
            jvm_args={_CONTROLLER: [f"-javaagent:{agent}={self._controller}:{shipped}"]},
        )
        self._running: list[subprocess.Popen[bytes]] = []

    @property
    def path(self) -> Path:
        """Return the directory of configurations, data and logs."""
        return self._directory.path

    def __enter__(self) -> Monitoring:
        try:
            self.lab.__enter__()
            self._start_alertmanager()
            self._start_prometheus()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_failure: object) -> None:
        for running in self._running:
            process.kill(running)
        self.lab.__exit__()
        self._ports.release()
        self._directory.remove()

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return the series that an expression has now."""
        answer = self._get("query", query=expression)
        result: list[dict[str, Any]] = answer["data"]["result"]
        return result

    def value(self, expression: str) -> float | None:
        """Return the value of an expression's one series, or None while it has none."""
        series = self.query(expression)
        return float(series[0]["value"][1]) if series else None

    def firing(self) -> set[str]:
        """Return the names of the alerts that fire."""
        return {each["metric"]["alertname"] for each in self.query('ALERTS{alertstate="firing"}')}

    def wait_firing(self, alert: str, timeout: float = 120.0) -> None:
        """Wait until an alert fires."""
        wait_until(lambda: alert in self.firing(), timeout, what=f"{alert} fires", interval=1.0)

    def run(self, name: str, *command: str, env: Mapping[str, str] | None = None) -> Path:
        """Start a program that ends with this cluster, and return its log."""
        log = self.path / f"{name}.log"
        self._running.append(process.spawn(command, log, env))
        return log

    def _get(self, path: str, **parameters: str) -> dict[str, Any]:
        url = f"http://{self.prometheus}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            decoded: dict[str, Any] = json.load(answer)
        return decoded

    def _start_alertmanager(self) -> None:
        if self._receiver is None:
            return
        config = {
            "route": {
                "receiver": self._receiver["name"],
                "group_by": ["alertname", "cluster"],
                "group_wait": "1s",
                "group_interval": "5s",
                "repeat_interval": "1h",
            },
            "receivers": [dict(self._receiver)],
        }
        self.run(
            "alertmanager",
            "prometheus-alertmanager",
            f"--config.file={self._written('alertmanager.yml', config)}",
            f"--storage.path={self.path / 'alertmanager'}",
            f"--web.listen-address={self.alertmanager}",
            "--cluster.listen-address=",
        )

    def _start_prometheus(self) -> None:
        self.run(
            "node-exporter",
            "prometheus-node-exporter",
            f"--web.listen-address={self.node_exporter}",
            "--collector.disable-defaults",
            "--collector.filesystem",
            # The lab's disks are in memory.
            "--collector.filesystem.mount-points-exclude=^/(proc|sys)($|/)",
            "--collector.filesystem.fs-types-exclude=^(proc|sysfs)$",
        )
        self.run(
            "prometheus",
            "prometheus",
            f"--config.file={self._written('prometheus.yml', self._prometheus_config())}",
            f"--storage.tsdb.path={self.path / 'prometheus'}",
            f"--web.listen-address={self.prometheus}",
        )
        wait_until(self._everything_is_up, 120, what="Prometheus scrapes every target", interval=0.5)

    def _everything_is_up(self) -> bool:
        try:
            return self.value("count(up == 1)") == len(self.lab.cluster.nodes) + 1
        except OSError:
            return False

    def _prometheus_config(self) -> dict[str, Any]:
        """Return the shipped example with the lab's addresses and shorter intervals."""
        shipped = EXTENSIONS / "prometheus"
        config: dict[str, Any] = yaml.safe_load((shipped / "scrape.example.yml").read_text(encoding="utf-8"))
        kafka, disks = config["scrape_configs"]
        exporters = [self.lab.exporter_address(broker) for broker in self.lab.cluster.brokers]
        kafka["static_configs"] = [{"targets": [*exporters, self._controller], "labels": {"cluster": CLUSTER}}]
        disks["static_configs"] = [{"targets": [self.node_exporter], "labels": {"cluster": CLUSTER}}]
        disks["metric_relabel_configs"][0]["regex"] = str(default_base())
        rules = yaml.safe_load((shipped / "kafka_recovery.rules.yml").read_text(encoding="utf-8"))
        for rule in (rule for group in rules["groups"] for rule in group["rules"]):
            if "alert" in rule:
                rule["for"] = self._delay
        return config | {
            # An exporter without rules has thousands of series to write.
            "global": {"scrape_interval": "5s", "scrape_timeout": "5s", "evaluation_interval": "2s"},
            "rule_files": [str(self._written("rules.yml", rules))],
            "alerting": {"alertmanagers": [{"static_configs": [{"targets": [self.alertmanager]}]}]},
        }

    def _written(self, name: str, content: Mapping[str, Any]) -> Path:
        path = self.path / name
        path.write_text(yaml.safe_dump(dict(content)), encoding="utf-8")
        return path
