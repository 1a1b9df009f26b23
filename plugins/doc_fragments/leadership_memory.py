# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options for storing original replica orders; module_utils/_leadership/memory_homes.py has their argument spec."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  memory:
    description:
      - Where the list and the original orders are stored.
      - V(topic) is the compacted topic O(memory_topic). If it cannot be written, the file is used with a warning. The
        next run on this host that can write to the topic moves the content of the file into it.
      - V(file) is a file in O(journal_dir), on this host only. It is refused while the topic has stored orders.
    type: str
    choices: [topic, file]
    default: topic
  memory_topic:
    description:
      - Name of the topic. If it does not exist, it is created with one partition and up to three replicas.
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
