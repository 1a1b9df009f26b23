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
      - Controllers to ask on their own listener, each as V(host:port), if this host can reach them. The controllers
        that they list are asked too.
      - Without this option, what only a controller returns is asked at the addresses in the brokers' configs, if the
        listeners there have the security protocol of this run's connections, and a controller of this cluster answers.
      - They are asked with the security protocol and credentials of the brokers, unless O(controllers_command_config)
        is given.
      - Only a controller returns its epoch and whether it has Pre-Vote. If there is no leader, a controller reports it
        at once, and a broker waits for a leader.
      - Only a controller returns its own configs. The controllers' C(unclean.leader.election.enable) decides for topics
        that do not set it. An election reads it here, and warns if it is unknown.
      - A string with commas is accepted too.
    type: list
    elements: str
  controllers_command_config:
    description:
      - Path of a Java C(client.properties) for the controllers' own listeners, if their protocol, mechanism,
        credentials or stores differ from those of the brokers. It is read like O(command_config).
      - Requires O(bootstrap_controllers).
    type: path
"""
