#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Move leaderships to preferred replicas: away from some brokers, or back to them."""

from __future__ import annotations

DOCUMENTATION = r"""
module: preferred_election
short_description: Move leaderships away from brokers, or back to them, by preferred elections
version_added: 1.0.0
description:
  - Requests preferred elections of the partitions that one of O(from_brokers) leads, and of the partitions whose
    preferred replica is on one of O(to_brokers) and does not lead.
  - At most O(max_moves) leaders move at a time. The next elections are requested after all of these leaders were seen.
  - A preferred election elects only the first replica of the order, and only if it is in sync. So no record is lost.
    Run M(kafkaops.recovery.preferred_leader_blacklist) first, which changes the orders.
  - If the first replica of a partition is not in sync, another replica that is in sync and may lead is moved to the
    front during the election. The order is stored before and restored afterwards.
  - Partitions that no other broker can lead are reported, and keep their leader.
  - No leader moves to a broker that does not answer, even if the controller has not fenced it yet.
  - After the elections all leaders are read again. Leaders that were missed at first, because a broker's metadata was
    old, are moved too, in up to O(attempts) rounds.
  - The task fails if one of O(from_brokers) still leads a partition that another broker could lead. All other
    partitions are handled first.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.kafka, kafkaops.recovery.leadership_memory, kafkaops.recovery.gathering.max_rows,
  kafkaops.recovery.journal, kafkaops.recovery.quorum_preflight, kafkaops.recovery.controllers,
  kafkaops.recovery.progress, kafkaops.recovery.attributes, kafkaops.recovery.attributes.action_group]
attributes:
  action_group: {membership: [kafkaops.recovery.kafka, kafkaops.recovery.controllers, kafkaops.recovery.journal]}
  check_mode:
    support: full
    details:
      - Returns the elections that it would request. It treats O(from_brokers) as last in every order already, where
        M(kafkaops.recovery.preferred_leader_blacklist) would put them.
      - It treats O(to_brokers) as removed from the list already, and computes the resulting orders from the stored
        original orders.
  diff_mode: {support: full, details: ["The leaders that change, up to O(max_rows)."]}
  idempotent: {support: full}
options:
  from_brokers:
    description:
      - Ids of brokers whose leaderships are moved to other brokers that can lead.
    type: list
    elements: int
    default: []
  to_brokers:
    description:
      - Ids of brokers that get the leadership of all partitions whose preferred replica they have.
    type: list
    elements: int
    default: []
  topics:
    description:
      - Patterns of the topics to handle, with V(*) for any characters and V(?) for one character. All topics, if empty.
    type: list
    elements: str
    default: []
  max_moves:
    description:
      - How many leaders may move at a time, from 1 to 1000.
    type: int
    default: 1000
  fencing_wait_ms:
    description:
      - How many milliseconds to wait while the metadata names leaders that do not answer, of partitions with a replica
        on O(from_brokers) or O(to_brokers). If such a leader is dead, the controller fences it within
        C(broker.session.timeout.ms), 9 s by default, and other brokers lead its partitions, perhaps the named ones.
      - Partitions whose leader still does not answer have the status V(led_by_silent), and the task fails. Check mode
        does not wait.
    type: int
    default: 20000
  report_file:
    description:
      - Path of the report that M(kafkaops.recovery.preferred_leader_blacklist) wrote. The outcome of the leaders is
        added to it.
    type: path
seealso:
  - module: kafkaops.recovery.preferred_leader_blacklist
    description: Changes which replica is the preferred one.
"""

EXAMPLES = r"""
- name: Deprioritize broker 1 as a leader
  kafkaops.recovery.preferred_leader_blacklist:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    brokers: [1]

- name: Move its leaderships, 200 at a time
  kafkaops.recovery.preferred_election:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    from_brokers: [1]
    max_moves: 200
"""

RETURN = r"""
targets:
  description: How many leaderships move to each broker, or would move in check mode, in descending order.
  returned: success, and when leaders are not as they should be
  type: list
  elements: dict
  sample: [{broker_id: 2, rack: b, partitions: 40}]
  contains:
    broker_id: {type: int, description: "The new leader."}
    rack: {type: str, description: "Its C(broker.rack); null if it has none."}
    partitions: {type: int, description: How many partitions.}
cluster_id:
  description: The cluster's id.
  returned: success, and when leaders are not as they should be
  type: str
  sample: 4L6g3nShT-eMCtK--X86sw
partitions:
  description:
    - Every partition whose leader moved, or should have, in order of topic, then partition.
    - If there are more than O(max_rows), those whose leader did not move are returned first.
  returned: success, and when leaders are not as they should be
  type: list
  elements: dict
  sample:
    - topic: orders
      partition: 3
      status: moved
      reason: broker 2 is preferred, and in sync
      leader_before: 1
      leader_after: 2
      target: 2
      topic_id: 0kfAK7wCTDmDzRwEXhGdqg
      replicas: [2, 3, 1]
      isr: [1, 2, 3]
  contains:
    topic: {type: str, description: Name of the topic.}
    partition: {type: int, description: Number of the partition.}
    status:
      description: The outcome for its leadership.
      type: str
      choices:
        [moved, would_move, only_in_sync, all_listed, lagging, still_preferred, leaderless, led_by_silent, failed]
    reason: {type: str, description: "Why, and what can be done about it."}
    leader_before: {type: int, description: "Broker id of the leader before, -1 if there was none."}
    leader_after: {type: int, description: "Broker id of the leader after, -1 if there is none, null in check mode."}
    target:
      description: Broker id of the planned leader. It is the preferred replica, unless that is not in sync.
      type: int
    topic_id: {type: str, description: The topic's id.}
    replicas: {type: list, elements: int, description: "Broker ids of its replicas, in order of preference."}
    isr: {type: list, elements: int, description: "Broker ids of its in-sync replicas, before."}
truncated:
  description: Whether there are more partitions than O(max_rows).
  returned: success, and when leaders are not as they should be
  type: bool
  sample: false
groups:
  description: All partitions, grouped by status and reason, those with the most partitions first. Never truncated.
  returned: success, and when leaders are not as they should be
  type: list
  elements: dict
  sample:
    - status: moved
      partitions: 501
      topics: {named: [{topic: orders, partitions: "0-499, 512", count: 501}], more: 0}
      reason: broker 1 is on the list
  contains:
    status: {type: str, description: Their common status.}
    partitions: {type: int, description: How many partitions there are in the group.}
    topics:
      description: C(named) has the four topics with the most partitions, each with ranges of its
        partitions. C(more) is the number of topics that are not named.
      type: dict
    reason: {type: str, description: Their common reason. Numbers that differ are given as a range.}
summary:
  description: How many partitions have each status.
  returned: success, and when leaders are not as they should be
  type: dict
  sample:
    moved: 1
    would_move: 0
    only_in_sync: 0
    all_listed: 0
    lagging: 0
    still_preferred: 0
    leaderless: 0
    led_by_silent: 0
    failed: 0
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.memory_topic import LEADERSHIP
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.moves import MOVING, MoveStatus
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

_BROKERS = {"type": "list", "elements": "int", "default": []}
_MOVES = Arguments(
    argument_spec={
        "from_brokers": _BROKERS,
        "to_brokers": _BROKERS,
        "topics": {"type": "list", "elements": "str", "default": []},
        "max_moves": {"type": "int", "default": 1000},
        "fencing_wait_ms": {"type": "int", "default": 20_000},
    }
)
ARGUMENTS = CONNECTION + JOURNAL + QUORUM_PREFLIGHT + MAX_ROWS + REPORT + PROGRESS + LEADERSHIP + _MOVES


def main() -> None:
    run(AnsibleModule(**ARGUMENTS.to_kwargs(), supports_check_mode=True), results)


def results(module: AnsibleModule) -> dict[str, Any]:
    stop = stop_on_signals()

    from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership import (
        election_module as electing_preferred,
    )

    params = module.params
    done = electing_preferred.elect_preferred(params, check_mode=module.check_mode, stop=stop)
    for warning in electing_preferred.warnings(done):
        module.warn(warning)
    moves = [*done.moves.values()]
    failure = electing_preferred.failure_message(done)
    return {
        "changed": done.is_changed,
        "cluster_id": done.cluster_id,
        **partition_results(moves, params["max_rows"], MoveStatus, MOVING),
        "groups": to_json_types(group_by_reason(moves)),
        "targets": electing_preferred.count_targets(moves, done.racks),
        "diff": electing_preferred.diff_of_leaders(done, params["max_rows"]),
        **({"msg": failure} if failure else {}),
    }


if __name__ == "__main__":
    main()
