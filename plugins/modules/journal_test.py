#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write a record to the collection's own topics, and read it back."""

from __future__ import annotations

DOCUMENTATION = r"""
module: journal_test
short_description: Write one record to the collection's own topics and read it back
version_added: 1.0.0
description:
  - No run changes anything without its lock and journal, which are in a topic. Brokers can refuse the records of this
    topic for reasons that nobody can read before, for example configs that it inherits, quotas or clocks.
  - Takes the lock and releases it, as every run does. This creates the journal's topic, writes a record to it, reads
    the record back, and deletes the topic.
  - If the topic with the original orders exists, writes a record without a value to it, and reads it back. The record
    does not change the stored orders.
  - Does not write to the journal while another run uses it, or while it has changes of a run that died.
  - The module does not fail because of what it finds. Give its result to M(kafkaops.recovery.readiness_info).
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.kafka, kafkaops.recovery.journal, kafkaops.recovery.attributes,
  kafkaops.recovery.attributes.action_group]
attributes:
  action_group: {membership: [kafkaops.recovery.kafka, kafkaops.recovery.journal]}
  check_mode: {support: full, details: [Writes nothing, and says so.]}
  diff_mode: {support: none}
  idempotent: {support: full, details: [Nothing that a run uses is different afterwards.]}
options:
  memory_topic:
    description:
      - Name of the topic in which O(kafkaops.recovery.preferred_leader_blacklist#module:memory_topic) remembers orders.
    type: str
    default: _kafkaops_leadership
seealso:
  - module: kafkaops.recovery.readiness_info
"""

EXAMPLES = r"""
- name: Write a record to our own topics
  kafkaops.recovery.journal_test:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
  register: written

- name: Check whether a recovery would work
  kafkaops.recovery.readiness_info:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    journal_test: "{{ written.checks }}"
"""

RETURN = r"""
checks:
  description: The result for each topic, or one result if nothing was written.
  returned: success
  type: list
  elements: dict
  sample:
    - name: journal
      status: ok
      subject: topic _kafkaops_run
      found: a record was written to it and read back. Then it was deleted
      remedy: ''
  contains:
    name: {type: str, description: Always V(journal)., sample: journal}
    status:
      description: As RV(kafkaops.recovery.readiness_info#module:checks[].status).
      type: str
      choices: [failed, unknown, warning, ok]
    subject: {type: str, description: The topic. Empty if it is about all of them.}
    found: {type: str, description: The result in words.}
    remedy: {type: str, description: What to do. Empty if nothing has to be done.}
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.connection import (
    CONNECTION,
    Arguments,
    connection_settings,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.options import JOURNAL, journal_options
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import call_all, run, to_json_types

ARGUMENTS = (
    CONNECTION + JOURNAL + Arguments(argument_spec={"memory_topic": {"type": "str", "default": "_kafkaops_leadership"}})
)


def main() -> None:
    run(AnsibleModule(**ARGUMENTS.to_kwargs(), supports_check_mode=True), results)


def results(module: AnsibleModule) -> dict[str, Any]:
    from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
    from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
    from ansible_collections.kafkaops.recovery.plugins.module_utils._readiness.write_test import try_own_topics

    params = module.params
    settings, journal = call_all(lambda: connection_settings(params), lambda: journal_options(params))
    with Wire(settings) as wire:
        checks = try_own_topics(Kafka(wire), journal, params["memory_topic"], check_mode=module.check_mode)
    return {"changed": False, "checks": to_json_types(checks)}


if __name__ == "__main__":
    main()
