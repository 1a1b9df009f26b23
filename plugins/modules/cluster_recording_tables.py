#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_recording_tables
short_description: Print what was recorded of a cluster
version_added: 1.0.0
description:
  - Prints how many replicas were recorded, how many changed, the bytes that were written, which old snapshots were
    removed, and which brokers and replicas gave no answer.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.attributes, kafkaops.recovery.attributes.info_module, kafkaops.recovery.printing]
options:
  result:
    description:
      - Result of M(kafkaops.recovery.cluster_recording).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Record the cluster
  kafkaops.recovery.cluster_recording:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    recorder_dir: /srv/kafka-recordings
  register: recorded

- name: Print the tables
  kafkaops.recovery.cluster_recording_tables:
    result: "{{ recorded }}"
"""

RETURN = r"""
verdict: {type: str, returned: success, description: "The verdict that is printed, in one sentence."}
text:
  description: The lines that are printed to stderr.
  returned: if the stdout callback writes JSON
  type: list
  elements: str
"""
