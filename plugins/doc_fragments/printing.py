# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options of everything that prints a summary; plugin_utils/printing_action.py has their argument spec."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
notes:
  - Runs on the controller. The text is the same in a terminal and in AWX, but for color.
options:
  report_file:
    description:
      - Path of the report, to name it at the end.
    type: path
  page:
    description:
      - What M(kafkaops.recovery.incident_report) returned, to name the HTML file at the end, or to fail when it could
        not be written. That it was skipped is fine.
    type: dict
    default: {}
"""

    # The module says in its own documentation which result it prints.
    RESULT = r"""
options:
  result: {type: dict, required: true}
"""
