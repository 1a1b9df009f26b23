# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The option of the controllers' listeners; module_utils/glue/controllers.py has its argument spec."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  bootstrap_controllers:
    description:
      - Controllers to ask on their own listener, each as V(host:port), where they can be reached from here. Those that
        they list are asked too.
      - They are asked with the same security protocol and credentials as the brokers.
      - Only a controller tells the epoch that it is in, and whether it has Pre-Vote. And brokers wait for a leader,
        where a controller says at once that it knows none.
      - A string with commas is taken too.
    type: list
    elements: str
"""
