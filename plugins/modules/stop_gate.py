#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Answer whether brokers may stop now."""

from __future__ import annotations

DOCUMENTATION = r"""
module: stop_gate
short_description: Answer whether brokers may stop now
version_added: 1.0.0
description:
  - Predicts what happens to each partition and to the controller quorum if brokers stop now, and answers yes or no,
    with all reasons.
  - The answer is no if a partition would have no leader, no replica that stays up, an unclean leader, or fewer in-sync
    replicas than min.insync.replicas; if the next leader lacks records of the present one; if a partition has no leader
    now or is being reassigned; if the quorum would lose its majority; and if anything that the answer rests on could
    not be read.
  - Also returns the smallest change that makes a no a yes, and an order of waves in which all brokers can stop.
  - Sends no write request. Does not fail because the answer is no.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.kafka, kafkaops.recovery.controllers, kafkaops.recovery.report.findings,
  kafkaops.recovery.attributes, kafkaops.recovery.attributes.info_module, kafkaops.recovery.attributes.action_group]
attributes:
  action_group: {membership: [kafkaops.recovery.kafka, kafkaops.recovery.controllers]}
options:
  brokers:
    description:
      - Ids of the brokers that are to stop together.
      - A node that is broker and controller counts as both.
    type: list
    elements: int
    default: []
  racks:
    description:
      - Racks whose brokers are to stop together. They are another set than O(brokers).
    type: list
    elements: str
    default: []
  sets:
    description:
      - Sets of brokers that are to stop one after the other, each set when the one before is back and in sync.
      - Each element has the ids of one set, such as V(1+2).
    type: list
    elements: str
    default: []
seealso:
  - module: kafkaops.recovery.readiness_info
  - module: kafkaops.recovery.quorum_info
notes:
  - Needs DESCRIBE on the cluster and on topics, and DESCRIBE_CONFIGS on topics. A missing permission is a no.
  - The answer is about the moment of the look. Ask right before each stop.
"""

EXAMPLES = r"""
- name: May brokers 4 and 5 stop?
  kafkaops.recovery.stop_gate:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    brokers: [4, 5]
  register: gate

- name: Go on only if they may
  ansible.builtin.assert:
    that: gate.verdict == "yes"
"""

RETURN = r"""
cluster_id:
  description: The cluster's id.
  returned: success
  type: str
  sample: 4L6g3nShT-eMCtK--X86sw
verdict:
  description: Whether all of these stops may happen.
  returned: success
  type: str
  choices: ['yes', 'no']
  sample: 'no'
stops:
  description: What would happen, for each set of brokers.
  returned: success
  type: list
  elements: dict
  contains:
    brokers: {type: list, elements: int, description: The brokers that would stop together.}
    verdict: {type: str, choices: ['yes', 'no'], description: Whether they may.}
    partitions: {type: int, description: How many partitions have a replica on these brokers.}
    leaders_that_move: {type: int, description: How many leaderships would move to other brokers.}
    led:
      description: How many partitions each of these brokers leads now.
      type: list
      elements: dict
      contains:
        broker_id: {type: int, description: The broker.}
        partitions: {type: int, description: How many partitions it leads.}
    margin:
      description:
        - How many more in-sync replicas every one of these partitions could lose and still take records with acks=all.
          Negative if one is below min ISR. Null if unknown, or if no partition is left with a leader.
      type: int
    controllers: {type: list, elements: int, description: The voters of the quorum among these nodes.}
    controllers_to_spare:
      description: How many more caught-up voters could stop. Negative without a majority. Null if unknown.
      type: int
    part_that_may_stop: {type: list, elements: int, description: The largest part of these brokers that may stop now.}
    changes: {type: list, elements: str, description: "What would make it a yes, the smallest change first."}
reasons:
  description: All reasons against the stops, the worst first. Empty if the verdict is V(yes).
  returned: success
  type: list
  elements: dict
  sample:
    - kind: below_min_isr
      brokers: [4, 5]
      text: '1 partition would be below min.insync.replicas and refuse records with acks=all: orders 0'
      remedy: Bring their other replicas in sync first, or keep one of their in-sync replicas up
      partitions:
        - topic: orders
          partition: 0
  contains:
    kind:
      description: The kind of reason.
      type: str
      choices: [last_copy, no_leader, unclean_election, below_min_isr, lost_records, already_leaderless, reassignment,
        quorum, ticket, no_such_broker, unknown]
    brokers: {type: list, elements: int, description: The set of brokers that it is about.}
    text: {type: str, description: The reason in words.}
    remedy: {type: str, description: What to do.}
    partitions:
      description: The partitions, each with C(topic) and C(partition). At most 1,000; the report file has all.
      type: list
      elements: dict
notes:
  description: What is not as it should be, and is no reason against these stops.
  returned: success
  type: list
  elements: str
waves:
  description:
    - An order in which all live brokers can stop, if those of one wave are back and in sync before the next one. Judged
      by leaders, in-sync replicas and quorum.
  returned: success
  type: list
  elements: dict
  contains:
    rack: {type: str, description: Their rack. Null if they have none.}
    brokers: {type: list, elements: int, description: The brokers.}
in_no_wave:
  description: Live brokers that may not stop, not even alone.
  returned: success
  type: list
  elements: int
"""

from dataclasses import replace
from functools import partial
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.report_file import ReportFile
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.connection import (
    CONNECTION,
    CONTROLLERS,
    Arguments,
    connection_settings,
    controller_addresses,
    controller_settings,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import call_all, run, to_json_types
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.gate import (
    STOP_GATE_REPORT,
    encode_gate_report,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.question import question_of

_MOST_PARTITIONS = 1000
ARGUMENTS = (
    CONNECTION
    + CONTROLLERS
    + Arguments(
        argument_spec={
            "brokers": {"type": "list", "elements": "int", "default": []},
            "racks": {"type": "list", "elements": "str", "default": []},
            "sets": {"type": "list", "elements": "str", "default": []},
            "report_file": {"type": "path"},
        }
    )
)


def main() -> None:
    run(AnsibleModule(**ARGUMENTS.to_kwargs(), supports_check_mode=True), results)


def results(module: AnsibleModule) -> dict[str, Any]:
    from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
    from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
    from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.looking import check_stop

    params = module.params
    settings, controllers, their_settings, question, report = call_all(
        lambda: connection_settings(params),
        lambda: controller_addresses(params),
        lambda: controller_settings(params),
        lambda: question_of(params["brokers"], params["racks"], params["sets"]),
        lambda: ReportFile(params["report_file"]),
    )
    with Wire(settings, their_settings) as wire:
        gate = check_stop(Kafka(wire), question, controllers)
    report_error = report.write_or_explain(partial(encode_gate_report, gate), STOP_GATE_REPORT)
    short = [replace(each, partitions=each.partitions[:_MOST_PARTITIONS]) for each in gate.reasons]
    found = to_json_types(replace(gate, reasons=tuple(short)))
    return {"changed": False, **found, **({"msg": report_error} if report_error else {})}


if __name__ == "__main__":
    main()
