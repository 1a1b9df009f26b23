# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options for storing original replica orders; module_utils/_leadership/memory_topic.py has their argument spec."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  memory_topic:
    description:
      - Name of the topic that has the list and the original orders. If it does not exist, it is created with
        one partition and up to three replicas.
      - An existing topic with more partitions, or with another C(cleanup.policy) than V(compact), is refused.
      - The principal needs CREATE, DESCRIBE, DESCRIBE_CONFIGS, READ and WRITE on it.
    type: str
    default: _kafkaops_leadership
  verify_timeout_ms:
    description:
      - Milliseconds in which a change must be seen in the cluster's metadata. After that, it counts as not done.
    type: int
    default: 30000
  attempts:
    description:
      - How often to try a request that fails with an error that may pass. Before each attempt, the cluster is read
        again.
    type: int
    default: 3
"""
