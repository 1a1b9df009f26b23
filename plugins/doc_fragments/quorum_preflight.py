# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The option to go on without a sound quorum; module_utils/_module/quorum_preflight.py has its argument spec."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  ignore_quorum:
    description:
      - Continue although the controller quorum has no leader or no caught-up majority, or although the principal may
        not read its state (DESCRIBE on the cluster).
      - Without it, the module requests no change that the controller could not commit.
    type: bool
    default: false
  quorum_window_ms:
    description:
      - For how many milliseconds to observe the quorum before the first write, at most. It is shorter if the leader's
        epoch stood still for a second, in which every voter fetched and had all records, nothing else is wrong, and the
        finalized metadata.version is 4.0 or later.
      - With V(0) and in check mode, the quorum is read once, which does not show leader changes.
    type: int
    default: 3000
"""

    SEEN = r"""
options:
  quorum_seen:
    description:
      - The leader of the quorum that an earlier task on the same host observed,
        RV(kafkaops.recovery.offline_partition_info#module:quorum_seen). O(quorum_window_ms) counts from that time,
        because a higher epoch shows every change since then.
      - Ignored if it is older than a minute.
    type: dict
    suboptions:
      leader_id: {type: int, required: true, description: Id of the leader.}
      leader_epoch: {type: int, required: true, description: Its epoch.}
      seen_at_ms: {type: int, required: true, description: "When it was observed, by the host's monotonic clock."}
"""
