#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: readiness_tables
short_description: Print whether a recovery would work
version_added: 1.0.0
description:
  - Prints the verdict, the red checks with their remedies, then warnings, then passed checks, and the effect of each
    broker's death.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.attributes, kafkaops.recovery.attributes.info_module, kafkaops.recovery.printing,
  kafkaops.recovery.printing.result]
options:
  result: {description: What M(kafkaops.recovery.readiness_info) returned.}
  fail_on:
    description:
      - Fail, after printing, if a check is red (V(failed)), or also if there is a warning (V(warning)).
      - Without it, checks do not fail the task.
    type: str
    choices: [failed, warning]
"""

EXAMPLES = r"""
- name: Print the result of readiness_info, and fail if a recovery would not work
  kafkaops.recovery.readiness_tables:
    result: "{{ readiness }}"
    fail_on: failed
"""

RETURN = r"""
verdict: {type: str, returned: success, description: "The verdict that is printed, in one sentence."}
text:
  description: The lines that are printed to stderr.
  returned: if the stdout callback writes JSON
  type: list
  elements: str
"""
