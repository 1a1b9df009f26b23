#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Deprioritizes brokers as leaders by replica order, and puts every order back (KIP-491)."""

from __future__ import annotations

DOCUMENTATION = r"""
module: preferred_leader_blacklist
short_description: Deprioritize brokers for leadership, and restore every replica order
version_added: 1.0.0
description:
  - Keeps the list of brokers that are the last choice as leaders (KIP-491). They lead only where no other replica is
    in sync.
  - Writes the list to the cluster-default dynamic config C(preferred_leader_blacklist). Released Kafka accepts it, does
    not know it, and never returns its value again. So it is given its effect by replica order, which is what preferred
    elections, fail-over and the automatic rebalance go by. Listed brokers come last in every replica list, and go back
    to their places when they are taken off the list. The replica set is never changed.
  - Moves no leadership by itself. M(kafkaops.recovery.preferred_election) does.
  - The list, and each changed partition's original order with its topic id, are remembered in a compacted topic of
    ours, before anything is changed. So any host can go on or undo it. After a crash at any point, the next run does.
  - Run it again to give new topics and partitions the same order, with O(brokers) empty and O(state=present).
  - Where somebody reassigned a partition meanwhile, the set stays theirs. A listed broker goes back to its place among
    the replicas that are still there. An order that somebody else set stays. A topic that was made again is left alone.
  - A partition with a running reassignment or without a leader is left alone and named. A later run does it.
  - Where every broker knows the config, as none of a released Kafka does, Kafka heeds it by itself. Then no order is
    changed for it, and orders changed before are restored.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.kafka, kafkaops.recovery.journal, kafkaops.recovery.quorum_preflight,
  kafkaops.recovery.controllers, kafkaops.recovery.leadership_memory, kafkaops.recovery.progress,
  kafkaops.recovery.gathering.max_rows, kafkaops.recovery.attributes, kafkaops.recovery.attributes.action_group]
attributes:
  action_group: {membership: [kafkaops.recovery.kafka, kafkaops.recovery.controllers, kafkaops.recovery.journal]}
  check_mode:
    support: full
    details:
      - Returns the list and the orders that would be set. No request that writes is sent.
  diff_mode: {support: full, details: ["The list, and the replica orders that change, up to O(max_rows)."]}
  idempotent: {support: full}
options:
  brokers:
    description:
      - Ids of the brokers to put on the list, or to take off it.
    type: list
    elements: int
    required: true
  state:
    description:
      - V(present) adds the brokers to the list.
      - V(absent) takes them off it.
      - V(exact) makes them the whole list. With an empty O(brokers), the list is empty then. Without O(topics), so are
        the lists of all patterns, and every order is restored.
    type: str
    choices: [present, absent, exact]
    default: present
  topics:
    description:
      - Patterns of topics whose own list is meant, in place of the list for every topic. V(*) stands for any
        characters and V(?) for one, as in V(orders-*).
      - A broker is last in a topic when it is on the list for every topic, or on that of a pattern that matches.
      - Kafka has no config for these lists, so they are only remembered.
    type: list
    elements: str
    default: []
  report_file:
    description:
      - Where to write the report, a JSON file with the list and with what became of each partition's order.
      - Must not exist. That is found out before any connection is opened.
      - Written in check mode too, because it describes the cluster and does not change it.
    type: path
seealso:
  - module: kafkaops.recovery.preferred_election
    description: Moves leaderships to the preferred replicas.
  - name: KIP-491
    description: The proposal.
    link: https://cwiki.apache.org/confluence/pages/viewpage.action?pageId=120736982
"""

EXAMPLES = r"""
- name: See what would be reordered
  kafkaops.recovery.preferred_leader_blacklist:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    brokers: [1]
  check_mode: true
  diff: true

- name: Make broker 1 the last choice as a leader
  kafkaops.recovery.preferred_leader_blacklist:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    brokers: [1]

- name: Give new topics and partitions the same order, on a schedule
  kafkaops.recovery.preferred_leader_blacklist:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    brokers: []

- name: Keep small cloud brokers from leading some topics
  kafkaops.recovery.preferred_leader_blacklist:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    brokers: [7, 8]
    topics: ["orders-*", "payments"]

- name: Put everything back
  kafkaops.recovery.preferred_leader_blacklist:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    brokers: []
    state: exact
"""

RETURN = r"""
cluster_id:
  description: The cluster's id.
  returned: success, and when replica orders could not be changed
  type: str
  sample: 4L6g3nShT-eMCtK--X86sw
before:
  description: The list before.
  returned: success, and when replica orders could not be changed
  type: dict
  sample: {brokers: [], by_topic: []}
  contains:
    brokers: {type: list, elements: int, description: Ids of the brokers that are listed for every topic.}
    by_topic: {type: list, elements: dict, description: "The lists of topics by C(pattern), each with its C(brokers)."}
after:
  description: The list after. The fields are those of RV(before).
  returned: success, and when replica orders could not be changed
  type: dict
  sample: {brokers: [1], by_topic: []}
is_native:
  description: Whether every broker knows the config, so that no replica order has to be changed for it.
  returned: success, and when replica orders could not be changed
  type: bool
  sample: false
remembered_in:
  description: What the list and the original orders are remembered in.
  returned: success, and when replica orders could not be changed
  type: str
  sample: topic _kafkaops_leadership
partitions:
  description:
    - Every partition with a replica on a listed broker, or with an original order that is remembered, in order of
      topic, then partition.
    - When there are more than O(max_rows), those that a person should look at go in first.
  returned: success, and when replica orders could not be changed
  type: list
  elements: dict
  sample:
    - topic: orders
      partition: 3
      status: reordered
      reason: broker 1 is last
      topic_id: 0kfAK7wCTDmDzRwEXhGdqg
      drift: none
      replicas: [1, 2, 3]
      replicas_after: [2, 3, 1]
      original: [1, 2, 3]
  contains:
    topic: {type: str, description: Name of the topic.}
    partition: {type: int, description: Number of the partition.}
    status:
      description: What became of its replica order.
      type: str
      choices:
        - reordered
        - would_reorder
        - restored
        - would_restore
        - in_order
        - all_listed
        - conflict
        - gone
        - left_alone
        - failed
    reason: {type: str, description: "Why, and what can be done about it."}
    topic_id: {type: str, description: "The topic's id, null when it was not found out."}
    drift:
      description: What somebody else did to it since it was left.
      type: str
      choices: [none, recreated, reassigned, reordered]
    replicas: {type: list, elements: int, description: "The order before, null when it was not found out."}
    replicas_after:
      description: The order after or, in check mode, the one that would be set; null when it was not found out.
      type: list
      elements: int
    original: {type: list, elements: int, description: The order that it would have if no broker were listed.}
truncated:
  description: Whether there are more partitions than O(max_rows).
  returned: success, and when replica orders could not be changed
  type: bool
  sample: false
groups:
  description: All partitions, grouped by status and reason, those with the most partitions first. Never truncated.
    The fields are those of RV(kafkaops.recovery.preferred_election#module:groups).
  returned: success, and when replica orders could not be changed
  type: list
  elements: dict
  sample:
    - status: reordered
      partitions: 501
      topics: {named: [{topic: orders, partitions: "0-499, 512", count: 501}], more: 0}
      reason: broker 1 is on the list
summary:
  description: How many partitions have each status.
  returned: success, and when replica orders could not be changed
  type: dict
  sample:
    reordered: 1
    would_reorder: 0
    restored: 0
    would_restore: 0
    in_order: 0
    all_listed: 0
    conflict: 0
    gone: 0
    left_alone: 0
    failed: 0
report_fault:
  description: Why O(report_file) could not be written, after the changes. The task fails then, with all results.
  returned: when that is so
  type: str
  sample: 'the report is not written: report.json is refused: 1 problem'
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.blacklist_module import list_result
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.decide import CHANGED, OrderStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.memory_homes import LEADERSHIP
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.alike import alike
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.connection import CONNECTION, Arguments
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.options import JOURNAL, PROGRESS
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.quorum_preflight import QUORUM_PREFLIGHT
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import (
    partition_results,
    plain,
    run,
    stop_on_signals,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.options import MAX_ROWS, REPORT

ARGUMENTS = (
    CONNECTION
    + JOURNAL
    + QUORUM_PREFLIGHT
    + MAX_ROWS
    + REPORT
    + PROGRESS
    + LEADERSHIP
    + Arguments(
        argument_spec={
            "brokers": {"type": "list", "elements": "int", "required": True},
            "state": {"type": "str", "choices": ["present", "absent", "exact"], "default": "present"},
            "topics": {"type": "list", "elements": "str", "default": []},
        }
    )
)


def main() -> None:
    run(AnsibleModule(**ARGUMENTS.to_kwargs(), supports_check_mode=True), results)


def results(module: AnsibleModule) -> dict[str, Any]:
    stop = stop_on_signals()

    from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership import (
        blacklist_module as deprioritizing,
    )

    done = deprioritizing.deprioritize(module.params, check_mode=module.check_mode, stop=stop)
    for warning in deprioritizing.warnings(done):
        module.warn(warning)
    outcomes, max_rows = [*done.outcomes.values()], module.params["max_rows"]
    failure = deprioritizing.failure_message(done)
    return {
        "changed": done.is_changed,
        "cluster_id": done.cluster_id,
        "before": list_result(done.before),
        "after": list_result(done.after),
        "is_native": done.is_native,
        "remembered_in": done.home,
        **partition_results(outcomes, max_rows, OrderStatus, CHANGED, {OrderStatus.IN_ORDER}),
        "groups": plain(alike(outcomes)),
        "diff": deprioritizing.diff_of(done, max_rows),
        **({"report_fault": done.report_error} if done.report_error else {}),
        **({"msg": failure} if failure else {}),
    }


if __name__ == "__main__":
    main()
