# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role's contract: its argument specs, its defaults, and what it hands on to the modules."""

from __future__ import annotations

import pytest
from ansible.module_utils.parsing.convert_bool import boolean
from jinja2 import Environment

from unit.roles.role import ROLES, loaded, options, own_options

ROLE = "unclean_recovery"
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
    "unclean_recovery_report_html",
    "unclean_recovery_include_internal_topics",
    "kafka_bootstrap_servers",
    "kafka_command_config",
}
NOT_REPEATED = {
    # What a command does, and what it writes.
    "unclean_recovery_all_offline_partitions",
    "unclean_recovery_show_replica_info",
    "unclean_recovery_automated_recovery",
    "unclean_recovery_publish_plan",
    "unclean_recovery_plan_digest",
    "unclean_recovery_evidence_dir",
    "unclean_recovery_report_file",
    "unclean_recovery_report_html",
    "unclean_recovery_report_aftermath",
    "unclean_recovery_salvage",
    "unclean_recovery_salvage_dir",
    # How long it takes, and how it asks.
    "unclean_recovery_duration_ms",
    "unclean_recovery_election_attempts",
    "unclean_recovery_verify_timeout_ms",
    "unclean_recovery_election_timeout_ms",
    "unclean_recovery_replica_log_source",
    "unclean_recovery_replica_log_api_key",
    "unclean_recovery_engine",
    "unclean_recovery_spark_wait_ms",
    "unclean_recovery_spark",
    "unclean_recovery_ignore_quorum",
}


def test_the_names_are_those_of_the_contract() -> None:
    assert options(ROLE).keys() >= CONTRACT


def test_a_limit_of_no_lost_record_is_a_limit() -> None:
    """``default(omit, true)`` would take 0 for "not given"."""
    tasks = (ROLES / ROLE / "tasks/main.yml").read_text("utf-8")
    # Where the plan is made, and where it is carried out.
    assert (
        tasks.count('max_lost_records: "{{ __unclean_recovery_checked.options.max_lost_records | default(omit) }}"')
        == 2
    )


@pytest.mark.parametrize(
    ("given", "has_plan", "publishes"),
    [
        ({}, False, True),
        ({"publish_plan": True}, False, True),
        ({"publish_plan": False}, False, False),
        ({"automated_recovery": True}, False, False),
        ({}, True, False),
    ],
)
def test_a_plan_is_published_unless_that_is_switched_off(
    given: dict[str, object], has_plan: bool, publishes: bool
) -> None:
    variables = {
        "__unclean_recovery_checked": {"options": {"automated_recovery": False, **given}},
        "__unclean_recovery_has_plan": has_plan,
    }
    environment = Environment(autoescape=True)
    environment.filters["bool"] = boolean
    template = loaded(ROLE, "vars/main.yml")["__unclean_recovery_publishes"]
    assert environment.from_string(template).render(variables) == str(publishes)


def test_the_next_commands_are_given_the_variables_that_they_repeat() -> None:
    repeated = loaded(ROLE, "vars/main.yml")["__unclean_recovery_repeated"]
    # Of the playbook, not of the role.
    own = {name for name in repeated if not name.startswith("kafka_")} - {"unclean_recovery_hosts"}
    assert own == own_options(ROLE) - NOT_REPEATED
    # Never as the user typed it: a path or a list may have another spelling.
    ends = {name: name.removeprefix("unclean_recovery_").removeprefix("kafka_") for name in repeated}
    assert all(ends[name] in value for name, value in repeated.items())
