#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: exposure_tables
short_description: Print what recordings of clusters show
version_added: 1.0.0
description:
  - Prints for each cluster the gaps between snapshots, and tables of partitions, brokers, racks and disks.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.attributes, kafkaops.recovery.attributes.info_module, kafkaops.recovery.printing]
options:
  result:
    description:
      - Result of M(kafkaops.recovery.exposure_report).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Report what the recordings show
  kafkaops.recovery.exposure_report:
    recordings: /srv/kafka-recordings
  register: exposure

- name: Print the tables
  kafkaops.recovery.exposure_tables:
    result: "{{ exposure }}"
"""

RETURN = r"""
verdict: {type: str, returned: success, description: "The verdict that is printed, in one sentence."}
text:
  description: The lines that are printed to stderr.
  returned: if the stdout callback writes JSON
  type: list
  elements: str
"""
