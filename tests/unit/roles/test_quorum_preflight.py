# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role's contract: its argument specs, its defaults, and what it hands on to the module."""

from __future__ import annotations

import pytest

from unit.roles.role import loaded, own_options

ROLE = "quorum_preflight"
OWN = {
    "quorum_preflight_window_ms",
    "quorum_preflight_report_file",
    "quorum_preflight_report_html",
    "quorum_preflight_fail_on",
}


def test_the_names_are_those_of_the_contract() -> None:
    assert own_options(ROLE) == OWN


def test_every_variable_reaches_the_module() -> None:
    handed_on = loaded(ROLE, "tasks/main.yml")[1]["block"][0]["kafkaops.recovery.quorum_info"]
    assert handed_on.keys() == {"window_ms", "report_file"}


@pytest.mark.parametrize(("role", "found"), [(ROLE, "voters"), ("readiness", "checks")])
def test_what_was_found_is_shown_where_only_the_report_could_not_be_written(role: str, found: str) -> None:
    """The module fails then, and returns all the same what it found."""
    _checked, shown_and_written = loaded(role, "tasks/main.yml")
    result = shown_and_written["block"][-1]["register"]
    for task in shown_and_written["always"]:
        assert f"{result}.{found} is defined" in str(task["when"])
