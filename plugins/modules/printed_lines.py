#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: printed_lines
short_description: Print sentences
version_added: 1.0.0
description:
  - Prints sentences as a person reads them, wrapped to the width of the terminal. C(ansible.builtin.debug) prints JSON.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.attributes, kafkaops.recovery.attributes.info_module, kafkaops.recovery.printing]
options:
  lines:
    description: The sentences. Each begins a line, behind its own spaces. Its further lines are indented more.
    type: list
    elements: str
    required: true
  variables:
    description:
      - Variables of the next command. After the sentences, each is printed in one line, as a shell passes it to
        C(ansible-playbook).
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Print what was found
  kafkaops.recovery.printed_lines:
    lines: "{{ plan.text }}"
"""

RETURN = r"""
verdict: {type: str, returned: success, description: "The first of the sentences."}
text:
  description: The lines that are printed to stderr.
  returned: if the stdout callback writes JSON
  type: list
  elements: str
"""
