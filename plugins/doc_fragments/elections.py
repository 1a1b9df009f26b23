# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options of elections; module_utils/_recovery/options.py has their argument spec."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  recovery_election_attempts:
    description:
      - How often to try a request that fails with an error that may pass. If the outcome of a request is unknown, it is
        looked up in the metadata before the request is sent again.
    type: int
    default: 3
  verify_timeout_ms:
    description:
      - Milliseconds in which a change must be seen in the cluster's metadata. After that, it counts as not done.
    type: int
    default: 30000
  election_timeout_ms:
    description:
      - Milliseconds that all elections may take together. After that, no further election is requested. Orders are
        still restored after that time, and the result reports what was done.
      - An election whose response was lost may still be executed for up to one minute. Its replica order is restored
        after that. If less time is left, the order stays changed, and the next run restores it from the journal.
    type: int
    default: 600000
  report_aftermath:
    description:
      - Report what the elections left behind. The module aborts and resets nothing.
      - It lists groups whose committed offset is beyond the new log end, open transactions, and replicas that truncate
        when they return. This needs a few requests to each broker, and none if nothing was recovered.
    type: bool
    default: true
attributes:
  diff_mode:
    support: full
    details:
      - Leader and replica order of the partitions that change, up to O(max_rows).
  idempotent: {support: full, details: [A partition that has a leader is left alone.]}
"""
