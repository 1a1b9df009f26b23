#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: stop_gate_tables
short_description: Print whether brokers may stop
version_added: 1.0.0
description:
  - Prints the answer, the reasons with their remedies, what would make it a yes, what would move, and the order of
    waves.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.attributes, kafkaops.recovery.attributes.info_module, kafkaops.recovery.printing,
  kafkaops.recovery.printing.result]
options:
  result: {description: What M(kafkaops.recovery.stop_gate) returned.}
  fail_on_no:
    description: Fail, after printing, if the answer is no.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Print the answer, and fail if it is no
  kafkaops.recovery.stop_gate_tables:
    result: "{{ gate }}"
    fail_on_no: true
"""

RETURN = r"""
verdict: {type: str, returned: success, description: "The verdict that is printed, in one sentence."}
text:
  description: The lines that are printed to stderr.
  returned: if the stdout callback writes JSON
  type: list
  elements: str
"""
