# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A role hands on every option of its modules, except those that are listed here, and has no variable without a use."""

from __future__ import annotations

from importlib import import_module

import pytest

from ansible_collections.kafkaops.recovery.plugins import modules
from unit.roles.role import CONNECTIONS, GROUPS, SHARED, loaded, own_options, tasks_of

FILE_OF_PROGRESS = "progress_file"
"""The action that runs the module sets it (plugin_utils/progress_action.py)."""
NOT_HANDED_ON: dict[str, dict[str, set[str]]] = {
    "cluster_recorder": {"cluster_recording": set()},
    "exposure_report": {"exposure_report": set()},
    "group_recovery": {"group_recovery": {"quorum_window_ms"}},
    "leadership_drain": {
        # The quorum is observed before the orders are changed, and only looked at before the elections.
        "preferred_leader_blacklist": {"attempts", "verify_timeout_ms", "quorum_window_ms"},
        "preferred_election": {"attempts", "verify_timeout_ms"},
    },
    "log_cleaner_recovery": {
        "log_cleaner_info": set(),
        "log_cleaner": {"state", "settings", "unset", "attempts", "quorum_window_ms"},
        "log_cleaner_repair": {
            "partitions",
            "partitions_file",
            "force",
            "attempts",
            "verify_timeout_ms",
            "quorum_window_ms",
        },
    },
    "log_salvage": {"replica_log_salvage": {"max_rows"}},
    "quorum_preflight": {"quorum_info": set()},
    "readiness": {"readiness_info": set(), "journal_test": set()},
    "redundancy": {"redundancy": {"attempts", "verify_timeout_ms", "quorum_window_ms", "fencing_wait_ms"}},
    "salvage_replay": {"salvage_replay": {"max_rows", "quorum_window_ms"}},
    "stop_gate": {"stop_gate": set()},
    "unclean_recovery": {
        "offline_partition_info": set(),
        "leader_candidate_info": {"evidence"},
        "unclean_recovery": {"quorum_window_ms"},
        "designated_election": {
            # The plan has them.
            "allow_dropping_unregistered",
            "allow_empty_leader",
            "include_internal_topics",
            "partitions",
            "fencing_wait_ms",
            "quorum_window_ms",
        },
    },
}
"""By role and module: the options that the module has and the role does not hand on."""
OTHERWISE: dict[str, set[str]] = {
    "cluster_recorder": {"dir"},
    "group_recovery": {"automated_recovery", "manual_output_file"},
    "leadership_drain": {"active_controller", "elect_preferred"},
    "log_cleaner_recovery": {
        "force_restart",
        "restart_timeout_ms",
        "repair_uncleanable",
        "fail_on_unhealthy",
        "report_file",
    },
    "log_salvage": {"dir"},
    "quorum_preflight": {"fail_on"},
    "readiness": {"fail_on", "write_record"},
    "redundancy": {"automated_recovery", "manual_output_file"},
    "salvage_replay": {"dir"},
    "unclean_recovery": {
        "all_offline_partitions",
        "automated_recovery",
        "duration_ms",
        "election_attempts",
        "manual_output_file",
        "publish_plan",
        "show_replica_info",
        "strategy",
        "then_restore_redundancy",
        "wait_ms",
    },
}
"""By role: its variables besides report_html that have another name than a module's option, or are for other tasks."""


def handed_on(role: str, module: str) -> list[set[str]]:
    """Return the options of each task that runs the module, with those that module_defaults give to its groups."""
    tasks = tasks_of(role)
    in_groups = {
        option
        for task in tasks
        for group, options in task.get("module_defaults", {}).items()
        if (name := group.rpartition(".")[2]) not in CONNECTIONS and module in GROUPS[name]
        for option in options
    }
    name = f"kafkaops.recovery.{module}"
    return [{*(task[name] or ())} | in_groups for task in tasks if name in task]


@pytest.mark.parametrize("role", NOT_HANDED_ON)
def test_every_option_reaches_the_modules(role: str) -> None:
    for name, left_out in NOT_HANDED_ON[role].items():
        options = import_module(f"{modules.__name__}.{name}").ARGUMENTS.argument_spec.keys() - SHARED.keys()
        tasks = handed_on(role, name)
        assert tasks
        assert all(each == options - left_out - {FILE_OF_PROGRESS} for each in tasks), name


@pytest.mark.parametrize("role", NOT_HANDED_ON)
def test_every_variable_is_one_of_a_module_or_is_for_another_task(role: str) -> None:
    own = {each.removeprefix(f"{role}_") for each in own_options(role)}
    of_modules = {option for name in NOT_HANDED_ON[role] for options in handed_on(role, name) for option in options}
    assert own - of_modules == OTHERWISE.get(role, set()) | (own & {"report_html"})


def test_the_quorum_is_only_looked_at_after_it_was_observed() -> None:
    (elections,) = (each for each in tasks_of("leadership_drain") if "kafkaops.recovery.preferred_election" in each)
    assert elections["kafkaops.recovery.preferred_election"]["quorum_window_ms"] == 0


def test_the_defaults_of_the_log_cleaner_s_role_are_those_of_its_modules() -> None:
    role = "log_cleaner_recovery"
    defaults = loaded(role, "defaults/main.yml")
    for name, left_out in NOT_HANDED_ON[role].items():
        for option, each in import_module(f"{modules.__name__}.{name}").ARGUMENTS.argument_spec.items():
            if option not in left_out and f"{role}_{option}" in defaults:
                assert defaults[f"{role}_{option}"] == each["default"], option
