# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options that say which partitions; module_utils/_module/options.py has their argument spec."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  partitions:
    description:
      - The partitions to look at.
      - When neither this nor O(partitions_file) is given, all offline partitions are looked at. Topics that our
        principal may not describe are silently absent then, as Kafka leaves them out.
  partitions_file:
    description:
      - Path of a JSON file with the partitions to look at, C({"partitions":[{"topic":"orders","partitions":[0,3]}]}).
        Files of C(kafka-leader-election.sh), with one C("partition") an entry, are taken too.
      - The whole file is checked before any connection is opened, and every error in it is named with its place.
      - A file that others may write is refused.
    type: path
  include_internal_topics:
    description:
      - Whether to look at offline partitions of Kafka's internal topics, such as C(__consumer_offsets), too.
      - They hold the state of consumer groups and transactions. To lose records of these can make consumers and
        producers fail or read again.
    type: bool
    default: false
"""

    DESIGNATIONS = r"""
options:
  designations:
    description:
      - The partitions to recover and who is to lead each, chosen by you. Replicas are asked, losses are forecast, and
        strategy, limit and all refusals hold as for any other partition.
      - At most one of this, O(designations_file), O(partitions) and O(partitions_file) is given.
    type: list
    elements: dict
    suboptions:
      topic: {type: str, required: true, description: Name of the topic.}
      partition: {type: int, required: true, description: "Number of the partition, from 0."}
      designated_leader: {type: int, required: true, description: Id of the broker that is to lead.}
  designations_file:
    description:
      - Path of a JSON file with the same, as the elect tool of KAFKA-20098 takes it,
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
          - One of O(partitions[].partition) and O(partitions[].partitions) is required.
        type: int
      partitions: {type: list, elements: int, description: Numbers of partitions of that topic.}
"""
