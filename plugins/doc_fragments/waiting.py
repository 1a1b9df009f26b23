# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options of waiting for brokers; module_utils/_recovery/waiting.py has their argument spec."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  await_brokers:
    description:
      - Whether to wait for brokers that are away and whose answer may decide an election, up to
        O(recovery_duration_ms). Each is connected to every second, and so are brokers that have registered meanwhile.
      - Asking those that are there takes at most a third of that time more.
      - The controller quorum is observed meanwhile, for O(quorum_window_ms). The module fails where elections are
        planned and the quorum cannot bear them.
      - Otherwise, and in check mode, RV(awaited) says for whom it would wait. Not with O(evidence).
    type: bool
    default: false
  recovery_wait_ms:
    description:
      - How many milliseconds to wait for replicas without which O(recovery_strategy) does not recover a partition,
        where that is longer than O(recovery_duration_ms). This is KIP-966's C(unclean.recovery.timeout.ms).
      - The controller elects most of them by itself when they return. What is left is judged then.
      - Only with O(await_brokers). Not with O(evidence).
    type: int
    default: 0
  lost_brokers:
    description:
      - Ids of brokers that are gone for good. They are not awaited, and V(balanced) compares the replicas that are
        left.
      - One that answers is not gone. It is treated as all others are.
      - Not with O(evidence).
    type: list
    elements: int
    default: []
"""
