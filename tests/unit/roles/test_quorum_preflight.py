# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role's contract: its argument specs, its defaults, and what it hands on to the module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.connection import CONNECTION
from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.controllers import CONTROLLERS

ROLE = Path(__file__).resolve().parents[3] / "roles" / "quorum_preflight"
OWN = {"quorum_preflight_window_ms", "quorum_preflight_report_file", "quorum_preflight_fail_on"}
REACHING = {**CONNECTION.argument_spec, **CONTROLLERS.argument_spec}


def loaded(name: str) -> Any:
    return yaml.safe_load((ROLE / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def options() -> dict[str, dict[str, Any]]:
    described: dict[str, dict[str, Any]] = loaded("meta/argument_specs.yml")["argument_specs"]["main"]["options"]
    return described


def test_the_names_are_those_of_the_contract(options: dict[str, dict[str, Any]]) -> None:
    assert options.keys() == OWN | {f"kafka_{name}" for name in REACHING}


def test_the_defaults_are_those_of_the_argument_specs(options: dict[str, dict[str, Any]]) -> None:
    assert loaded("defaults/main.yml") == {
        name: option["default"] for name, option in options.items() if "default" in option
    }


def test_every_option_of_the_module_is_a_variable_of_its_type(options: dict[str, dict[str, Any]]) -> None:
    for name, each in REACHING.items():
        variable = options[f"kafka_{name}"]
        assert (variable["type"], variable.get("choices")) == (each["type"], each.get("choices"))
        assert bool(variable.get("no_log")) == bool(each.get("no_log"))


def test_every_variable_reaches_the_module() -> None:
    handed_on = loaded("tasks/main.yml")[0]["kafkaops.recovery.quorum_info"]
    assert handed_on.keys() == REACHING.keys() | {"window_ms", "report_file"}
    assert all(f"kafka_{name} |" in handed_on[name] for name in REACHING)
