# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run unclean_recovery, or a module that meta/runtime.yml sends here, and print its progress."""

from __future__ import annotations

from ansible_collections.kafkaops.recovery.plugins.plugin_utils.progress_action import ProgressAction


class ActionModule(ProgressAction):
    """See ProgressAction."""
