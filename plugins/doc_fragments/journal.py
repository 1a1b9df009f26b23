# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The journal's option; module_utils/glue/journal.py has its argument spec."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  journal_dir:
    description:
      - Directory of the journals, one a cluster. A journal holds what a run has changed and not yet put back, so that
        a run after a crash can put it back.
      - Defaults to C($XDG_STATE_HOME/kafkaops-recovery), or else to V(~/.local/state/kafkaops-recovery).
    type: path
"""
