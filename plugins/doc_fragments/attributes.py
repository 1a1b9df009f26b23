# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The attributes that modules share."""

from __future__ import annotations

_GROUPS = {
    "kafka": "how to connect",
    "controllers": "how to connect to the controllers",
    "journal": "where the journal is",
    "planning": "what a plan is made of",
    "elections": "how elections are carried out",
    "log_cleaner": "the metrics source and the thresholds",
}


def _groups(*names: str) -> str:
    """Return the documentation of a module that is in these action groups of meta/runtime.yml."""
    uses = "; ".join(f"C(group/kafkaops.recovery.{name}) for {_GROUPS[name]}" for name in names)
    members = ", ".join(f"kafkaops.recovery.{name}" for name in names)
    return f"""
options: {{}}
attributes:
  action_group:
    description: "Options that C(module_defaults) can give once for several modules: {uses}."
    support: full
    membership: [{members}]
"""


class ModuleDocFragment:
    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying the cluster.
  diff_mode: {description: "Returns details on what has changed, or would change in C(check_mode), when in diff mode."}
  idempotent:
    description: When run twice in a row, with the same arguments and nothing else changing the cluster, the second
      run changes nothing.
"""

    # Together with the standard fragment.
    INFO_MODULE = r"""
options: {}
attributes:
  check_mode: {support: full, details: [Only reads from the cluster.]}
  diff_mode: {support: N/A, details: [Only reads from the cluster.]}
  idempotent: {support: full, details: [Only reads from the cluster.]}
"""

    ACTION_GROUP = _groups("kafka")
    JOURNAL_GROUP = _groups("kafka", "journal")
    CONTROLLERS_GROUP = _groups("kafka", "controllers")
    CHANGES_GROUP = _groups("kafka", "controllers", "journal")
    PLANNING_GROUP = _groups("kafka", "planning")
    ELECTIONS_GROUP = _groups("kafka", "controllers", "journal", "elections")
    RECOVERY_GROUP = _groups("kafka", "controllers", "journal", "planning", "elections")
    LOG_CLEANER_INFO_GROUP = _groups("kafka", "log_cleaner")
    LOG_CLEANER_GROUP = _groups("kafka", "controllers", "journal", "log_cleaner")
