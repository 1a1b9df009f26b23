# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options that select partitions; module_utils/_module/options.py has their argument spec."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  partitions:
    description:
      - The partitions to handle.
      - Without this and O(partitions_file), all offline partitions are handled. Kafka does not list topics that the
        principal may not describe, so these are missing without a warning.
  partitions_file:
    description:
      - Path of a JSON file with the partitions to handle, C({"partitions":[{"topic":"orders","partitions":[0,3]}]}).
        Files of C(kafka-leader-election.sh), with one C("partition") in each entry, and files of
        C(kafka-reassign-partitions.sh) and C(kafka-delete-records.sh) are accepted too. Their C(version), C(replicas),
        C(log_dirs) and C(offset) are ignored. An entry with only C("topic") means all its partitions.
      - The whole file is checked before any connection is opened, and every error is reported with its position.
      - A file that others may write is refused.
    type: path
  include_internal_topics:
    description:
      - Whether to handle offline partitions of Kafka's internal topics too, such as C(__consumer_offsets).
      - They hold the state of consumer groups and transactions. If records of these are lost, consumers and producers
        can fail or process records again. C(__remote_log_metadata) counts as one. It says which segments are in the
        tier.
    type: bool
    default: false
"""

    DESIGNATIONS = r"""
options:
  designations:
    description:
      - The partitions to recover and the new leader of each, chosen by you. Replicas are asked, losses are forecast,
        and strategy, limit and all refusals apply as for any other partition.
      - Give at most one of this, O(designations_file), O(partitions) and O(partitions_file).
    type: list
    elements: dict
    suboptions:
      topic: {type: str, required: true, description: Name of the topic.}
      partition: {type: int, required: true, description: "Number of the partition, from 0."}
      designated_leader: {type: int, required: true, description: Id of the new leader.}
  designations_file:
    description:
      - Path of a JSON file with the same, in the format of the elect tool of KAFKA-20098,
        C({"partitions":[{"topic":"orders","partition":0,"designatedLeader":2}]}).
      - A file that others may write is refused.
    type: path
"""

    # How partitions are named in O(partitions); what they are for is said elsewhere.
    NAMES = r"""
options:
  partitions:
    type: list
    elements: dict
    suboptions:
      topic: {type: str, required: true, description: Name of the topic.}
      partition:
        description:
          - Number of the partition, from 0.
          - Without this and O(partitions[].partitions), all partitions of the topic are meant.
        type: int
      partitions: {type: list, elements: int, description: Numbers of partitions of that topic.}
"""
