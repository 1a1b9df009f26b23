# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options of the memory of replica orders; module_utils/_leadership/memory_homes.py has their argument spec."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  memory:
    description:
      - Where the list and the original orders are remembered.
      - V(topic) is a compacted topic of ours. Where it cannot be written, the file takes over, and a warning says so.
        It goes back into the topic with the next run on this host that can write there.
      - V(file) is a file in O(journal_dir), on this host only. It is refused while the topic remembers something.
    type: str
    choices: [topic, file]
    default: topic
  memory_topic:
    description:
      - Name of our topic. It is made where there is none, with one partition and up to three replicas.
      - One that is there already and has more partitions, or another C(cleanup.policy) than V(compact), is refused.
      - Our principal needs CREATE, DESCRIBE, DESCRIBE_CONFIGS, READ and WRITE on it.
    type: str
    default: _kafkaops_leadership
  attempts:
    description:
      - How often to try a request that fails with an error that may pass. Before each attempt, the cluster is read
        again.
    type: int
    default: 3
  verify_timeout_ms:
    description:
      - Milliseconds in which a change must be seen in the cluster's metadata. After that, it counts as not done.
    type: int
    default: 30000
"""
