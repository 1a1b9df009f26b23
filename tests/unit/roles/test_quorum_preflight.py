# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role's contract: its argument specs, its defaults, and what it hands on to the module."""

from __future__ import annotations

import pytest

from unit.roles.role import own_options, tasks_of

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
    name = "kafkaops.recovery.quorum_info"
    (handed_on,) = (each[name] for each in tasks_of(ROLE) if name in each)
    assert handed_on.keys() == {"window_ms", "report_file"}


@pytest.mark.parametrize(("role", "found"), [(ROLE, "voters"), ("readiness", "checks")])
def test_what_was_found_is_shown_where_only_the_report_could_not_be_written(role: str, found: str) -> None:
    """The module fails then, and returns all the same what it found."""
    (module,) = (each for each in tasks_of(role) if "failed_when" in each)
    assert module["failed_when"] == f"{module['register']}.{found} is not defined"
    (printed,) = (each for each in tasks_of(role) if any(name.endswith("_tables") for name in each))
    assert "when" not in printed
