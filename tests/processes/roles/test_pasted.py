# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a role prints for the next command is pasted as it is, whatever a value contains."""

from __future__ import annotations

import itertools
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.files import format_document
from unit.documents.examples import edited
from unit.roles.role import ROLES

COLLECTIONS = Path(sys.executable).parents[1] / "collections"


def ansible(directory: Path, *words: str) -> str:
    command = [str(Path(sys.executable).with_name("ansible-playbook")), *words]
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS), "ANSIBLE_NOCOLOR": "1"}
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False).stdout


def evaluated(directory: Path, text: str, variables: Mapping[str, object]) -> str:
    """Return what Ansible makes of a text of a role."""
    play = directory / "play.yml"
    tasks = [{"ansible.builtin.copy": {"content": text, "dest": str(directory / "text")}}]
    play.write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": tasks, "vars": variables}]))
    ansible(directory, str(play))
    return (directory / "text").read_text("utf-8")


def variables_in(text: str) -> dict[str, Any]:
    """Return the variables that a shell would hand to Ansible."""
    words = shlex.split(text)
    found: dict[str, Any] = {}
    for flag, word in itertools.pairwise(words):
        if flag == "-e":
            name, _equals, value = word.partition("=")
            found |= json.loads(word) if word.startswith("{") else {name: value}
    return found


def failures(tasks: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the messages of the tasks that fail in a file of a role."""
    nested = [each for task in tasks for name in ("block", "rescue") for each in failures(task.get(name, []))]
    return [task["ansible.builtin.fail"]["msg"] for task in tasks if "ansible.builtin.fail" in task] + nested


def test_the_endpoints_of_a_controller_that_could_not_be_added(tmp_path: Path) -> None:
    (text,) = failures(yaml.safe_load((ROLES / "controller_replacement/tasks/replace.yml").read_text("utf-8")))
    at = [{"name": "CONTROLLER", "host": "controller's", "port": 9093}]
    variables = {
        "__controller_replacement_at": at,
        "__controller_replacement_id": 3,
        "ansible_failed_result": {"msg": "No answer."},
    }
    shown = evaluated(tmp_path, text, variables)
    assert "Run the playbook again, with -e '{" in shown
    assert variables_in(shown) == {"controller_replacement_endpoints": at}


@pytest.mark.parametrize("name", ["plan.json", "the plan's.json", "$(plan);.json"])
def test_the_plan_that_was_renewed(name: str, tmp_path: Path) -> None:
    plan = tmp_path / name
    plan.write_bytes(format_document(edited("partitions", 0, "designatedLeader", to=2, renew=False)))
    shown = ansible(
        tmp_path, "kafkaops.recovery.renew_plan_digest", "-e", json.dumps({"unclean_recovery_plan_file": str(plan)})
    )
    (line,) = (each for each in shown.splitlines() if each.strip().startswith("-e ") and "plan_file" in each)
    assert variables_in(line) == {"unclean_recovery_plan_file": str(plan)}
