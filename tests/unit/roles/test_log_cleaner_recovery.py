# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role's contract: its argument specs, its defaults, and what it hands on to the modules."""

from __future__ import annotations

import pytest
from ansible.module_utils.parsing.convert_bool import boolean
from jinja2 import Environment

from ansible_collections.kafkaops.recovery.plugins.modules import log_cleaner, log_cleaner_info, log_cleaner_repair
from unit.roles.role import SHARED, loaded, own_options, tasks_of

ROLE = "log_cleaner_recovery"
CONTRACT = {
    "log_cleaner_recovery_metrics_source",
    "log_cleaner_recovery_metrics_url",
    "log_cleaner_recovery_repair_uncleanable",
    "log_cleaner_recovery_report_file",
    "log_cleaner_recovery_report_html",
}
NOT_HANDED_ON = {
    log_cleaner_info: {"progress_file"},
    log_cleaner: {"progress_file", "state", "settings", "unset", "attempts", "quorum_window_ms"},
    log_cleaner_repair: {
        "progress_file",
        "partitions",
        "partitions_file",
        "force",
        "attempts",
        "verify_timeout_ms",
        "quorum_window_ms",
    },
}
OF_ANOTHER_NAME = {
    "log_cleaner_recovery_force_restart",
    "log_cleaner_recovery_restart_timeout_ms",
    "log_cleaner_recovery_fail_on_unhealthy",
}


def test_the_names_are_those_of_the_contract_and_of_the_modules() -> None:
    handed_on = {
        name
        for module, ours in NOT_HANDED_ON.items()
        for name in module.ARGUMENTS.argument_spec.keys() - SHARED.keys() - ours
    } - {"force", "verify_timeout_ms"}
    own = CONTRACT | OF_ANOTHER_NAME | {f"{ROLE}_{name}" for name in handed_on}
    assert own_options(ROLE) == own


def test_the_defaults_are_those_of_the_modules() -> None:
    defaults = loaded(ROLE, "defaults/main.yml")
    for module, ours in NOT_HANDED_ON.items():
        for name, each in module.ARGUMENTS.argument_spec.items():
            if name not in ours and f"{ROLE}_{name}" in defaults:
                assert defaults[f"{ROLE}_{name}"] == each["default"], name


def test_every_variable_reaches_the_modules() -> None:
    tasks = tasks_of(ROLE)
    (looked_at,) = (
        each["module_defaults"]["group/kafkaops.recovery.log_cleaner"] for each in tasks if "module_defaults" in each
    )
    for module, ours in NOT_HANDED_ON.items():
        name = f"kafkaops.recovery.{module.__name__.rpartition('.')[2]}"
        handed_on = [task[name] for task in tasks if name in task]
        assert handed_on
        for each in handed_on:
            assert each.keys() | looked_at.keys() == module.ARGUMENTS.argument_spec.keys() - SHARED.keys() - ours


@pytest.mark.parametrize(
    ("repairs", "source", "is_accepted"),
    [(True, "none", False), (True, "jolokia", True), (False, "none", True)],
)
def test_a_repair_that_no_option_names_the_replicas_for_is_refused_before_all_else(
    repairs: object, source: str, is_accepted: bool
) -> None:
    first = next(task for task in tasks_of(ROLE) if "register" not in task and "ansible.builtin.assert" in task)
    environment = Environment()
    environment.filters["bool"] = boolean
    accepts = environment.compile_expression(first["ansible.builtin.assert"]["that"])
    variables = {f"__{ROLE}_checked": {"options": {"repair_uncleanable": repairs, "metrics_source": source}}}
    assert accepts(variables) is is_accepted


def test_the_report_is_written_whatever_comes_of_what_is_done() -> None:
    (doing,) = (task for task in loaded(ROLE, "tasks/reported.yml") if "always" in task)
    assert doing["block"][0]["ansible.builtin.import_tasks"] == "clean.yml"
    (report,) = doing["always"]
    assert "before" in report["kafkaops.recovery.log_cleaner_report"]
