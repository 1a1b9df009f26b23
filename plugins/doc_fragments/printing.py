# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options of the modules that print a summary; plugin_utils/printing_action.py has their argument spec."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
notes:
  - Runs on the Ansible controller. The text is the same in a terminal and in AWX, except for color and for a
    bar at the beginning of each line of a table. AAP 2.6 strips the spaces there.
  - If a program reads stdout as JSON, because the stdout callback is C(ansible.posix.json) or C(ansible.posix.jsonl),
    the text goes to stderr, and into the result.
options:
  report_file:
    description:
      - Path of the report, which is printed at the end.
    type: path
  page:
    description:
      - Options of M(kafkaops.recovery.incident_report), such as C(files), C(html) and C(title). Unless C(html) is
        empty, the file is written first. Its path is printed at the end, and the task fails if it could not be written.
      - Empty names and URIs in C(files) are left out.
    type: dict
    default: {}
"""

    # The module says in its own documentation which result it prints.
    RESULT = r"""
options:
  result: {type: dict, required: true}
"""
