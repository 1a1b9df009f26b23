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

ROLE = Path(__file__).resolve().parents[3] / "roles" / "unclean_recovery"
CONTRACT = {
    "unclean_recovery_all_offline_partitions",
    "unclean_recovery_partitions_file",
    "unclean_recovery_partitions",
    "unclean_recovery_plan_file",
    "unclean_recovery_show_replica_info",
    "unclean_recovery_manual_output_file",
    "unclean_recovery_automated_recovery",
    "unclean_recovery_duration_ms",
    "unclean_recovery_election_attempts",
    "unclean_recovery_evidence_dir",
    "unclean_recovery_report_file",
    "unclean_recovery_include_internal_topics",
    "kafka_bootstrap_servers",
    "kafka_command_config",
}


def loaded(name: str) -> Any:
    return yaml.safe_load((ROLE / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def options() -> dict[str, dict[str, Any]]:
    described: dict[str, dict[str, Any]] = loaded("meta/argument_specs.yml")["argument_specs"]["main"]["options"]
    return described


def test_the_names_are_those_of_the_contract(options: dict[str, dict[str, Any]]) -> None:
    assert options.keys() >= CONTRACT


def test_the_defaults_are_those_of_the_argument_specs(options: dict[str, dict[str, Any]]) -> None:
    assert loaded("defaults/main.yml") == {
        name: option["default"] for name, option in options.items() if "default" in option
    }


def test_every_connection_option_is_a_variable_of_its_type(options: dict[str, dict[str, Any]]) -> None:
    described = {name.removeprefix("kafka_"): option for name, option in options.items() if name.startswith("kafka_")}
    assert {name: (each["type"], each.get("choices")) for name, each in described.items()} == {
        name: (each["type"], each.get("choices")) for name, each in CONNECTION.argument_spec.items()
    }
    assert {name for name, each in described.items() if each.get("no_log")} == {
        name for name, each in CONNECTION.argument_spec.items() if each.get("no_log")
    }


def test_a_limit_of_no_lost_record_is_a_limit() -> None:
    """``default(omit, true)`` would take 0 for "not given"."""
    assert "unclean_recovery_max_lost_records | default(omit) }}" in (ROLE / "tasks/recover.yml").read_text("utf-8")


def test_every_connection_variable_reaches_the_modules() -> None:
    defaults = next(task["module_defaults"] for task in loaded("tasks/main.yml") if "module_defaults" in task)
    handed_on = defaults["group/kafkaops.recovery.kafka"]
    assert handed_on.keys() == CONNECTION.argument_spec.keys()
    assert all(f"kafka_{name} |" in value for name, value in handed_on.items())
