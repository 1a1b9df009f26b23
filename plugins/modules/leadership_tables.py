#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: leadership_tables
short_description: Print what became of replica orders and leaders, for a person
version_added: 1.0.0
description:
  - Prints the list of deprioritised brokers, and a row for each partition whose order or leader changed or should have,
    as tables as wide as the terminal, and line by line where there is no terminal, as in AWX.
  - Fails, in the same words, where one of the tasks failed that it is given.
  - Runs on the controller.
author:
  - the kafkaops.recovery authors (@kafkaops)
extends_documentation_fragment:
  - kafkaops.recovery.attributes
  - kafkaops.recovery.attributes.info_module
options:
  orders:
    description:
      - What M(kafkaops.recovery.preferred_leader_blacklist) returned.
    type: dict
    required: true
  leaders:
    description:
      - What M(kafkaops.recovery.preferred_election) returned. That it was skipped is fine.
    type: dict
    default: {}
  max_partitions:
    description:
      - How many partitions to print at most, in each of the two tables.
    type: int
    default: 50
"""

EXAMPLES = r"""
- name: Make broker 1 the last choice as a leader
  kafkaops.recovery.preferred_leader_blacklist:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    brokers: [1]
  register: orders

- name: Show what became of it
  kafkaops.recovery.leadership_tables:
    orders: "{{ orders }}"
"""

RETURN = r"""
"""
