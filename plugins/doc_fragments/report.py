# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report's option; module_utils/_recovery/options.py has its argument spec."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  report_file:
    description:
      - Where to write the report of the run, a JSON file with every outcome. It has no record and no secret.
      - The file must not exist. This is checked before any connection is opened.
      - Written in check mode too, because it describes the cluster and does not change it.
    type: path
"""

    # For modules that only look.
    FINDINGS = r"""
options:
  report_file:
    description:
      - Where to write the findings, as a JSON file.
      - The file must not exist. This is checked before any connection is opened.
    type: path
"""
