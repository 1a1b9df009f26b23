# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Real interpreters and libraries that are too old: every module reports this before an import fails."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.playbook import PROJECT
from publish.installation import interpreter

pytestmark = pytest.mark.timeout(1200)

_OFFLINE = ("exposure_report", "incident_report", "log_cleaner_report", "recovery_plan", "salvage_info")
_SPARK = ("exposure_report", "log_cleaner", "log_cleaner_info")
"""Modules that do not work without Spark. Those that rank replicas do."""
_OWN: dict[str, dict[str, Any]] = {
    "cluster_recording": {"recorder_dir": "/nowhere"},
    "designated_election": {"plan_file": "/nowhere"},
    "exposure_report": {"recordings": "/nowhere"},
    "incident_report": {"html": "/nowhere"},
    "log_cleaner_report": {"report_file": "/nowhere"},
    "preferred_leader_blacklist": {"brokers": [1]},
    "quorum_voter": {"voter_id": 1},
    "recovery_plan": {"path": "/nowhere"},
    "replica_log_salvage": {"log_dirs": ["/nowhere"], "salvage_dir": "/nowhere"},
    "salvage_info": {"salvage_dir": "/nowhere"},
    "salvage_replay": {"salvage_dir": "/nowhere"},
}
"""Required options of a module, besides the brokers."""
_MODULES = sorted(
    path.stem for path in (PROJECT / "plugins" / "modules").glob("*.py") if "module_utils" in path.read_text()
)


@pytest.fixture(scope="module", params=["2.0.2", "2.2.*"])
def outdated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield a Python environment with only two libraries that are too old."""
    directory = tmp_path_factory.mktemp("outdated")
    subprocess.run([sys.executable, "-m", "venv", directory], check=True)
    python = directory / "bin" / "python"
    quietly = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*quietly, f"kafka-python=={request.param}", "pyspark==3.5.*"], check=True, timeout=900)
    yield python
    subprocess.run(["rm", "-r", directory], check=True)  # 400 MB


def message(module: str, python: str) -> str:
    """Run a module as Ansible does on a host with this Python, and return why it failed."""
    brokers = {} if module in _OFFLINE else {"bootstrap_servers": ["127.0.0.1:1"]}
    arguments = json.dumps(brokers | _OWN.get(module, {}))
    done = subprocess.run(
        [
            *(Path(sys.executable).with_name("ansible"), "localhost", "-m", f"kafkaops.recovery.{module}"),
            *("-a", arguments, "-e", f"ansible_python_interpreter={python}"),
        ],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert "Traceback" not in done.stdout + done.stderr
    _error, _separator, results = done.stdout.partition("localhost | FAILED! => ")
    assert results, done.stdout + done.stderr
    return str(json.loads(results)["msg"])


@pytest.mark.parametrize("module", _MODULES)
def test_libraries_that_are_too_old(outdated: Path, module: str) -> None:
    said = message(module, str(outdated))
    assert said.startswith(f"{outdated} (Python {sys.version_info.major}.{sys.version_info.minor}.")
    assert "jsonschema 4.26 or later (not installed)" in said
    assert ("kafka-python 3.0 or later (found 2." in said) == (module not in _OFFLINE)
    assert ("pyspark 4.1 or later (found 3.5." in said) == (module in _SPARK)


@pytest.mark.parametrize("module", _MODULES)
def test_a_python_that_is_too_old(module: str) -> None:
    assert "is Python 3.9." in (said := message(module, interpreter("3.9")))
    assert "this module needs Python 3.11 or later: set ansible_python_interpreter" in said
