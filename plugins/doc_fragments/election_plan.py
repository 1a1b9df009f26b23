# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options of a plan to carry out; module_utils/_recovery/designations.py has the argument spec."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  plan_file:
    description:
      - Path of a plan that M(kafkaops.recovery.leader_candidate_info) wrote.
      - The whole file is checked before any connection is opened, and every error is reported with its position. The
        file is also refused if it was edited without a new digest, or if other users may write it.
      - Exactly one of O(plan_file), O(plan) and O(partitions) is required.
    type: path
  plan:
    description:
      - A plan as data, RV(kafkaops.recovery.leader_candidate_info#module:plan) or
        RV(kafkaops.recovery.leader_candidate_info#module:published_plan).
    type: dict
  plan_digest:
    description:
      - The digest of the plan that was approved, C(sha256:...). Any other plan is refused.
    type: str
  max_lost_records:
    description:
      - The limit of records that an election may be known to lose. The plan is refused unless each of its elections was
        planned with this limit or a lower one. If a replica that was silent answers now, each election is checked again
        by its own limit.
    type: int
  max_estimated_loss:
    description:
      - The limit of records that an election may be estimated to lose. The plan is refused unless each of its elections
        was planned with this limit or a lower one.
    type: int
  partitions:
    description:
      - The partitions and their new leaders, chosen by you. The logs of the replicas are not compared.
      - Partitions of Kafka's internal topics need O(include_internal_topics).
    type: list
    elements: dict
    suboptions:
      topic: {type: str, required: true, description: Name of the topic.}
      partition: {type: int, required: true, description: "Number of the partition, from 0."}
      designated_leader:
        description:
          - Id of the new leader. It must have a replica.
        type: int
        required: true
"""
