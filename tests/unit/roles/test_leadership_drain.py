# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role's contract: its argument specs, its defaults, and what it hands on to the modules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.kafkaops.recovery.plugins.module_utils.glue.connection import CONNECTION
from ansible_collections.kafkaops.recovery.plugins.modules import preferred_election, preferred_leader_blacklist

ROLE = Path(__file__).resolve().parents[3] / "roles" / "leadership_drain"
OWN = {
    "leadership_drain_brokers",
    "leadership_drain_state",
    "leadership_drain_elect_preferred",
    "leadership_drain_max_moves",
    "leadership_drain_topics",
    "leadership_drain_memory",
    "leadership_drain_memory_topic",
    "leadership_drain_journal_dir",
    "leadership_drain_report_file",
    "leadership_drain_ignore_quorum",
}
REACHING = CONNECTION.argument_spec
NOT_HANDED_ON = {"attempts", "verify_timeout_ms", "progress_file"}


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


def test_every_connection_option_is_a_variable_of_its_type(options: dict[str, dict[str, Any]]) -> None:
    for name, each in REACHING.items():
        variable = options[f"kafka_{name}"]
        assert (variable["type"], variable.get("choices")) == (each["type"], each.get("choices"))
        assert bool(variable.get("no_log")) == bool(each.get("no_log"))


def test_every_variable_reaches_the_modules() -> None:
    block = loaded("tasks/main.yml")[0]
    connection = block["module_defaults"]["group/kafkaops.recovery.kafka"]
    assert connection.keys() == REACHING.keys()
    assert all(f"kafka_{name} |" in connection[name] for name in REACHING)
    for module in (preferred_leader_blacklist, preferred_election):
        name = f"kafkaops.recovery.{module.__name__.rpartition('.')[2]}"
        (handed_on,) = (task[name] for task in block["block"] if name in task)
        assert handed_on.keys() == module.ARGUMENTS.argument_spec.keys() - REACHING.keys() - NOT_HANDED_ON
