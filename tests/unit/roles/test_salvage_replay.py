# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role's contract: its argument specs, its defaults, and what it hands on to the module."""

from __future__ import annotations

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.connection import CONNECTION, CONTROLLERS
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.options import JOURNAL
from ansible_collections.kafkaops.recovery.plugins.modules import salvage_replay
from unit.roles.role import loaded, options

ROLE = "salvage_replay"
REACHING = CONNECTION.argument_spec
NOT_HANDED_ON = {"max_rows", "progress_file", "quorum_window_ms"}
SHARED = {**JOURNAL.argument_spec, **CONTROLLERS.argument_spec}
OTHER_NAMES = {"salvage_dir": "dir"}


def test_every_variable_reaches_the_module() -> None:
    (task,) = loaded(ROLE, "tasks/main.yml")[0]["block"]
    handed_on = task["kafkaops.recovery.salvage_replay"]
    assert handed_on.keys() == salvage_replay.ARGUMENTS.argument_spec.keys() - REACHING.keys() - NOT_HANDED_ON
    # Not the module, but incident_report.
    own = {f"{ROLE}_report_html"} | {
        f"{ROLE}_{OTHER_NAMES.get(name, name)}" for name in handed_on.keys() - SHARED.keys()
    }
    assert options(ROLE).keys() == own | {f"kafka_{name}" for name in (*REACHING, *SHARED)}
