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
      - How many milliseconds M(kafkaops.recovery.unclean_recovery) waits for replicas without which
        O(recovery_strategy) does not recover a partition, where that is longer than O(recovery_duration_ms). This is
        KIP-966's C(unclean.recovery.timeout.ms).
      - The controller elects most of them by itself when they return. What is left is judged then.
    type: int
    default: 0
  lost_brokers:
    description:
      - Ids of brokers that are gone for good. They are not awaited, and V(balanced) compares the replicas that are
        left.
      - One that answers is not gone. It is treated as all others are.
    type: list
    elements: int
    default: []
"""
