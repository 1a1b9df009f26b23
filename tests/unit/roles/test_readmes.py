# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Galaxy shows each role's README: its example is a play that the role's argument specs accept."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from unit.roles.role import ROLES, loaded, options

EVERY_ROLE = sorted(each.name for each in ROLES.iterdir())
CONNECTING = "kafka_connection"


def example(role: str) -> dict[str, Any]:
    """Return the one play that the role's README shows."""
    (block,) = re.findall(r"```yaml\n(.*?)```", _readme(role), re.DOTALL)
    (play,) = yaml.safe_load(block)
    return dict(play)


@pytest.mark.parametrize("role", [each for each in EVERY_ROLE if each != CONNECTING])
def test_the_example_runs_the_role(role: str) -> None:
    (task,) = example(role)["tasks"]
    assert task["ansible.builtin.import_role"] == {"name": f"kafkaops.recovery.{role}"}


def test_the_example_of_the_connection_uses_its_role() -> None:
    assert example(CONNECTING)["roles"] == [{"role": f"kafkaops.recovery.{CONNECTING}"}]


@pytest.mark.parametrize("role", [each for each in EVERY_ROLE if each != CONNECTING])
def test_every_variable_of_the_example_is_one_of_the_role(role: str) -> None:
    assert example(role)["vars"].keys() <= options(role).keys()


@pytest.mark.parametrize("role", EVERY_ROLE)
def test_every_variable_and_file_that_is_named_exists(role: str) -> None:
    known = options(role) if role != CONNECTING else loaded(role, "vars/main.yml")
    named = re.findall(rf"`({role}_\w+)", _readme(role))
    assert [each for each in named if each not in known] == []
    files = re.findall(r"\]\((?!http)([^)#]+)", _readme(role))
    assert [each for each in files if not (ROLES / role / each).exists()] == []


def _readme(role: str) -> str:
    return (ROLES / role / "README.md").read_text(encoding="utf-8")
