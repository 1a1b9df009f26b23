# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the role decides by its variables, and what it hands on to the next commands."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.plugin_utils.next_steps import next_commands
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.recovery_variables import decide
from unit.roles.role import ROLES, own_options

ROLE = "unclean_recovery"
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
    # What ranks: the plan is the same.
    "unclean_recovery_engine",
    "unclean_recovery_spark_wait_ms",
    "unclean_recovery_spark",
    # What a plan becomes: the command names its file. The path of a plan that was given as data is unknown.
    "unclean_recovery_manual_output_file",
    "unclean_recovery_plan",
}


def test_a_limit_of_no_lost_record_is_a_limit() -> None:
    """``default(omit, true)`` would take 0 for "not given"."""
    tasks = (ROLES / ROLE / "tasks/main.yml").read_text("utf-8")
    # Where the plan is made, and where it is carried out.
    assert (
        tasks.count('max_lost_records: "{{ __unclean_recovery_checked.options.max_lost_records | default(omit) }}"')
        == 2
    )


DEFAULTS = {
    "automated_recovery": False,
    "then_restore_redundancy": False,
    "lost_brokers": [],
    "engine": "spark",
    "spark_wait_ms": 10_000,
    "replica_log_source": "public",
}
BROKERS = {"bootstrap_servers": ["a:9092"]}


def decided(given: dict[str, object], *, is_check: bool = False) -> dict[str, Any]:
    return decide({**DEFAULTS, **given}, BROKERS, {}, is_check=is_check)


@pytest.mark.parametrize(
    ("given", "publishes"),
    [
        ({}, True),
        ({"publish_plan": True}, True),
        ({"publish_plan": False}, False),
        ({"automated_recovery": True}, False),
        ({"plan_file": "plan.json"}, False),
    ],
)
def test_a_plan_is_published_unless_that_is_switched_off(given: dict[str, object], publishes: bool) -> None:
    assert decided(given)["publishes"] is publishes


@pytest.mark.parametrize(
    ("given", "is_check", "only_looks", "restores"),
    [
        ({}, False, True, False),
        ({"automated_recovery": True}, False, False, False),
        ({"automated_recovery": True, "then_restore_redundancy": True}, False, False, True),
        ({"automated_recovery": True, "then_restore_redundancy": True}, True, True, False),
    ],
)
def test_nothing_is_written_in_check_mode_or_unless_it_is_requested(
    given: dict[str, object], is_check: bool, only_looks: bool, restores: bool
) -> None:
    found = decided(given, is_check=is_check)
    assert (found["only_looks"], found["restores"]) == (only_looks, restores)


AUTOMATED = {"automated_recovery": True, "all_offline_partitions": True}


@pytest.mark.parametrize(
    "given",
    [
        {},
        AUTOMATED,
        {"partitions": []},
        {"plan": {"digest": "sha256:0"}, "plan_digest": "sha256:0", "automated_recovery": True},
        {"manual_output_file": "plan.json", "report_file": "report.json", "report_html": "report.html"},
        AUTOMATED | {"then_restore_redundancy": True, "lost_brokers": [1]},
        {"spark": {"master": "spark://host:7077", "settings_reference": "/etc/kafkaops/connection.json"}},
        # Nobody asks replicas.
        AUTOMATED | {"all_offline_partitions": None, "plan_file": "p.json", "spark": {"master": "spark://host:7077"}},
        {"replica_log_source": "native", "replica_log_api_key": 1020},
    ],
)
def test_what_belongs_together_is_not_refused(given: dict[str, object]) -> None:
    assert decided(given)["refusals"] == []


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"automated_recovery": True}, "exactly one of .* must say which partitions; given: none"),
        (
            {"all_offline_partitions": True, "partitions": []},
            "given: unclean_recovery_all_offline_partitions and unclean_recovery_partitions",
        ),
        (
            {"designations": [], "designations_file": "d.json"},
            "given: unclean_recovery_designations_file and unclean_recovery_designations",
        ),
        ({"plan_file": "p.json", "plan": {"digest": ""}}, "unclean_recovery_plan_file and unclean_recovery_plan"),
        ({"plan_digest": "sha256:0"}, "unclean_recovery_plan_digest pins the plan that was approved"),
        (AUTOMATED | {"manual_output_file": "p.json"}, "exclude each other"),
        ({"plan_file": "p.json", "manual_output_file": "q.json"}, "makes a plan, and .* is one"),
        (AUTOMATED | {"then_restore_redundancy": True}, "unclean_recovery_lost_brokers names none"),
        ({"engine": "process", "spark": {"master": "local[2]"}}, "engine is process, which uses no Spark"),
        ({"spark": {"master": "spark://host:7077"}}, "Spark runs at spark://host:7077, so .* spark.settings_reference"),
        ({"election_attempts": 0}, "unclean_recovery_election_attempts is 0"),
        ({"election_timeout_ms": 0}, "unclean_recovery_election_timeout_ms is 0"),
        ({"replica_log_source": "native"}, "need each other"),
        ({"replica_log_api_key": 0}, "need each other"),
        (
            {"report_file": "one", "evidence_dir": "one"},
            "unclean_recovery_evidence_dir and unclean_recovery_report_file are the same path",
        ),
    ],
)
def test_what_excludes_each_other_is_refused(given: dict[str, object], why: str) -> None:
    (refusal,) = decided(given)["refusals"]
    assert re.search(why, refusal)


def test_what_restores_redundancy_afterwards_has_files_of_its_own() -> None:
    given = {**AUTOMATED, "then_restore_redundancy": True, "lost_brokers": [1], "report_file": "one"}
    later = {"redundancy_report_file": "one"}
    found = decide({**DEFAULTS, **given}, BROKERS, later, is_check=False)
    (refusal,) = found["refusals"]
    assert refusal.startswith("unclean_recovery_report_file and redundancy_report_file are the same path, one")
    assert found["outputs"] == ["one", "one"]
    looked = decide({**DEFAULTS, **given}, BROKERS, later, is_check=True)
    assert (looked["refusals"], looked["outputs"]) == ([], ["one"])


@pytest.mark.parametrize("place", ["/srv/evidence", "hdfs://namenode/evidence"])
def test_the_place_of_many_runs_evidence_may_exist(place: str) -> None:
    """Each incident adds a directory to it. The survey refuses what exists among the outputs."""
    found = decided({"evidence_dir": place, "report_file": "one"})
    assert (found["refusals"], found["outputs"]) == ([], ["one"])


def test_every_refusal_is_named_at_once() -> None:
    given = {**DEFAULTS, "automated_recovery": True, "plan_digest": "sha256:0"}
    assert [each.split(" ")[0] for each in decide(given, {}, {}, is_check=False)["refusals"]] == [
        "kafka_bootstrap_servers",
        "exactly",
        "unclean_recovery_plan_digest",
    ]


@pytest.mark.parametrize("name", sorted(own_options(ROLE) - NOT_REPEATED))
def test_the_next_commands_repeat_what_decides(name: str) -> None:
    commands = next_commands({"unclean_recovery_strategy": "balanced", name: "given"})
    assert any(name in word for word in commands.recover)
