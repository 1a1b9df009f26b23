# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role's contract: its argument specs, its defaults, and what it hands on to the modules."""

from __future__ import annotations

from ansible_collections.kafkaops.recovery.plugins.modules import preferred_election, preferred_leader_blacklist
from unit.roles.role import SHARED, own_options, tasks_of

ROLE = "leadership_drain"
OWN = {
    "leadership_drain_brokers",
    "leadership_drain_active_controller",
    "leadership_drain_state",
    "leadership_drain_elect_preferred",
    "leadership_drain_max_moves",
    "leadership_drain_topics",
    "leadership_drain_memory_topic",
    "leadership_drain_report_file",
    "leadership_drain_report_html",
    "leadership_drain_ignore_quorum",
}
NOT_HANDED_ON = {"attempts", "verify_timeout_ms", "progress_file", "quorum_window_ms"}


def test_the_names_are_those_of_the_contract() -> None:
    assert own_options(ROLE) == OWN


def test_every_variable_reaches_the_modules() -> None:
    tasks = tasks_of(ROLE)
    for module in (preferred_leader_blacklist, preferred_election):
        name = f"kafkaops.recovery.{module.__name__.rpartition('.')[2]}"
        (handed_on,) = (task[name] for task in tasks if name in task)
        # The quorum is observed before the orders are changed, and only looked at before the elections.
        assert handed_on.pop("quorum_window_ms", None) == (0 if module is preferred_election else None)
        assert handed_on.keys() == module.ARGUMENTS.argument_spec.keys() - SHARED.keys() - NOT_HANDED_ON
