# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""``python -m lab``, as a molecule scenario uses it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lab import wait_until

pytestmark = [pytest.mark.on_any_version, pytest.mark.wide]

LAB = [sys.executable, "-m", "lab"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}


def test_up_until_terminated(kafka_version: str, tmp_path: Path) -> None:
    state_file = tmp_path / "state.json"
    command = [*LAB, "up", "--version", kafka_version, "--brokers", "1", "--state-file", str(state_file)]
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as lab:
        wait_until(lambda: state_file.exists() or lab.poll() is not None, 120, what="the cluster is up")
        state = json.loads(state_file.read_text(encoding="utf-8"))
        lab.send_signal(signal.SIGTERM)
        output, _errors = lab.communicate(timeout=30)
    assert lab.returncode == 128 + signal.SIGTERM
    assert f"bootstrap servers (PLAINTEXT): {state['bootstrap_servers']['PLAINTEXT']}" in output
    assert set(state["nodes"]) == {"1", "101"}
    assert [node["pid"] for node in state["nodes"].values() if Path("/proc", str(node["pid"])).exists()] == []


def test_a_command_runs_with_a_cluster(kafka_version: str) -> None:
    reported = "import os, sys; sys.exit(3 if ':' in os.environ['KAFKA_BOOTSTRAP_SERVERS'] else 4)"
    command = [*LAB, "run", "--version", kafka_version, "--brokers", "1", "--", sys.executable, "-c", reported]
    assert subprocess.run(command, env=ENVIRONMENT, check=False, timeout=120).returncode == 3


def test_versions_are_listed() -> None:
    listed = subprocess.run([*LAB, "versions"], env=ENVIRONMENT, check=True, capture_output=True, text=True)
    assert "4.3.1 (default)" in listed.stdout.splitlines()
