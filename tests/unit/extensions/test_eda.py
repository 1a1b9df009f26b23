# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rulebook answers alerts that exist with playbooks that exist, once in a window, and requests no election."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from publish.artifact import PROJECT

EXTENSIONS = PROJECT / "extensions"
(_RULESET,) = yaml.safe_load((EXTENSIONS / "eda" / "rulebooks" / "kafka_recovery.yml").read_text(encoding="utf-8"))
RULES: list[dict[str, Any]] = _RULESET["rules"]
_EVERY_RULE = pytest.mark.parametrize("rule", RULES, ids=[rule["name"] for rule in RULES])


def plays(rule: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what a rule's actions start."""
    actions = rule.get("actions") or [rule["action"]]
    return [action["run_playbook"] for action in actions]


@_EVERY_RULE
def test_alerts_and_playbooks_are_there(rule: dict[str, Any]) -> None:
    groups = yaml.safe_load((EXTENSIONS / "prometheus" / "kafka_recovery.rules.yml").read_text(encoding="utf-8"))[
        "groups"
    ]
    alerts = {each.get("alert") for group in groups for each in group["rules"]}
    named = set(re.findall(r"Kafka[A-Za-z]+", rule["condition"]))
    assert named
    assert named <= alerts
    for play in plays(rule):
        collection, _dot, name = play["name"].rpartition(".")
        assert collection == "kafkaops.recovery"
        assert (PROJECT / "playbooks" / f"{name}.yml").is_file()


@_EVERY_RULE
def test_a_rule_takes_firing_alerts_with_safe_names_once_in_a_window(rule: dict[str, Any]) -> None:
    for condition in ('event.status == "firing"', "event.labels.cluster is match(", "event.meta.received_at is match("):
        assert condition in rule["condition"]
    assert rule["throttle"] == {"once_within": "30 minutes", "group_by_attributes": ["event.labels.cluster"]}


_KEEPS_PROMISES = {
    "unclean_recovery_strategy": "balanced",
    "unclean_recovery_proof": "strict",
    "unclean_recovery_max_lost_records": 0,
    "unclean_recovery_salvage": "required",
}


def test_whoever_elects_for_an_alert_plans_what_is_left() -> None:
    """An event starts only the first rule that it matches."""
    electing, planning = (plays(rule) for rule in RULES[:2])
    assert [each["extra_vars"].get("unclean_recovery_automated_recovery") for each in electing] == [True, None, False]
    assert electing[1:] == planning


def test_no_two_actions_of_a_rule_write_the_same_file() -> None:
    for rule in RULES:
        files = [value for each in plays(rule) for name, value in each["extra_vars"].items() if name.endswith("_file")]
        assert len({*files}) == len(files)


def test_writes_are_chosen_and_elections_keep_promises() -> None:
    for rule in RULES:
        for play in plays(rule):
            variables = play["extra_vars"]
            if variables.get("unclean_recovery_automated_recovery"):
                assert rule["condition"].startswith("vars.kafka_recovery_elect_proven == true and ")
                assert variables.items() >= _KEEPS_PROMISES.items()
            elif play["name"].endswith("recover_offline_partitions"):
                assert variables["unclean_recovery_automated_recovery"] is False
                assert variables["unclean_recovery_manual_output_file"]
            elif play["name"].endswith("recover_log_cleaners"):
                assert rule["condition"].startswith("vars.kafka_recovery_restart_dead_cleaners == true and ")
                assert variables["log_cleaner_recovery_repair_uncleanable"] is False
            else:
                assert play["name"].endswith("check_quorum")
    example = yaml.safe_load((EXTENSIONS / "eda" / "vars.example.yml").read_text(encoding="utf-8"))
    assert example["kafka_recovery_restart_dead_cleaners"] is False
    assert example["kafka_recovery_elect_proven"] is False
