# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The option of live progress; module_utils/_module/options.py has its argument spec."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  progress_file:
    description:
      - File to which each step appends a line of JSON, with C(text), C(done) and C(total).
      - On a local connection it is not needed, because the task itself prints the progress.
    type: path
"""
