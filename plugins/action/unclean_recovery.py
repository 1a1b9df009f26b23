# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run unclean_recovery, or a module that meta/runtime.yml sends here, and print its progress."""

from __future__ import annotations

# Most modules that run here observe the quorum for seconds before they write. So this process imports now what the
# next task prints their results with.
from ansible_collections.kafkaops.recovery.plugins.plugin_utils import layout, recovery_page  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.plugin_utils.progress_action import ProgressAction


class ActionModule(ProgressAction):
    """See ProgressAction."""
