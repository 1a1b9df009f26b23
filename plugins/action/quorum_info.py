# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run quorum_info, or a module that meta/runtime.yml sends here."""

from __future__ import annotations

from ansible_collections.kafkaops.recovery.plugins.plugin_utils.progress_action import ModuleAction


class ActionModule(ModuleAction):
    """See ModuleAction."""
