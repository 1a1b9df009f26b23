# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role's contract: its argument specs, its defaults, and what it hands on to the module."""

from __future__ import annotations

from ansible_collections.kafkaops.recovery.plugins.modules import replica_log_salvage
from unit.roles.role import SHARED, own_options, tasks_of

ROLE = "log_salvage"
OWN = {
    "log_salvage_log_dirs",
    "log_salvage_dir",
    "log_salvage_topics",
    "log_salvage_include_absent_topics",
    "log_salvage_leaders_timeout_ms",
    "log_salvage_report_file",
    "log_salvage_report_html",
    "log_salvage_spark",
}
NOT_HANDED_ON = {"max_rows", "progress_file"}


def test_the_names_are_those_of_the_contract() -> None:
    assert own_options(ROLE) == OWN


def test_every_variable_reaches_the_module() -> None:
    name = "kafkaops.recovery.replica_log_salvage"
    (handed_on,) = (task[name] for task in tasks_of(ROLE) if name in task)
    assert handed_on.keys() == replica_log_salvage.ARGUMENTS.argument_spec.keys() - SHARED.keys() - NOT_HANDED_ON
