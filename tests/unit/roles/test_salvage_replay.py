# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role's contract: its argument specs, its defaults, and what it hands on to the module."""

from __future__ import annotations

from ansible_collections.kafkaops.recovery.plugins.modules import salvage_replay
from unit.roles.role import SHARED, own_options, tasks_of

ROLE = "salvage_replay"
NOT_HANDED_ON = {"max_rows", "progress_file", "quorum_window_ms"}
OTHER_NAMES = {"salvage_dir": "dir"}


def test_every_variable_reaches_the_module() -> None:
    name = "kafkaops.recovery.salvage_replay"
    (handed_on,) = (task[name] for task in tasks_of(ROLE) if name in task)
    assert handed_on.keys() == salvage_replay.ARGUMENTS.argument_spec.keys() - SHARED.keys() - NOT_HANDED_ON
    # Not the module, but incident_report.
    own = {f"{ROLE}_{OTHER_NAMES.get(name, name)}" for name in handed_on}
    assert own_options(ROLE) == {f"{ROLE}_report_html", *own}
