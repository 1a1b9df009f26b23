#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Carry out a plan: request designated elections, verify them, and restore every replica order."""

from __future__ import annotations

DOCUMENTATION = r"""
module: designated_election
short_description: Elect designated leaders for offline partitions
version_added: 1.0.0
description:
  - Elects the designated leader of each partition of a plan by an unclean election, and verifies that it leads.
  - No released Kafka has a designated election. So the module moves the designated leader to the front of the replica
    order, requests an UNCLEAN election, which elects the first live replica, and restores the order. It never changes
    the replica set, except that brokers that are not registered are dropped if the plan says so.
  - If the plan says so, the module requests an ordinary election of a member of the ISR or ELR instead.
  - Each partition is read again right before its election. A partition that has a leader, or that differs from the plan
    in a relevant value, is left alone, and the reason is reported. The other elections continue.
  - The journal, by default the topic O(journal_topic) of the cluster, holds each changed order until it is restored.
    After a crash, the next run first restores the changed orders.
  - The task fails if any partition was not recovered. All other partitions are recovered first.
  - After SIGTERM or SIGINT, the module completes the current request, restores replica orders, and returns its results.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.kafka, kafkaops.recovery.election_plan, kafkaops.recovery.elections, kafkaops.recovery.salvage,
  kafkaops.recovery.journal, kafkaops.recovery.quorum_preflight, kafkaops.recovery.controllers,
  kafkaops.recovery.report, kafkaops.recovery.progress, kafkaops.recovery.gathering.max_rows,
  kafkaops.recovery.attributes,
  kafkaops.recovery.attributes.action_group]
attributes:
  action_group: {membership: [
    kafkaops.recovery.kafka, kafkaops.recovery.controllers, kafkaops.recovery.journal, kafkaops.recovery.elections]}
  check_mode:
    support: full
    details:
      - Reads every partition again, and returns the elections that it would request. It sends no write request.
options:
  include_internal_topics:
    description:
      - Whether O(partitions) may name offline partitions of Kafka's internal topics, such as C(__consumer_offsets).
        They are refused otherwise. A plan contains them only if its author allowed it.
      - They hold the state of consumer groups and transactions. If records of these are lost, consumers and producers
        can fail or process records again.
    type: bool
    default: false
  fencing_wait_ms:
    description:
      - How many milliseconds to wait while the metadata names leaders of planned partitions that do not answer. If
        such a leader is dead, the controller fences it within C(broker.session.timeout.ms), 9 s by default.
      - Partitions whose leader still does not answer have the status V(unknown), and the task fails. Check mode does
        not wait.
    type: int
    default: 20000
  acknowledge_unclean_leader_election:
    description:
      - Continue although C(unclean.leader.election.enable) is true for a topic, by its own config or by a broker's. The
        controller then elects leaders by itself, without a comparison of logs, and may be faster.
      - The configs are read right before the elections, because they may have changed since the plan was made.
    type: bool
    default: false
  allow_empty_leader:
    description:
      - Whether the elections of O(partitions) may take an empty log, as with
        O(kafkaops.recovery.leader_candidate_info#module:allow_empty_leader). A plan itself says which elections may.
    type: bool
    default: false
  allow_dropping_unregistered:
    description:
      - Whether the elections of O(partitions) may drop brokers that are not registered from a replica set, as with
        O(kafkaops.recovery.leader_candidate_info#module:allow_dropping_unregistered). A plan itself names the brokers
        to drop.
    type: bool
    default: false
seealso:
  - module: kafkaops.recovery.leader_candidate_info
    description: Writes the plan.
"""

EXAMPLES = r"""
- name: Show what a reviewed plan would do now
  kafkaops.recovery.designated_election:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    plan_file: plan.json
  check_mode: true
  diff: true

- name: Carry out a reviewed plan
  kafkaops.recovery.designated_election:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    plan_file: plan.json
    report_file: report.json

- name: Elect a replica of your own choice
  kafkaops.recovery.designated_election:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    partitions:
      - topic: orders
        partition: 3
        designated_leader: 2
"""

RETURN = r"""
cluster_id:
  description: The cluster's id.
  returned: always, once the elections began
  type: str
  sample: 4L6g3nShT-eMCtK--X86sw
brokers:
  description:
    - Every broker that is registered or that the plan names, in order of its id.
    - The fields are those of RV(kafkaops.recovery.offline_partition_info#module:brokers).
  returned: always, once the elections began
  type: list
  elements: dict
  sample:
    - {broker_id: 2, host: kafka2.example.com, port: 9092, rack: null, is_fenced: false, state: online, cause: '',
       offline_log_dirs: [], unclean_elections: 0,
       unclean_elections_missing: ''}
partitions:
  description:
    - How each partition of the plan ended, in order of topic, then partition.
    - If there are more than O(max_rows), those that were not recovered are returned first.
  returned: always, once the elections began
  type: list
  elements: dict
  sample:
    - topic: orders
      partition: 3
      status: recovered
      reason: 'rank 1: last written epoch 6 is the highest, log end offset 150'
      topic_id: 0kfAK7wCTDmDzRwEXhGdqg
      designated_leader: 3
      leader_before: -1
      leader_after: 3
      leader_epoch_before: 7
      leader_epoch_after: 9
      replicas: [1, 2, 3]
      replicas_after: [1, 2, 3]
      candidates: []
      silent: []
      losses: []
      isr: []
      elr: [1]
      last_known_elr: [1]
      isr_after: [3]
      required_isr: 2
      dropped: []
      cause: ''
  contains:
    topic: {type: str, description: Name of the topic.}
    partition: {type: int, description: Number of the partition.}
    status:
      description: How it ended.
      type: str
      choices: [recovered, would_recover, already_online, refused, failed, unrecoverable, unknown]
    reason: {type: str, description: "Why, and what can be done about it."}
    topic_id: {type: str, description: "The topic's id, null if unknown."}
    designated_leader: {type: int, description: "Broker id of the planned leader, null if no election was planned."}
    leader_before: {type: int, description: "Broker id of the leader before, -1 if there was none, null if unknown."}
    leader_after: {type: int, description: "Broker id of the leader after, -1 if there is none, null if unknown."}
    leader_epoch_before: {type: int, description: "The partition's leader epoch before, null if unknown."}
    leader_epoch_after: {type: int, description: "The partition's leader epoch after, null if unknown."}
    replicas: {type: list, elements: int, description: "Broker ids of its replicas before, in order of preference."}
    replicas_after: {type: list, elements: int, description: "Its replicas after, null if unknown."}
    candidates:
      description: The replicas of the plan, best first. The fields are those of
        M(kafkaops.recovery.leader_candidate_info).
      type: list
      elements: dict
    silent:
      description: The replicas that gave no answer for the plan. The fields are those of
        M(kafkaops.recovery.leader_candidate_info).
      type: list
      elements: dict
    losses:
      description: The expected loss of electing each candidate. The fields are those of
        M(kafkaops.recovery.leader_candidate_info).
      type: list
      elements: dict
    isr: {type: list, elements: int, description: "Broker ids of the ISR before, null if unknown."}
    elr:
      description: Broker ids of the ELR before, null if unknown or if the cluster has no ELR.
      type: list
      elements: int
    last_known_elr:
      description: Broker ids of the last known ELR before, null if unknown.
      type: list
      elements: int
    isr_after:
      description: Broker ids of the ISR after the run, null if it is not known or if the partition has no leader.
      type: list
      elements: int
    required_isr:
      description: How many members of the ISR acks=all needs. It is C(min.insync.replicas), but at most the number of
        replicas. Null like RV(partitions[].isr_after).
      type: int
    dropped: {type: list, elements: int, description: Unregistered brokers that were dropped from its replicas.}
    history:
      description: What the controllers' metadata log said of the outage when the plan was made, null if nobody asked.
        The fields are those of M(kafkaops.recovery.leader_candidate_info).
      type: dict
    refused_by: {type: str, description: "The rule that refuses it until more is allowed, null for other refusals."}
    cause: {type: str, description: "The reason without what C(candidates) and C(losses) explain."}
truncated:
  description: Whether there are more partitions than O(max_rows).
  returned: always, once the elections began
  type: bool
  sample: false
groups:
  description: All partitions, grouped by what they share, worst first. Never truncated. The fields are those of
    RV(kafkaops.recovery.leader_candidate_info#module:groups).
  returned: always, once the elections began
  type: list
  elements: dict
  sample: []
loss:
  description: The loss of all elections together, in records. The fields are those of
    RV(kafkaops.recovery.leader_candidate_info#module:loss).
  returned: always, once the elections began
  type: dict
  sample: {at_least: 5, at_most: null, unbounded: 1, left_empty: 0, with_gap: 0}
writable:
  description: How many of the partitions that have a leader after the run take records with acks=all. All values are 0
    in check mode.
  returned: always, once the elections began
  type: dict
  contains:
    writable:
      description: Partitions whose ISR has at least C(min.insync.replicas) members, or all replicas.
      type: int
    led: {type: int, description: Partitions that have a leader after the run.}
    unknown: {type: int, description: "Partitions whose ISR or C(min.insync.replicas) could not be read."}
  sample: {writable: 0, led: 1, unknown: 0}
summary:
  description: How many partitions have each status.
  returned: always, once the elections began
  type: dict
  sample: {recovered: 1, would_recover: 0, already_online: 0, refused: 0, failed: 0, unrecoverable: 0, unknown: 0}
salvage:
  description: The records of live replicas that were saved because the designated leaders did not hold them.
  returned: always, once the elections began
  type: dict
  contains:
    salvage_dir: {type: str, description: The directory with the saved records. Null if nothing was saved.}
    salvage_id: {type: str, description: Id of the salvage. Null if nothing was saved.}
    partitions:
      description: Each partition of which such a replica held records, in order of topic and number.
      type: list
      elements: dict
      contains:
        topic: {type: str, description: Name of the topic.}
        partition: {type: int, description: Number of the partition.}
        held_by_losers: {type: int, description: "How many offsets these replicas held, each counted once."}
        saved: {type: int, description: How many records were saved.}
        given_back: {type: int, description: How many records were replayed. Always 0 here.}
        still_lost:
          description:
            - Records that were held and not saved, or saved and not replayed. 0 if the election was refused, because
              these replicas then still hold them. Records of aborted transactions do not count.
          type: int
        at_hand: {type: int, description: "How many of RV(salvage.partitions[].still_lost) are saved."}
        reason: {type: str, description: "Which records were not saved, and why. Empty if all were saved."}
  sample:
    salvage_dir: /var/tmp/recovery-salvage
    salvage_id: 6cfb1b2c-20c5-4a38-9a51-0a4c1d8d6f35
    partitions:
      - {topic: orders, partition: 0, held_by_losers: 50, saved: 50, given_back: 0, still_lost: 50, at_hand: 50,
         reason: ''}
aftermath:
  description:
    - What the elections left behind, most urgent first, and what could not be checked. The report file has all entries.
    - If there are more than O(max_rows), the last entry says how many more there are.
  returned: always, once the elections began
  type: list
  elements: dict
  sample:
    - kind: committed_beyond_end
      topic: orders
      partition: 3
      explanation: group billing committed offset 151, 1 beyond the log end 150
  contains:
    kind:
      description: The kind of finding.
      type: str
      choices:
        - not_writable
        - committed_beyond_end
        - committed_before_start
        - open_transaction
        - state_lost
        - will_truncate
        - dropped
        - not_known
    topic: {type: str, description: "Name of the topic, null if it is not about one partition."}
    partition: {type: int, description: "Number of the partition, null if it is not about one partition."}
    explanation: {type: str, description: "What was found, with the numbers."}
leftovers:
  description: Replica orders that an earlier run changed and did not restore, and how each ended.
  returned: always, once the elections began
  type: list
  elements: dict
  sample:
    - change:
        topic: orders
        partition: 3
        topic_id: 0kfAK7wCTDmDzRwEXhGdqg
        original: [1, 2, 3]
        changed: [3, 1, 2]
      undoing: restored
      reason: back to [1, 2, 3]
  contains:
    change:
      description: What the earlier run changed. The fields are those of
        RV(kafkaops.recovery.offline_partition_info#module:unfinished).
      type: dict
    undoing:
      description: What became of it.
      type: str
      choices: [restored, would_restore, already_back, conflict, gone, failed, waits]
    reason: {type: str, description: "Why, for a person."}
report_fault:
  description: Why O(report_file) could not be written, after the elections. The task fails then, with all results.
  returned: when that is so
  type: str
  sample: 'the report is not written: /srv/report.json is refused: it exists already, and is never overwritten.'
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.connection import CONNECTION, Arguments
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.options import JOURNAL, PROGRESS
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.quorum_preflight import QUORUM_PREFLIGHT
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import run, stop_on_signals
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.designations import DESIGNATIONS
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.options import ELECTIONS, MAX_ROWS, REPORT
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.options import SALVAGE

ARGUMENTS = (
    CONNECTION
    + DESIGNATIONS
    + ELECTIONS
    + JOURNAL
    + QUORUM_PREFLIGHT
    + MAX_ROWS
    + REPORT
    + PROGRESS
    + SALVAGE
    + Arguments(
        argument_spec={
            "include_internal_topics": {"type": "bool", "default": False},
            "acknowledge_unclean_leader_election": {"type": "bool", "default": False},
            "allow_empty_leader": {"type": "bool", "default": False},
            "fencing_wait_ms": {"type": "int", "default": 20_000},
            "allow_dropping_unregistered": {"type": "bool", "default": False},
        }
    )
)


def main() -> None:
    run(AnsibleModule(**ARGUMENTS.to_kwargs(), supports_check_mode=True), results)


def results(module: AnsibleModule) -> dict[str, Any]:
    stop = stop_on_signals()

    from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.carry_out import elect
    from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.module_result import results_of
    from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.tails_module import RunTails

    params, check_mode = module.params, module.check_mode
    tails = RunTails(params, check_mode)
    elected = elect(params, check_mode=check_mode, stop=stop, tails=tails)
    for warning in [*elected.warnings, *tails.warnings()]:
        module.warn(warning)
    return results_of(elected, params["max_rows"], tails.results(elected.refused), check_mode=check_mode)


if __name__ == "__main__":
    main()
