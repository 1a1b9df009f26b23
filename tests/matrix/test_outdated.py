# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Real interpreters and libraries that are too old: every module reports this before an import fails."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from lab.playbook import PROJECT
from publish.installation import interpreter

pytestmark = pytest.mark.timeout(1200)

_VALUES: dict[str, Any] = {"int": 1, "dict": {}}
_ONE_OF = {"designated_election": {"plan_file": "/nowhere"}, "quorum_log_info": {"log_dir": "/nowhere"}}
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


@cache
def documents() -> dict[str, dict[str, Any]]:
    """Return the documentation of each module, as ansible-doc prints it."""
    names = [f"kafkaops.recovery.{each}" for each in _MODULES]
    command = [Path(sys.executable).with_name("ansible-doc"), "--type", "module", "--json", *names]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True)
    return {name.rpartition(".")[2]: each["doc"] for name, each in json.loads(done.stdout).items()}


def documented_libraries(module: str, *, conditional: bool) -> set[tuple[str, str]]:
    """Return the libraries and their oldest versions. A condition follows a comma: "for O(engine=spark)"."""
    lines = [each for each in documents()[module]["requirements"] if conditional or ", " not in each]
    return {each for line in lines for each in re.findall(r"\b([a-z][\w-]+) >= ([\d.]+)", line)}


def required_options(module: str) -> dict[str, Any]:
    """Return a value of the right type for each option without which the module does not start."""
    needed = {name: each for name, each in documents()[module]["options"].items() if each.get("required")}
    given = {name: _VALUES.get(each.get("elements") or each["type"], "/nowhere") for name, each in needed.items()}
    given |= {name: [value] for name, value in given.items() if needed[name]["type"] == "list"}
    brokers = {"bootstrap_servers": "127.0.0.1:1"} if "bootstrap_servers" in documents()[module]["options"] else {}
    return given | brokers | _ONE_OF.get(module, {})


def message(module: str, python: str) -> str:
    """Run a module as Ansible does on a host with this Python, and return why it failed."""
    given = required_options(module)
    arguments = ("-a", json.dumps(given)) if given else ()
    done = subprocess.run(
        [
            *(Path(sys.executable).with_name("ansible"), "localhost", "-m", f"kafkaops.recovery.{module}"),
            *(*arguments, "-e", f"ansible_python_interpreter={python}"),
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
    """A module names all libraries that it lacks, and these are those of its documentation."""
    said = message(module, str(outdated))
    assert said.startswith(f"{outdated} (Python {sys.version_info.major}.{sys.version_info.minor}.")
    named = set(re.findall(r"'([\w-]+)>=([\d.]+)'", said))
    assert documented_libraries(module, conditional=False) <= named <= documented_libraries(module, conditional=True)
    for name, newest in (("kafka-python", "2."), ("pyspark", "3.5.")):
        version = dict(named).get(name)
        assert version is None or f"{name} {version} or later (found {newest}" in said


@pytest.mark.parametrize("module", _MODULES)
def test_a_python_that_is_too_old(module: str) -> None:
    assert "is Python 3.9." in (said := message(module, interpreter("3.9")))
    assert "this module needs Python 3.11 or later: set ansible_python_interpreter" in said
