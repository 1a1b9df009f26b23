# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The option of the controllers' listeners; module_utils/_module/connection.py has its argument spec."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  bootstrap_controllers:
    description:
      - Controllers to ask on their own listener, each as V(host:port), where they can be reached from here. Those that
        they list are asked too.
      - They are asked with the same security protocol and credentials as the brokers, unless
        O(controllers_command_config) is given.
      - Only a controller returns its epoch and whether it has Pre-Vote. Brokers wait for a leader,
        where a controller says at once that it knows none.
      - A string with commas is taken too.
    type: list
    elements: str
  controllers_command_config:
    description:
      - Path of a Java C(client.properties) for the controllers' own listeners, where their protocol, mechanism,
        credentials or stores differ from the brokers'. It is read as O(command_config) is.
      - Requires O(bootstrap_controllers).
    type: path
"""
