#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Deprioritize brokers as leaders by replica order, and restore every order (KIP-491)."""

from __future__ import annotations

DOCUMENTATION = r"""
module: preferred_leader_blacklist
short_description: Deprioritize brokers for leadership, and restore every replica order
version_added: 1.0.0
description:
  - Maintains the list of deprioritized brokers (KIP-491). They lead a partition only if no other replica is in sync.
  - Writes the list to the cluster-default dynamic config C(preferred_leader_blacklist). Released Kafka accepts this
    config, ignores it, and never returns its value. So the module applies the list by replica orders, which preferred
    elections, fail-over and the automatic rebalance follow. Listed brokers are last in every replica list, and return
    to their positions when they are removed from the list. The replica set is never changed.
  - Moves no leadership. M(kafkaops.recovery.preferred_election) does that.
  - Before any change, the list and each partition's original order with its topic id are stored in a compacted topic,
    O(memory_topic). So any host can continue or undo the change. After a crash at any point, the next run does so.
  - To apply the list to new topics and partitions, run it again with O(brokers) empty and O(state=present).
  - If another party reassigned a partition in the meantime, the new replica set stays. A listed broker returns to its
    position among the remaining replicas. An order that another party set stays. A re-created topic is left alone.
  - A partition with a running reassignment or without a leader is left alone and reported. Run the module again later.
  - If every broker supports the config, which no released Kafka does, Kafka applies it by itself. Then the module
    changes no order, and restores orders that it changed before.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.kafka, kafkaops.recovery.journal, kafkaops.recovery.quorum_preflight,
  kafkaops.recovery.controllers, kafkaops.recovery.leadership_memory, kafkaops.recovery.report,
  kafkaops.recovery.progress,
  kafkaops.recovery.gathering.max_rows, kafkaops.recovery.attributes, kafkaops.recovery.attributes.action_group]
attributes:
  action_group: {membership: [kafkaops.recovery.kafka, kafkaops.recovery.controllers, kafkaops.recovery.journal]}
  check_mode:
    support: full
    details:
      - Returns the list and the orders that it would set. It sends no write request.
  diff_mode: {support: full, details: ["The list, and the replica orders that change, up to O(max_rows)."]}
  idempotent: {support: full}
options:
  brokers:
    description:
      - Ids of the brokers to add to the list, or to remove from it.
    type: list
    elements: int
    required: true
  state:
    description:
      - V(present) adds the brokers to the list.
      - V(absent) removes the brokers from the list.
      - V(exact) replaces the list by the brokers. With an empty O(brokers), the list becomes empty. Without O(topics),
        the lists of all patterns become empty too, and every order is restored.
    type: str
    choices: [present, absent, exact]
    default: present
  topics:
    description:
      - Patterns of topics. If given, the lists of these patterns are changed, and not the list for all topics. V(*)
        stands for any characters and V(?) for one character, as in V(orders-*).
      - A broker is last in a topic if it is on the list for all topics, or on the list of a pattern that matches the
        topic.
      - Kafka has no config for these lists, so they are only in O(memory_topic).
    type: list
    elements: str
    default: []
seealso:
  - module: kafkaops.recovery.preferred_election
    description: Moves leaderships to the preferred replicas.
  - name: KIP-491
    description: The proposal.
    link: https://cwiki.apache.org/confluence/pages/viewpage.action?pageId=120736982
"""

EXAMPLES = r"""
- name: Show what would be reordered
  kafkaops.recovery.preferred_leader_blacklist:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    brokers: [1]
  check_mode: true
  diff: true

- name: Deprioritize broker 1 as a leader
  kafkaops.recovery.preferred_leader_blacklist:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    brokers: [1]

- name: Apply the list to new topics and partitions, on a schedule
  kafkaops.recovery.preferred_leader_blacklist:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    brokers: []

- name: Keep small cloud brokers from leading some topics
  kafkaops.recovery.preferred_leader_blacklist:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    brokers: [7, 8]
    topics: ["orders-*", "payments"]

- name: Restore all orders
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
returning:
  description:
    - Ids of brokers that this run or an earlier one has taken off the list, and that do not lead all of their preferred
      replicas yet, for example because they are not in sync. They are the C(to_brokers) of
      M(kafkaops.recovery.preferred_election), which forgets them when all of their leaders are back.
  returned: success, and when replica orders could not be changed
  type: list
  elements: int
  sample: []
is_native:
  description: Whether every broker supports the config, so that no replica order has to be changed.
  returned: success, and when replica orders could not be changed
  type: bool
  sample: false
remembered_in:
  description: Where the list and the original orders are stored.
  returned: success, and when replica orders could not be changed
  type: str
  sample: topic _kafkaops_leadership
partitions:
  description:
    - Every partition with a replica on a listed broker or with a stored original order, in order of topic, then
      partition.
    - If there are more than O(max_rows), those that a person should check are returned first.
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
      description: The outcome for its replica order.
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
    topic_id: {type: str, description: "The topic's id, null if unknown."}
    drift:
      description: What another party changed since the last run.
      type: str
      choices: [none, recreated, reassigned, reordered]
    replicas: {type: list, elements: int, description: "The order before, null if unknown."}
    replicas_after:
      description: The order after, or in check mode the order that would be set. Null if unknown.
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
  sample: 'the report is not written: /srv/report.json is refused: it exists already, and is never overwritten.'
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.blacklist_module import list_result
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.decide import CHANGED, OrderStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.memory_topic import LEADERSHIP
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.reasons import group_by_reason
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.connection import CONNECTION, Arguments
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.options import JOURNAL, PROGRESS
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.quorum_preflight import QUORUM_PREFLIGHT
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import (
    partition_results,
    run,
    stop_on_signals,
    to_json_types,
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
        "returning": list(done.returning),
        "is_native": done.is_native,
        "remembered_in": done.remembered_in,
        **partition_results(outcomes, max_rows, OrderStatus, CHANGED, {OrderStatus.IN_ORDER}),
        "groups": to_json_types(group_by_reason(outcomes)),
        "diff": deprioritizing.diff_of_list_and_orders(done, max_rows),
        **({"report_fault": done.report_error} if done.report_error else {}),
        **({"msg": failure} if failure else {}),
    }


if __name__ == "__main__":
    main()
