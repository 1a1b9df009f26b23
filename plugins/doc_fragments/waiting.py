# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options of waiting for brokers; module_utils/_recovery/waiting.py has their argument spec."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  recovery_wait_ms:
    description:
      - How many milliseconds M(kafkaops.recovery.unclean_recovery) waits for replicas that O(recovery_strategy) needs
        to recover a partition, if that is longer than O(recovery_duration_ms). This is KIP-966's
        C(unclean.recovery.timeout.ms).
      - The controller elects most of them by itself when they return. The remaining partitions are planned after that.
    type: int
    default: 0
  lost_brokers:
    description:
      - Ids of brokers that are lost permanently. The module does not wait for them, and V(balanced) compares the other
        replicas.
      - A listed broker that answers is treated like any other broker, except for its replicas on log directories that
        are offline. These are lost, too.
    type: list
    elements: int
    default: []
"""
