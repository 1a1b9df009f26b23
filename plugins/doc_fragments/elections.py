# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options of elections, whoever planned them; module_utils/_recovery/options.py has their argument spec."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  recovery_election_attempts:
    description:
      - How often to try a request that fails in a way that may pass. A request whose outcome is unknown is looked up
        before it is sent again.
    type: int
    default: 3
  verify_timeout_ms:
    description:
      - Milliseconds in which a change must be seen in the cluster's metadata before it counts as not done.
    type: int
    default: 30000
  election_timeout_ms:
    description:
      - Milliseconds that all elections may take together. What was not requested by then is not requested any more.
        Orders are restored after that time too, and the result says what was done.
      - An election whose response was lost may be executed for up to one minute. Its replica order is restored
        after that. With less time left the order stays, the journal has it, and the next run restores it.
    type: int
    default: 600000
  report_aftermath:
    description:
      - Report what the elections left behind. Nothing is aborted or reset.
      - Groups whose committed offset lies beyond the new log end, open transactions, and replicas that truncate when
        they return. Costs a few requests to each broker, and nothing when nothing was recovered.
    type: bool
    default: true
attributes:
  diff_mode:
    support: full
    details:
      - Leader and replica order of the partitions where they change, up to O(max_rows).
  idempotent: {support: full, details: [A partition that has a leader is left alone.]}
"""
