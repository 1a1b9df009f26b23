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
