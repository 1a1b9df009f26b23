#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: leadership_tables
short_description: Print the outcome for replica orders and leaders
version_added: 1.0.0
description:
  - Prints the list of deprioritized brokers, and the partitions whose order or leader changed or should have changed,
    grouped by status and reason. With C(-v), it also prints a row for each partition.
  - Fails with the same message if one of the given tasks failed.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.attributes, kafkaops.recovery.attributes.info_module, kafkaops.recovery.printing]
options:
  orders:
    description:
      - What M(kafkaops.recovery.preferred_leader_blacklist) returned.
    type: dict
    required: true
  leaders:
    description:
      - What M(kafkaops.recovery.preferred_election) returned. It may have been skipped.
    type: dict
    default: {}
  stop:
    description:
      - What M(kafkaops.recovery.stop_gate) returned about the listed brokers. It may have been skipped, or have failed.
    type: dict
    default: {}
  variables:
    description:
      - The variables of the playbook, for the command that asks again.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Deprioritize broker 1 as a leader
  kafkaops.recovery.preferred_leader_blacklist:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    brokers: [1]
  register: orders

- name: Print the outcome
  kafkaops.recovery.leadership_tables:
    orders: "{{ orders }}"
"""

RETURN = r"""
verdict: {type: str, returned: success, description: "The verdict that is printed, in one sentence."}
text:
  description: The lines that are printed to stderr.
  returned: if the stdout callback writes JSON
  type: list
  elements: str
"""
