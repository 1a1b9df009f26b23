# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The attributes that modules share."""

from __future__ import annotations


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

    ACTION_GROUP = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/kafkaops.recovery.kafka) in C(module_defaults) to give the connection options once.
    support: full
    membership:
      - kafkaops.recovery.kafka
"""

    LOG_CLEANER_GROUP = r"""
options: {}
attributes:
  action_group:
    description:
      - Use C(group/kafkaops.recovery.kafka) in C(module_defaults) to give the connection options once, and
        C(group/kafkaops.recovery.log_cleaner) for the metrics source and the thresholds.
    support: full
    membership:
      - kafkaops.recovery.kafka
      - kafkaops.recovery.log_cleaner
"""

    PLANNING_GROUP = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/kafkaops.recovery.kafka) in C(module_defaults) to give the connection options once, and
      C(group/kafkaops.recovery.planning) for what a plan is made of.
    support: full
    membership:
      - kafkaops.recovery.kafka
      - kafkaops.recovery.planning
"""

    ELECTIONS_GROUP = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/kafkaops.recovery.kafka) in C(module_defaults) to give the connection options once, and
      C(group/kafkaops.recovery.elections) for how elections are carried out.
    support: full
    membership:
      - kafkaops.recovery.kafka
      - kafkaops.recovery.elections
"""

    RECOVERY_GROUPS = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/kafkaops.recovery.kafka) in C(module_defaults) to give the connection options once,
      C(group/kafkaops.recovery.planning) for what a plan is made of, and C(group/kafkaops.recovery.elections) for how
      its elections are carried out.
    support: full
    membership:
      - kafkaops.recovery.kafka
      - kafkaops.recovery.planning
      - kafkaops.recovery.elections
"""
