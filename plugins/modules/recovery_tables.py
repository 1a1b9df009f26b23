#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: recovery_tables
short_description: Print the state and the outcome of a recovery
version_added: 1.0.0
description:
  - Prints the verdict, the brokers that are not online with their cause, the next steps as commands, and the
    partitions, grouped by outcome, cause and loss. With C(-v), it also prints a row for each partition.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.attributes, kafkaops.recovery.attributes.info_module, kafkaops.recovery.printing,
  kafkaops.recovery.printing.result]
options:
  result:
    description:
      - What M(kafkaops.recovery.unclean_recovery), M(kafkaops.recovery.designated_election) or
        M(kafkaops.recovery.leader_candidate_info) returned. Of the result of
        M(kafkaops.recovery.offline_partition_info), it prints the partitions that were left alone.
  tables:
    description:
      - What to print, in this order. V(replicas) has a row for each replica, with its rank. V(outcomes) has everything
        else.
    type: list
    elements: str
    choices: [replicas, outcomes]
    default: [outcomes]
  accepted:
    description:
      - Fail, after printing, if a partition has another status than these, or if a replica order that an earlier run
        changed was not restored.
      - Without it, these do not fail the task.
    type: list
    elements: str
  start_order:
    description:
      - What M(kafkaops.recovery.offline_partition_info) returned as C(start_order). Printed as the first of the next
        steps, unless every partition has a leader.
    type: list
    elements: dict
    default: []
  awaited:
    description:
      - What M(kafkaops.recovery.leader_candidate_info) returned as
        RV(kafkaops.recovery.leader_candidate_info#module:awaited). Printed with the brokers.
    type: list
    elements: dict
    default: []
  failure:
    description: Why the task fails after printing, whatever else it prints. Empty for no reason.
    type: str
    default: ""
  warning:
    description: Why later jobs do not get the plan, where the task must not fail for it. Empty for no reason.
    type: str
    default: ""
  variables:
    description:
      - Variables of the role P(kafkaops.recovery.unclean_recovery#role) for the commands of the next steps. They must
        not contain secrets.
      - For C(unclean_recovery_plan), give only whether a plan was given as data.
      - Without any variable, the next steps are printed without commands.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Plan
  kafkaops.recovery.leader_candidate_info:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
  register: candidates

- name: Print the replicas
  kafkaops.recovery.recovery_tables:
    result: "{{ candidates }}"
    tables: [replicas]

- name: Print the outcome of the elections, and fail unless every partition has a leader
  kafkaops.recovery.recovery_tables:
    result: "{{ elections }}"
    accepted: [recovered, already_online]
"""

RETURN = r"""
verdict: {type: str, returned: success, description: "The verdict that is printed, in one sentence."}
text:
  description: The lines that are printed to stderr.
  returned: if the stdout callback writes JSON
  type: list
  elements: str
"""
