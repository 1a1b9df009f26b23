# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What can go wrong with a source of metrics. Standard library only."""

from __future__ import annotations

from ansible_collections.kafkaops.recovery.plugins.module_utils.model.errors import KafkaOpsError


class MetricsError(KafkaOpsError):
    """A broker's metrics cannot be had, or are not what they should be. Never to be read as zero."""
