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
      - File to add a line of JSON to at each step, with C(text), C(done) and C(total).
      - On a local connection it need not be given to see progress, because the task prints it by itself.
    type: path
"""
