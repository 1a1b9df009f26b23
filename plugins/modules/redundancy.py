#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Give partitions back the replicas that they have lost."""

from __future__ import annotations

DOCUMENTATION = r"""
module: redundancy
short_description: Give partitions back the replicas that they have lost
version_added: 1.0.0
description:
  - Chooses living brokers for the replicas that are on lost brokers, and copies these replicas. No replica on a broker
    that is up moves. Internal topics are included.
  - A new replica is in a rack that has no other replica of its partition, if there is one, and on a broker whose log
    directories have the space. Cordoned directories (Kafka 4.3) get none. Partitions below min ISR come first.
  - Without O(apply), and in check mode, it only plans. O(plan_output_file) writes the plan to be reviewed, and
    O(plan_file) carries out a reviewed plan.
  - Copies under a throttle, if one is given. The throttle is in the journal before it is set, and is removed at the
    end, or by the next run if this one is killed.
  - Fails if a partition does not get all its replicas. All others get theirs first.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.kafka, kafkaops.recovery.controllers, kafkaops.recovery.journal,
  kafkaops.recovery.quorum_preflight, kafkaops.recovery.progress, kafkaops.recovery.report,
  kafkaops.recovery.selection.names, kafkaops.recovery.attributes, kafkaops.recovery.attributes.action_group]
attributes:
  action_group: {membership: [kafkaops.recovery.kafka, kafkaops.recovery.controllers, kafkaops.recovery.journal]}
  check_mode: {support: full}
  diff_mode: {support: full, details: [The replica sets before and after.]}
  idempotent: {support: full}
options:
  lost_brokers:
    description:
      - Ids of the brokers that are lost. They are declared here, and never guessed.
      - The replicas of a broker that is declared lost and is up stay.
    type: list
    elements: int
    default: []
  all_under_replicated:
    description:
      - Whether to replace every offline replica that is not in sync, and to give a partition as many replicas as most
        partitions of its topic have.
    type: bool
    default: false
  partitions:
    description:
      - The partitions to look at. All their offline replicas are replaced.
      - Give at most one of this and O(partitions_file).
  partitions_file:
    description:
      - JSON file with the partitions to look at, as O(kafkaops.recovery.offline_partition_info#module:partitions_file).
        All their offline replicas are replaced.
    type: path
  deprioritized_brokers:
    description:
      - Ids of brokers that should not lead. They get no first place of a replica order, if another broker can have it.
    type: list
    elements: int
    default: []
  plan_output_file:
    description:
      - Where to write the plan. Nothing is changed. The file must not exist.
    type: path
  plan_file:
    description:
      - The plan to carry out, or without O(apply) to compare with the cluster.
      - O(lost_brokers), O(partitions) and O(partitions_file) may be left out. If they are given, the plan must be for
        them.
    type: path
  plan_digest:
    description:
      - The digest that was approved. Another plan is refused.
    type: str
  apply:
    description:
      - Whether to copy the replicas. Otherwise, this only looks.
    type: bool
    default: false
  throttle_bytes_per_second:
    description:
      - How fast each broker may fetch the new replicas. Other replication is not throttled. A lower throttle of
        somebody else stays.
      - Without it, copies are not throttled.
    type: int
  max_concurrent:
    description:
      - How many replicas each broker copies at the same time.
    type: int
    default: 20
  space_margin_percent:
    description:
      - How much of a volume stays free, in percent of its size.
    type: int
    default: 10
  stall_timeout_ms:
    description:
      - Cancel the copies of a partition that have had the same size for so long.
    type: int
    default: 600000
  attempts:
    description:
      - How often a request is sent.
    type: int
    default: 3
  verify_timeout_ms:
    description:
      - How long to wait until the effect of a request is seen.
    type: int
    default: 30000
  fencing_wait_ms:
    description:
      - With O(apply), how many milliseconds to wait until the controller has fenced brokers that do not answer. It
        fences a dead broker within C(broker.session.timeout.ms), 9 s by default. Until then, the replicas of a lost
        broker look as if it had returned in sync.
      - With O(all_under_replicated), O(partitions) or O(partitions_file), partitions with a replica on such a broker
        have the status V(unanswered), and the task fails. Check mode does not wait.
    type: int
    default: 20000
  max_rows:
    description:
      - How many partitions the result has at most. The report file has all.
    type: int
    default: 1000
seealso:
  - module: kafkaops.recovery.unclean_recovery
  - module: kafkaops.recovery.stop_gate
notes:
  - Needs DESCRIBE, DESCRIBE_CONFIGS and ALTER on the cluster, DESCRIBE and DESCRIBE_CONFIGS on topics, and, for a
    throttle, ALTER_CONFIGS on the cluster and on topics.
"""

EXAMPLES = r"""
- name: Show where the replicas of brokers 4 and 5 would go
  kafkaops.recovery.redundancy:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    lost_brokers: [4, 5]

- name: Give these partitions their replicas back, at 50 MB per second and broker
  kafkaops.recovery.redundancy:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    lost_brokers: [4, 5]
    throttle_bytes_per_second: 50000000
    apply: true
"""

RETURN = r"""
cluster_id: {type: str, returned: success, sample: 4L6g3nShT-eMCtK--X86sw, description: The cluster's id.}
lost_brokers: {type: list, elements: int, returned: success, description: The brokers that were declared lost.}
racks:
  description: The racks (C(broker.rack)) of the brokers that had one when the plan was made.
  returned: success
  type: list
  elements: dict
  sample: [{broker_id: 1, rack: a}]
  contains:
    broker_id: {type: int, description: "The broker."}
    rack: {type: str, description: "Its rack."}
plan_digest:
  description: The digest of the plan that was read or written. Null if there is no plan file.
  returned: success
  type: str
bytes_to_copy: {type: int, returned: success, description: How many bytes the plan copies.}
summary:
  description: How many partitions ended in each status.
  returned: success
  type: dict
  sample: {restored: 120, no_leader: 0, failed: 0}
truncated: {type: bool, returned: success, description: Whether C(partitions) lacks some.}
partitions:
  description: The partitions that lack replicas, in order of topic and partition.
  returned: success
  type: list
  elements: dict
  contains:
    topic: {type: str, description: The topic.}
    partition: {type: int, description: The partition.}
    status:
      description:
        - V(restored) if all new replicas are in sync, and V(would_restore) if nothing was to be changed.
        - V(done_before) if all new replicas of O(plan_file) were in sync already.
        - V(returned) if a lost broker came back first, and its replica stays.
        - V(no_broker) if replicas cannot be placed. Other replicas of the same partition may be placed, but not if a
          replica that stays is on a broker that is not registered.
        - V(unanswered) if a replica's broker does not answer, and the controller has not fenced it.
        - V(hidden) if our principal may not see the topic. The task fails, because its replicas may be lost.
      type: str
      choices: [restored, would_restore, done_before, returned, no_leader, no_broker, unknown_size, unanswered, hidden,
        no_such_partition, changed, stopped, failed]
    reason: {type: str, description: "Why, in words."}
    replicas: {type: list, elements: int, description: The replicas before.}
    target:
      description: The replicas that it has or is to have. Empty if nothing is planned.
      type: list
      elements: int
    adding: {type: list, elements: int, description: The brokers that get a replica.}
    size_bytes: {type: int, description: How many bytes each of them copies.}
notes: {type: list, elements: str, returned: success, description: What is remarkable about the declared brokers.}
leftovers:
  description: Changes that an earlier run did not undo, each with C(change), C(undoing) and C(reason).
  returned: success
  type: list
  elements: dict
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.connection import CONNECTION, Arguments
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.options import JOURNAL, PARTITIONS, PROGRESS
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.quorum_preflight import QUORUM_PREFLIGHT
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import run, stop_on_signals

ARGUMENTS = (
    CONNECTION
    + JOURNAL
    + QUORUM_PREFLIGHT
    + PROGRESS
    + PARTITIONS
    + Arguments(
        argument_spec={
            "lost_brokers": {"type": "list", "elements": "int", "default": []},
            "all_under_replicated": {"type": "bool", "default": False},
            "deprioritized_brokers": {"type": "list", "elements": "int", "default": []},
            "plan_output_file": {"type": "path"},
            "plan_file": {"type": "path"},
            "plan_digest": {"type": "str"},
            "apply": {"type": "bool", "default": False},
            "throttle_bytes_per_second": {"type": "int"},
            "max_concurrent": {"type": "int", "default": 20},
            "space_margin_percent": {"type": "int", "default": 10},
            "stall_timeout_ms": {"type": "int", "default": 600000},
            "attempts": {"type": "int", "default": 3},
            "verify_timeout_ms": {"type": "int", "default": 30000},
            "fencing_wait_ms": {"type": "int", "default": 20_000},
            "report_file": {"type": "path"},
            "max_rows": {"type": "int", "default": 1000},
        }
    )
)


def main() -> None:
    run(AnsibleModule(**ARGUMENTS.to_kwargs(), supports_check_mode=True), results)


def results(module: AnsibleModule) -> dict[str, Any]:
    stop = stop_on_signals()

    from ansible_collections.kafkaops.recovery.plugins.module_utils._redundancy import redundancy_module
    from ansible_collections.kafkaops.recovery.plugins.module_utils._redundancy.results import results_of, warnings

    done = redundancy_module.restore(module.params, check_mode=module.check_mode, stop=stop)
    for warning in warnings(done):
        module.warn(warning)
    return results_of(done, module.params["max_rows"])


if __name__ == "__main__":
    main()
