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
    replicas than min.insync.replicas. It is also no if the next leader lacks records of the present one or applies
    metadata late, if a partition has no leader now or is being reassigned, or if the quorum would lose its majority. If
    something that the answer needs cannot be read, the answer is no.
  - Also returns the smallest change that makes a no a yes, and an order of waves in which all brokers can stop.
  - With O(take), a yes is a ticket that is kept in the cluster. Until it is released or expires, this answers no to
    everybody else, and names the brokers that are being stopped, and by whom. Everything that writes names them too.
  - Sends no write request without O(take) and O(release), and none in check mode. Does not fail because the answer is
    no.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.kafka, kafkaops.recovery.controllers, kafkaops.recovery.journal, kafkaops.recovery.report.findings,
  kafkaops.recovery.attributes, kafkaops.recovery.attributes.action_group]
attributes:
  action_group: {membership: [kafkaops.recovery.kafka, kafkaops.recovery.controllers, kafkaops.recovery.journal]}
  check_mode: {support: full, details: ['O(take) and O(release) say what they would do.']}
  diff_mode: {support: none}
  idempotent: {support: partial, details: [A second O(take) finds the ticket of the first.]}
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
  take:
    description:
      - Whether to take a ticket for these brokers if they may stop. They must be one set.
      - The ticket is in topic C(_kafkaops_stops) before the answer is yes. Of several that ask at the same time, one
        gets it.
    type: bool
    default: false
  release:
    description:
      - Whether to release the tickets that name one of these brokers, instead of asking whether they may stop.
      - Waits up to O(release_timeout_ms) until all brokers of a ticket are up, and in sync in all their partitions. If
        they are not, the answer is V(no).
    type: bool
    default: false
  owner:
    description:
      - Who takes or releases the ticket, for example the name of a pipeline and the number of its run.
      - If it is given, O(take) renews a ticket of this owner for the same brokers. By default, the owner is the user on
        the host, and no ticket is renewed.
    type: str
    default: ''
  minutes:
    description:
      - How many minutes the ticket is valid. A minute after that, its owner counts as dead, and anybody may take over.
    type: int
    default: 60
  release_timeout_ms:
    description:
      - How long O(release) waits until the brokers are back.
    type: int
    default: 300000
seealso:
  - module: kafkaops.recovery.readiness_info
  - module: kafkaops.recovery.quorum_info
notes:
  - Needs DESCRIBE on the cluster and on topics, DESCRIBE_CONFIGS on topics, and READ on topic C(_kafkaops_stops), if it
    exists. A missing permission is a no.
  - Recognizes leaders that lack records of a broker that is down by CLUSTER_ACTION on the cluster, READ on topics and
    DESCRIBE on groups, as far as they are granted. DESCRIBE_CONFIGS on the cluster finds the controllers.
  - O(take) and O(release) need CREATE, DESCRIBE, DESCRIBE_CONFIGS, READ and WRITE on topic C(_kafkaops_stops), and the
    permissions of the journal.
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

- name: Take the ticket of brokers 4 and 5
  kafkaops.recovery.stop_gate:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    brokers: [4, 5]
    owner: upgrade 4711
    take: true
  register: gate
  failed_when: gate.verdict | default("no") != "yes"

- name: Release it when they are back in every ISR
  kafkaops.recovery.stop_gate:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    brokers: [4, 5]
    owner: upgrade 4711
    release: true
"""

RETURN = r"""
cluster_id: {type: str, returned: success, sample: 4L6g3nShT-eMCtK--X86sw, description: The cluster's id.}
asked:
  description: What was asked. With O(release), the verdict says whether the brokers are back.
  returned: success
  type: str
  choices: [may_stop, take, release]
  sample: may_stop
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
      choices: [last_copy, no_leader, unclean_election, below_min_isr, lost_records, late_leader, silent_leader,
        already_leaderless, reassignment, no_broker_left, quorum, ticket, another_run, not_back, no_such_broker,
        unknown]
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
racks:
  description: The racks (C(broker.rack)) of the brokers that have one.
  returned: success
  type: list
  elements: dict
  sample: [{broker_id: 1, rack: a}]
  contains:
    broker_id: {type: int, description: "The broker."}
    rack: {type: str, description: "Its rack."}
in_no_wave:
  description: Live brokers that may not stop, not even alone.
  returned: success
  type: list
  elements: int
tickets:
  description: The valid tickets, the oldest first.
  returned: success
  type: list
  elements: dict
  contains: &ticket
    ticket_id: {type: str, description: Its id.}
    brokers: {type: list, elements: int, description: The brokers that are being stopped.}
    racks: {type: list, elements: str, description: Their racks.}
    owner: {type: str, description: Who stops them.}
    job: {type: str, description: AWX job id. Empty outside AWX.}
    since: {type: str, description: When it was taken. UTC.}
    until: {type: str, description: When it expires. UTC.}
taken:
  description: The ticket that was taken or, in check mode, would be.
  returned: success
  type: list
  elements: dict
  contains: *ticket
released:
  description: The tickets that were released or, in check mode, would be.
  returned: success
  type: list
  elements: dict
  contains: *ticket
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
    controller_listeners,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.options import JOURNAL, journal_options
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import call_all, run, to_json_types
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.gate import (
    STOP_GATE_REPORT,
    encode_gate_report,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.question import check_terms, question_of

_MOST_PARTITIONS = 1000
ARGUMENTS = (
    CONNECTION
    + CONTROLLERS
    + JOURNAL
    + Arguments(
        argument_spec={
            "brokers": {"type": "list", "elements": "int", "default": []},
            "racks": {"type": "list", "elements": "str", "default": []},
            "sets": {"type": "list", "elements": "str", "default": []},
            "take": {"type": "bool", "default": False},
            "release": {"type": "bool", "default": False},
            "owner": {"type": "str", "default": ""},
            "minutes": {"type": "int", "default": 60},
            "release_timeout_ms": {"type": "int", "default": 300000},
            "report_file": {"type": "path"},
        },
    )
)


def main() -> None:
    run(AnsibleModule(**ARGUMENTS.to_kwargs(), supports_check_mode=True), results)


def results(module: AnsibleModule) -> dict[str, Any]:
    from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
    from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
    from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.looking import check_stop
    from ansible_collections.kafkaops.recovery.plugins.module_utils._stop_gate.taking import (
        TicketTerms,
        release_tickets,
        take_ticket,
    )

    params = module.params
    settings, controllers, question, report, _terms = call_all(
        lambda: connection_settings(params),
        lambda: controller_listeners(params),
        lambda: question_of(params["brokers"], params["racks"], params["sets"], is_one_set=params["take"]),
        lambda: ReportFile(params["report_file"]),
        lambda: check_terms(params),
    )
    terms = TicketTerms(
        owner=params["owner"].strip(),
        minutes=params["minutes"],
        wait_s=params["release_timeout_ms"] / 1000,
        journal=journal_options(params),
        check_mode=module.check_mode,
    )
    with Wire(settings, controllers) as wire:
        if params["take"]:
            gate = take_ticket(Kafka(wire), question, terms)
        elif params["release"]:
            gate = release_tickets(Kafka(wire), question, terms)
        else:
            gate = check_stop(Kafka(wire), question, terms.owner)
    report_error = report.write_or_explain(partial(encode_gate_report, gate), STOP_GATE_REPORT)
    short = [replace(each, partitions=each.partitions[:_MOST_PARTITIONS]) for each in gate.reasons]
    found = to_json_types(replace(gate, reasons=tuple(short)))
    changed = bool(gate.taken or gate.released)
    return {"changed": changed, **found, **({"msg": report_error} if report_error else {})}


if __name__ == "__main__":
    main()
