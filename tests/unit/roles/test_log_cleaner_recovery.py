# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the role refuses first, and what it writes whatever happens."""

from __future__ import annotations

import pytest
from ansible.module_utils.parsing.convert_bool import boolean
from jinja2 import Environment

from unit.roles.role import loaded, tasks_of

ROLE = "log_cleaner_recovery"


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
