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
      - Goes on although the controller quorum has no leader, or no majority of it is caught up, or our principal may
        not ask (DESCRIBE on the cluster).
      - Without it nothing is asked of a controller that could not commit it.
    type: bool
    default: false
  quorum_window_ms:
    description:
      - For how many milliseconds to observe the quorum before something is written. V(0) is one look, which shows no
        leader that comes and goes. In check mode it is one look.
    type: int
    default: 3000
"""

    SEEN = r"""
options:
  quorum_seen:
    description:
      - Who led the quorum when an earlier task on the same host looked,
        RV(kafkaops.recovery.offline_partition_info#module:quorum_seen). The time of O(quorum_window_ms) counts from
        then on, because epochs only rise and so whatever has changed since shows.
      - Without effect where it is older than a minute.
    type: dict
    suboptions:
      leader_id: {type: int, required: true, description: Id of the leader.}
      leader_epoch: {type: int, required: true, description: Its epoch.}
      seen_at_ms: {type: int, required: true, description: "When that was, by the host's monotonic clock."}
"""
