#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: redundancy_tables
short_description: Print which partitions get their replicas back
version_added: 1.0.0
description:
  - Prints how many partitions got or would get their replicas, the partitions that do not, and the command for the next
    step.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.attributes, kafkaops.recovery.attributes.info_module, kafkaops.recovery.printing,
  kafkaops.recovery.printing.result]
options:
  result: {description: What M(kafkaops.recovery.redundancy) returned.}
  variables:
    description:
      - The variables of the role, from which the next command is made. Without them, none is printed.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Print the result
  kafkaops.recovery.redundancy_tables:
    result: "{{ redundancy }}"
"""

RETURN = r"""
verdict: {type: str, returned: success, description: "The verdict that is printed, in one sentence."}
text:
  description: The lines that are printed to stderr.
  returned: if the stdout callback writes JSON
  type: list
  elements: str
"""
