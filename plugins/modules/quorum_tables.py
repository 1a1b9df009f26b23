#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: quorum_tables
short_description: Print the state of the quorum
version_added: 1.0.0
description:
  - Prints the verdict, the findings with their remedies, the actions that each controller allows, and the members.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.attributes, kafkaops.recovery.attributes.info_module, kafkaops.recovery.printing,
  kafkaops.recovery.printing.result]
options:
  result: {description: What M(kafkaops.recovery.quorum_info) returned.}
  fail_on:
    description:
      - Fail, after printing, if elections must not be requested, or if there is a finding of this severity or worse.
      - Without it, findings do not fail the task.
    type: str
    choices: [critical, warning, info]
"""

EXAMPLES = r"""
- name: Read the state of the quorum
  kafkaops.recovery.quorum_info:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
  register: quorum

- name: Print it, and fail if something is wrong
  kafkaops.recovery.quorum_tables:
    result: "{{ quorum }}"
    fail_on: warning
"""

RETURN = r"""
verdict: {type: str, returned: success, description: "The verdict that is printed, in one sentence."}
text:
  description: The lines that are printed to stderr.
  returned: if the stdout callback writes JSON
  type: list
  elements: str
"""
