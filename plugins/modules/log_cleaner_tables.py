#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: log_cleaner_tables
short_description: Print the state of log cleaners and what was done
version_added: 1.0.0
description:
  - Prints how many log cleaners are healthy, the changes, and a row for each broker with its diagnosis.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.attributes, kafkaops.recovery.attributes.info_module,
  kafkaops.recovery.log_cleaner.results, kafkaops.recovery.printing]
options:
  before: {required: true}
  fail_on_unhealthy:
    description:
      - Fail, after printing, if a cleaner is neither healthy nor idle at the end. Failed tasks always fail it.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Diagnose all cleaners
  kafkaops.recovery.log_cleaner_info:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    metrics_source: prometheus
    metrics_url: http://{host}:7071/metrics
  register: cleaners

- name: Print the result, and fail if one is not healthy
  kafkaops.recovery.log_cleaner_tables:
    before: "{{ cleaners }}"
    fail_on_unhealthy: true
"""

RETURN = r"""
verdict: {type: str, returned: success, description: "The verdict that is printed, in one sentence."}
text:
  description: The lines that are printed to stderr.
  returned: if the stdout callback writes JSON
  type: list
  elements: str
"""
