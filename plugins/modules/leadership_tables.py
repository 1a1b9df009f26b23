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
  - Prints the list of deprioritized brokers, and the partitions whose order or leader changed or should have, grouped
    by what they share. With C(-v), prints a row for each partition too.
  - Fails, in the same words, where one of the tasks failed that it is given.
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
      - What M(kafkaops.recovery.preferred_election) returned. That it was skipped is fine.
    type: dict
    default: {}
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

RETURN = "# Nothing of its own."
