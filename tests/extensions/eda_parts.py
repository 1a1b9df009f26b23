# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The real ansible-rulebook in its own virtual environment, with the shipped rulebook."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from lab import process, wait_until
from lab.playbook import PROJECT, signal_tree
from lab.ports import HeldPorts

EDA = PROJECT / "extensions" / "eda"
RULEBOOK = "kafkaops.recovery.kafka_recovery"
WINDOW = "30 minutes"
"""The time in which the shipped rules start once for a cluster."""

TOKEN = "canary-of-the-webhook"
_PINS = PROJECT / "requirements" / "eda.txt"


def ansible_rulebook() -> Path:
    """Return the program, installed again whenever its pins change."""
    digest = hashlib.sha256(_PINS.read_bytes()).hexdigest()[:8]
    venv = PROJECT / ".cache" / f"eda-{digest}"
    if not (venv / ".complete").is_file():
        shutil.rmtree(venv, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        pip = [venv / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--requirement", _PINS], check=True)
        (venv / ".complete").touch()
    return venv / "bin" / "ansible-rulebook"


def webhook_receiver(address: str) -> dict[str, Any]:
    """Return the receiver of the shipped example for Alertmanager, with this webhook; resolved alerts are sent, too."""
    config = yaml.safe_load((EDA / "alertmanager.example.yml").read_text(encoding="utf-8"))
    (receiver,) = config["receivers"]
    (webhook,) = receiver["webhook_configs"]
    webhook["url"] = f"http://{address}/alerts"
    webhook["send_resolved"] = True
    webhook["http_config"]["authorization"] = {"credentials": TOKEN}
    return dict(receiver)


class Rulebook:
    """ansible-rulebook with the shipped rulebook, inventory and example of variables; a context manager.

    Args:
        directory: for variables, clusters, reports and the log.
        address: where its webhook listens.
        variables: instead of the example's.
        window: instead of the shipped one; then the rulebook is a copy.
        token: the token of the webhook, which it gets in its environment.
    """

    def __init__(
        self,
        directory: Path,
        address: str,
        variables: Mapping[str, object] | None = None,
        window: str = WINDOW,
        token: str = TOKEN,
    ) -> None:
        self.address = address
        self._token = token
        self.log = directory / "ansible-rulebook.log"
        self.clusters = directory / "clusters"
        self.reports = directory / "reports"
        self._vars_file = directory / "vars.yml"
        for each in (self.clusters, self.reports):
            each.mkdir(parents=True)
        host, _colon, port = address.partition(":")
        content = yaml.safe_load((EDA / "vars.example.yml").read_text(encoding="utf-8")) | {
            "kafka_recovery_webhook_host": host,
            "kafka_recovery_webhook_port": int(port),
            "kafka_recovery_clusters_dir": str(self.clusters),
            "kafka_recovery_reports_dir": str(self.reports),
            **(variables or {}),
        }
        self._vars_file.write_text(yaml.safe_dump(content), encoding="utf-8")
        self._rulebook = RULEBOOK
        if window != WINDOW:
            copy = directory / "copy.yml"
            shipped = (EDA / "rulebooks" / "kafka_recovery.yml").read_text(encoding="utf-8")
            copy.write_text(shipped.replace(f"once_within: {WINDOW}", f"once_within: {window}"), encoding="utf-8")
            self._rulebook = str(copy)

    def __enter__(self) -> Rulebook:
        command = [
            *(str(ansible_rulebook()), "--rulebook", self._rulebook, "--inventory", str(EDA / "inventory.yml")),
            *("--vars", str(self._vars_file), "--env-vars", "KAFKA_RECOVERY_TOKEN", "--print-events"),
        ]
        environment = {
            # ansible-rulebook starts the first ansible-playbook of the PATH.
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "ANSIBLE_COLLECTIONS_PATH": str(PROJECT / ".venv" / "collections"),
            "ANSIBLE_NOCOLOR": "1",
            "KAFKA_RECOVERY_TOKEN": self._token,
            "LC_ALL": "C.UTF-8",
        }
        self._process = process.spawn(command, self.log, environment)
        try:
            wait_until(self._listens, 120, what="the webhook listens", interval=0.5)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_failure: object) -> None:
        # The playbooks are in sessions of their own.
        signal_tree(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def send(self, *alerts: Mapping[str, object], token: str = TOKEN) -> int:
        """Post alerts as Alertmanager does, and return the HTTP status."""
        request = urllib.request.Request(
            f"http://{self.address}/alerts",
            data=json.dumps({"alerts": alerts}).encode(),
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    def output(self) -> str:
        """Return everything that ansible-rulebook and its playbooks have printed."""
        return self.log.read_text(encoding="utf-8", errors="replace") if self.log.is_file() else ""

    def started(self) -> list[str]:
        """Return the names of the plays that it started, in order."""
        lines = self.output().splitlines()
        return [
            line.removeprefix("PLAY [").partition("]")[0]
            for before, line in pairwise(lines)
            # A playbook that failed is printed a second time, as an error.
            if line.startswith("PLAY [") and "ERROR" not in before
        ]

    def wait_started(self, plays: Sequence[str]) -> None:
        """Wait until this number of plays was started, and check their names."""
        wait_until(lambda: len(self.started()) >= len(plays), 120, what=f"{len(plays)} plays are started", interval=0.5)
        assert self.started() == list(plays), self.output()

    def document(self, kind: str) -> dict[str, Any] | None:
        """Return the one document of a kind (plan, report, quorum, cleaners), or None before it is there."""
        found = sorted(self.reports.glob(f"*-{kind}.json"))
        if not found:
            return None
        (path,) = found
        decoded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return decoded

    def _listens(self) -> bool:
        if self._process.poll() is not None:
            raise RuntimeError(f"ansible-rulebook has ended:\n{self.output()}")
        try:
            return self.send({}, token="nobody's") == 401
        except OSError:
            return False


def free_address() -> tuple[HeldPorts, str]:
    """Reserve a port of loopback; return the reservation and the address."""
    held = HeldPorts()
    return held, f"127.0.0.1:{held.take()}"


def alert(name: str, cluster: str, status: str = "firing", **more: object) -> dict[str, object]:
    """Return an alert as Alertmanager sends it."""
    return {"status": status, "labels": {"alertname": name, "cluster": cluster}, "annotations": {}, **more}
