#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: salvage_tables
short_description: Print what a salvage found and saved, or replayed
version_added: 1.0.0
description:
  - Prints one line for each partition that lacks records or could not be compared, and a summary of all partitions.
  - Prints no key and no value.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.attributes, kafkaops.recovery.attributes.info_module, kafkaops.recovery.printing,
  kafkaops.recovery.printing.result]
options:
  result: {description: What M(kafkaops.recovery.replica_log_salvage) or M(kafkaops.recovery.salvage_replay) returned.}
"""

EXAMPLES = r"""
- name: Print what was saved
  kafkaops.recovery.salvage_tables:
    result: "{{ salvage }}"
"""

RETURN = r"""
verdict: {type: str, returned: success, description: "The verdict that is printed, in one sentence."}
text:
  description: The lines that are printed to stderr.
  returned: if the stdout callback writes JSON
  type: list
  elements: str
"""
