#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: group_recovery_tables
short_description: Print which groups get their offsets back
version_added: 1.0.0
description:
  - Prints how many committed offsets were or would be changed, which ones are not, and the command for the next step.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.attributes, kafkaops.recovery.attributes.info_module, kafkaops.recovery.printing,
  kafkaops.recovery.printing.result]
options:
  result: {description: What M(kafkaops.recovery.group_recovery) returned.}
  variables:
    description:
      - The variables of the role, from which the next command is made. Without them, none is printed.
    type: dict
    default: {}
  fail_on_need:
    description:
      - Whether to fail if something would be changed. After a look this shows by the exit status that it is needed.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Print the result
  kafkaops.recovery.group_recovery_tables:
    result: "{{ groups }}"
"""

RETURN = r"""
verdict: {type: str, returned: success, description: "The verdict that is printed, in one sentence."}
text:
  description: The lines that are printed to stderr.
  returned: if the stdout callback writes JSON
  type: list
  elements: str
"""
