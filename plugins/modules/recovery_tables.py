#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: recovery_tables
short_description: Print what was found and done, for a person
version_added: 1.0.0
description:
  - Prints the verdict, the brokers that are not online with their cause, the next steps as commands, and the
    partitions, grouped by what they share. With C(-v), prints a row for each partition too.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.attributes, kafkaops.recovery.attributes.info_module, kafkaops.recovery.printing,
  kafkaops.recovery.printing.result]
options:
  result:
    description:
      - What M(kafkaops.recovery.unclean_recovery), M(kafkaops.recovery.designated_election) or
        M(kafkaops.recovery.leader_candidate_info) returned. Of M(kafkaops.recovery.offline_partition_info), the
        partitions that are left alone are printed.
  tables:
    description:
      - What to print, in this order. V(replicas) has a row for each replica, with its rank. V(outcomes) has all else.
    type: list
    elements: str
    choices: [replicas, outcomes]
    default: [outcomes]
  accepted:
    description:
      - Fail, after printing, when a partition has another status than these, or when a replica order that an earlier
        run changed was not restored.
      - When it is not given, the task does not fail for what it prints.
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
  variables:
    description:
      - Variables of the role P(kafkaops.recovery.unclean_recovery#role) that the commands of the next steps repeat.
        They must hold no secret.
      - Of C(unclean_recovery_plan), only whether a plan was given as data.
      - Without any variable, the next steps are named without their commands.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Plan
  kafkaops.recovery.leader_candidate_info:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
  register: candidates

- name: Show the replicas
  kafkaops.recovery.recovery_tables:
    result: "{{ candidates }}"
    tables: [replicas]

- name: Show how the elections ended, and fail unless every partition is back
  kafkaops.recovery.recovery_tables:
    result: "{{ elections }}"
    accepted: [recovered, already_online]
"""

RETURN = "# Nothing of its own."
