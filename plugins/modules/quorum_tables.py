#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: quorum_tables
short_description: Print what was found out about the quorum, for a person
version_added: 1.0.0
description:
  - Prints the verdict, the findings with their remedies, what may be done with which controller, and the members.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.attributes, kafkaops.recovery.attributes.info_module, kafkaops.recovery.printing,
  kafkaops.recovery.printing.result]
options:
  result: {description: What M(kafkaops.recovery.quorum_info) returned.}
  fail_on:
    description:
      - Fail, after printing, when elections must not be asked for, or when something this severe or worse was found.
      - When it is not given, the task does not fail for what it prints.
    type: str
    choices: [critical, warning, info]
"""

EXAMPLES = r"""
- name: Look at the quorum
  kafkaops.recovery.quorum_info:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
  register: quorum

- name: Show it, and fail when something is wrong
  kafkaops.recovery.quorum_tables:
    result: "{{ quorum }}"
    fail_on: warning
"""

RETURN = "# Nothing of its own."
