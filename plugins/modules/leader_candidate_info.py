#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rank the replicas of offline partitions, and plan elections."""

from __future__ import annotations

DOCUMENTATION = r"""
module: leader_candidate_info
short_description: Rank the replicas of offline partitions and plan elections
version_added: 1.0.0
description:
  - Asks every surviving replica of the offline partitions for the state of its log, ranks the replicas, explains each
    rank, and plans the election of the best replica that can be elected.
  - The best replica has the highest last written leader epoch. Among replicas with the same epoch, the longest log is
    the best, then the log that begins first. Among equal logs, the first one in the replica list is the best.
  - Spark ranks the replicas. If it is not ready in time, the module ranks them itself.
  - The loss of electing each replica is computed from the epochs in the logs. It is exact against replicas that
    answered, and a lower bound or unknown against replicas that did not.
  - O(recovery_strategy) sets how much loss to accept. A partition with a live member of the ELR gets an ordinary
    election.
  - A partition gets no election if none of its replicas answered, or if the controller would elect another broker than
    the best one. The reason is reported.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.kafka, kafkaops.recovery.selection, kafkaops.recovery.selection.names,
  kafkaops.recovery.selection.designations, kafkaops.recovery.gathering, kafkaops.recovery.gathering.max_rows,
  kafkaops.recovery.controllers, kafkaops.recovery.policy, kafkaops.recovery.policy.host_boot_times,
  kafkaops.recovery.waiting, kafkaops.recovery.report, kafkaops.recovery.progress, kafkaops.recovery.attributes,
  kafkaops.recovery.attributes.info_module, kafkaops.recovery.attributes.action_group]
attributes:
  action_group: {membership: [kafkaops.recovery.kafka, kafkaops.recovery.controllers, kafkaops.recovery.planning]}
options:
  evidence:
    description:
      - Directory with the evidence of one earlier run, as RV(evidence) names it. The module ranks this evidence and
        contacts no broker.
      - The plan contains the replicas' answers of that time. When it is carried out, partitions that changed since then
        are left alone.
    type: path
  plan_file:
    description:
      - Where to write the plan, a JSON file for M(kafkaops.recovery.designated_election).
      - The file must not exist. This is checked before any connection is opened.
      - Written in check mode too, because it describes the cluster and does not change it.
    type: path
  return_plan:
    description:
      - The form in which to return the plan, in addition to O(plan_file).
      - V(document) is the whole plan, RV(plan).
      - V(published) is a form for another job, RV(published_plan). It has at most 1 MiB, compressed, which is a plan of
        about 10,000 partitions. A larger plan is not returned, and RV(publish_fault) says what to do.
      - V(digest) is RV(plan_digest) alone. The default is V(digest) with O(plan_file), and V(document) without it.
    type: str
    choices: [document, published, digest]
seealso:
  - module: kafkaops.recovery.designated_election
    description: Carries out the plan.
  - module: kafkaops.recovery.unclean_recovery
    description: Plans and elects in one step.
"""

EXAMPLES = r"""
- name: Plan for all offline partitions
  kafkaops.recovery.leader_candidate_info:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    plan_file: plan.json
  register: candidates

- name: Carry out the plan
  kafkaops.recovery.designated_election:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    plan_file: plan.json

- name: Rank replicas that were asked before
  kafkaops.recovery.leader_candidate_info:
    evidence: "{{ logs.evidence }}"
"""

RETURN = r"""
report_fault: {type: str, returned: if there is one, sample: disk full, description: Why there is no O(report_file).}
cluster_id: {type: str, returned: success, sample: 4L6g3nShT-eMCtK--X86sw, description: The cluster's id.}
brokers:
  description: As RV(kafkaops.recovery.offline_partition_info#module:brokers). Empty with O(evidence).
  returned: success
  type: list
  elements: dict
evidence:
  description:
    - The directory or URI with the replicas' answers, for O(kafkaops.recovery.leader_candidate_info#module:evidence).
    - Null if none were asked, or if they could not be stored. A warning then says why.
  returned: success
  type: str
  sample: /root/.local/state/kafkaops-recovery/evidence/cluster_id=4L6g3nShT-eMCtK--X86sw/gather=20260131T025959Z-6ad00b
engine:
  description: The engine that ranked the replicas. Null if there were none.
  returned: success
  type: dict
  sample: {name: spark, reason: ''}
  contains:
    name: {type: str, description: The engine., choices: [spark, process]}
    reason: {type: str, description: "Why it is not the engine of O(engine), empty if it is."}
led_by_silent:
  {type: int, returned: success, sample: 0, description: The same as in M(kafkaops.recovery.offline_partition_info).}
led_by_replaced:
  {type: int, returned: success, sample: 0, description: The same as in M(kafkaops.recovery.offline_partition_info).}
awaited:
  description:
    - Brokers that M(kafkaops.recovery.unclean_recovery) would wait for. The broker to start first is the first entry.
    - Brokers whose answer cannot change an election are not included.
  returned: success
  type: list
  elements: dict
  sample:
    - {broker_id: 1, state: fenced, partitions: 12, holds_back: 8, limit_ms: 30000, waited_ms: null,
       has_returned: false, cause: 'DescribeCluster at kafka1.example.com:9092: unreachable: connection refused'}
  contains:
    broker_id: {type: int, description: The broker's id.}
    state:
      description: Its last observed state.
      type: str
      choices: [online, fenced, unreachable, hung, not_authorized, given_up]
    cause: {type: str, description: Why it was in this state. Empty when it was online.}
    partitions: {type: int, description: For how many partitions its answer may change the elected leader.}
    holds_back: {type: int, description: How many of these cannot be recovered without it.}
    limit_ms: {type: int, description: "How long a run waits for it, in milliseconds."}
    waited_ms: {type: int, description: "Always null, because this module does not wait."}
    has_returned: {type: bool, description: "Always false, because this module does not wait."}
partitions:
  returned: success
  type: list
  elements: dict
  description:
    - Each partition with its planned election, in order of topic, then partition.
    - If there are more than O(max_rows), those without a planned election are returned first.
  contains:
    topic: {type: str, description: Name of the topic.}
    partition: {type: int, description: Number of the partition.}
    status:
      description: V(would_recover) if an election is planned, otherwise why there is none.
      type: str
      choices: [would_recover, already_online, refused, unrecoverable, unknown]
    reason: {type: str, description: "Why, in words."}
    topic_id: {type: str, description: "The topic's id, null if unknown."}
    designated_leader: {type: int, description: "Broker id of the planned leader, null if no election is planned."}
    leader_before: {type: int, description: "Broker id of the present leader, -1 if there is none, null if unknown."}
    leader_after: {type: int, description: "C(leader_before) if no election is planned, otherwise null."}
    leader_epoch_before: {type: int, description: "The partition's present leader epoch, null if unknown."}
    leader_epoch_after: {type: int, description: "C(leader_epoch_before) if no election is planned, otherwise null."}
    replicas: {type: list, elements: int, description: "Broker ids of its replicas, in order of preference."}
    replicas_after: {type: list, elements: int, description: "Always null, because the module changes nothing."}
    candidates:
      description: The replicas that answered, best first.
      type: list
      elements: dict
      contains:
        broker_id: {type: int, description: The replica's broker.}
        rank: {type: int, description: Its place in the ranking. 1 is the best.}
        last_written_epoch: {type: int, description: "Newest leader epoch with records, null if the log is empty."}
        log_start_offset: {type: int, description: First offset of the log.}
        log_end_offset: {type: int, description: Offset after the last record of the log.}
        lineage: {type: list, elements: dict, description: "Each leader epoch with its end offset, oldest first."}
        size_bytes: {type: int, description: "Bytes on disk, null if the broker did not return it."}
        flags:
          description: Properties to check before electing it.
          type: list
          elements: str
          choices: [empty_log, gap, future_replica, fenced, diverged, local_only, not_comparable]
        explanation: {type: str, description: "Why it has this rank, in words."}
        local_log_start_offset: {type: int, description: "Of a tiered topic, the first offset on its own disk."}
        last_tiered_offset: {type: int, description: "Of a tiered topic, the last offset in the tier."}
        reused_epochs: {type: list, elements: int, description: "Epochs of which it has other records than rank 1."}
    silent:
      description: The replicas that gave no answer.
      type: list
      elements: dict
      contains:
        broker_id: {type: int, description: The replica's broker.}
        cause: {type: str, description: "Why it gave no answer, in one word."}
        error: {type: str, description: "The error, in words."}
    losses:
      description: The loss of electing each of the candidates, in the same order.
      type: list
      elements: dict
      contains:
        broker_id: {type: int, description: The candidate.}
        at_least: {type: int, description: Records that are lost for certain.}
        at_most: {type: int, description: "Records that can be lost at most, null if unknown."}
        more_than_first: {type: int, description: "Records more than rank 1 would lose, negative for fewer."}
        explanation: {type: str, description: "The same in words, with the offsets."}
        against: {type: list, elements: dict, description: The comparison with each other replica.}
        log_ends_at: {type: str, description: "The timestamp of its newest record, null if unknown."}
        lacks_seconds: {type: int, description: "It lacks at most the writes of so many last seconds, or null."}
        acks_all_lost: {type: int, description: "C(acks=all) records that are lost at most, null if unknown."}
        proof: {type: str, description: "The proof from the metadata log, or why there is none."}
        estimate: {type: dict, description: "Estimated lost records, with C(low), C(high) and C(method). No bound."}
        recorded:
          description:
            - The C(records) that the silent last leader C(broker_id) held beyond this log at C(seen_at), or null.
          type: dict
        assumptions: {type: list, elements: str, description: See RV(loss.assumptions).}
    isr: {type: list, elements: int, description: "Broker ids of the ISR, null if unknown."}
    elr: {type: list, elements: int, description: "Broker ids of the ELR, null if unknown or without ELR."}
    last_known_elr: {type: list, elements: int, description: "Broker ids of the last known ELR, null if unknown."}
    isr_after: {type: list, elements: int, description: Null in a plan.}
    required_isr: {type: int, description: Null in a plan.}
    dropped: {type: list, elements: int, description: Unregistered brokers that the election drops from its replicas.}
    history:
      description: What the controllers' metadata log says of the outage, null if nobody asked.
      type: dict
      contains:
        last_leader_id: {type: int, description: The broker that led last.}
        alone_since: {type: str, description: Since when it was the only member of the ISR.}
        leader_lost_at: {type: str, description: When the partition lost its leader.}
        isr_changes: {type: list, elements: dict, description: "The newest changes of leader and ISR, oldest first."}
        sources: {type: list, elements: str, description: Where this comes from.}
        missing: {type: list, elements: str, description: Why something is not known.}
    refused_by: {type: str, description: "The rule that refuses it until more is allowed, null for other refusals."}
    cause: {type: str, description: "The reason without what C(candidates) and C(losses) explain."}
  sample:
    - topic: orders
      partition: 3
      status: would_recover
      reason: 'rank 1: last written epoch 6 is the highest, log end offset 150'
      designated_leader: 3
      leader_before: -1
      leader_epoch_before: 7
      replicas: [1, 2, 3]
      isr: []
      candidates:
        - {broker_id: 3, rank: 1, last_written_epoch: 6, log_start_offset: 0, log_end_offset: 150, flags: [],
           size_bytes: 11034, lineage: [{epoch: 2, end_offset: 100}, {epoch: 6, end_offset: 150}],
           explanation: 'rank 1: last written epoch 6 is the highest, log end offset 150'}
      silent:
        - {broker_id: 1, cause: unreachable,
           error: 'DescribeCluster at kafka1.example.com:9092: unreachable: connection refused'}
truncated: {type: bool, returned: success, sample: false, description: Whether O(max_rows) left partitions out.}
groups:
  description:
    - All partitions, grouped by what they share, worst first. Never truncated.
    - The partitions of a group have the same status, leader, reason and loss. If there are more than eight groups, the
      leaders in a group may differ, and if there are still more, the reasons too.
  returned: success
  type: list
  elements: dict
  sample:
    - {status: would_recover, partitions: 501, leaders: [{broker_id: 3, partitions: 501}],
       topics: {named: [{topic: orders, partitions: "0-499, 512", count: 501}], more: 0},
       reason: the longest log of the newest leader epoch,
       loss: loses nothing that broker 2 holds,
       total: {at_least: 0, at_most: 0, unbounded: 0, left_empty: 0, with_gap: 0}}
  contains:
    status: {type: str, description: Their common status.}
    partitions: {type: int, description: How many partitions there are in the group.}
    topics: {type: dict, description: "C(named) has the four largest topics, C(more) counts the others."}
    leaders: {type: list, elements: dict, description: "Brokers that lead or would lead, and how many partitions."}
    reason: {type: str, description: Their common reason. Numbers that differ are given as a range.}
    loss: {type: str, description: "The loss of electing the leader or best replica. Empty if none was compared."}
    total: {type: dict, description: The fields of RV(loss) for the group.}
    refused_by: {type: list, elements: str, description: "The different values of RV(partitions[].refused_by)."}
loss:
  description: The loss of all elections together, in records.
  returned: success
  type: dict
  sample: {at_least: 5, at_most: null, unbounded: 1, left_empty: 0, with_gap: 0}
  contains:
    at_least: {type: int, description: Records that are lost for certain.}
    at_most: {type: int, description: "Records that can be lost at most, null if this is unknown for a partition."}
    unbounded: {type: int, description: Number of partitions for which RV(loss.at_most) is unknown.}
    left_empty: {type: int, description: "Partitions that get an empty log, although another replica may hold records."}
    with_gap: {type: int, description: Partitions whose elected log ends before that of another replica begins.}
    seconds: {type: int, description: "In how many seconds uncounted records were written at most, null if unknown."}
    timed: {type: int, description: "Of C(unbounded), the partitions for which C(seconds) is known."}
    estimated: {type: list, elements: int, description: "Estimate, low, high where C(at_most) is unknown, or null."}
    estimates: {type: int, description: "Of C(timed), the partitions that C(estimated) is about."}
    keeps_acks_all: {type: bool, description: Proven to lose no record that was acknowledged with C(acks=all).}
    assumptions: {type: list, elements: str, description: "What C(seconds) and C(keeps_acks_all) rest on, unproven."}
summary:
  description: How many partitions have each status.
  returned: success
  type: dict
  sample: {recovered: 0, would_recover: 1, already_online: 0, refused: 0, failed: 0, unrecoverable: 0, unknown: 0}
plan_digest:
  description: The digest of the plan, for O(kafkaops.recovery.designated_election#module:plan_digest).
  returned: success
  type: str
  sample: sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
published_plan:
  description:
    - The whole plan as data for another job, for the option O(kafkaops.recovery.designated_election#module:plan).
      C(data) has it as one string of JSON (C(encoding) is V(json)).
    - JSON of more than 64 KiB, or with characters that begin a template, is compressed (V(zlib+base64)).
  returned: with O(return_plan=published), unless the plan is too large
  type: dict
  sample:
    {encoding: zlib+base64, data: eJyrVkrLz1eyUlBKSixSqgUAHfgEbw==,
     digest: sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08}
publish_fault:
  description: Why there is no RV(published_plan), and what to do.
  returned: with O(return_plan=published), if the compressed plan has more than 1 MiB
  type: str
  sample: 'plan is refused: it takes more than 1,048,576 bytes compressed, the most that is published.'
plan:
  description: The plan as in O(plan_file), for O(kafkaops.recovery.designated_election#module:plan).
  returned: with O(return_plan=document)
  type: dict
  sample: {schemaVersion: 1, clusterId: 4L6g3nShT-eMCtK--X86sw}
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.connection import (
    CONTROLLERS,
    Arguments,
    connection_arguments,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.libraries import KAFKA_AND_ARROW
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.options import (
    PROGRESS,
    SELECTION,
    notes_on_file,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import partition_results, run, to_json_types
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.gather import GATHERING
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.groups import group_outcomes, total_loss
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.make_plan import PlanForm
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.options import CHOSEN, MAX_ROWS, REPORT
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import outcomes_of_plan
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import DONE_OR_FORESEEN, Status
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.policies import POLICY
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.waiting import WAITING

ARGUMENTS = (
    connection_arguments("evidence")
    + CONTROLLERS
    + SELECTION
    + CHOSEN
    + GATHERING
    + POLICY
    + WAITING
    + MAX_ROWS
    + REPORT
    + PROGRESS
    + Arguments(
        argument_spec={
            "evidence": {"type": "path"},
            "plan_file": {"type": "path"},
            "return_plan": {"type": "str", "choices": [each.value for each in PlanForm]},
        },
        mutually_exclusive=[
            ("evidence", other)
            for other in (
                "partitions",
                "partitions_file",
                "designations",
                "designations_file",
                "evidence_dir",
                "recordings",
                "metadata_log_dir",
                "host_boot_times",
            )
        ],
    )
)


def main() -> None:
    run(AnsibleModule(**ARGUMENTS.to_kwargs(), supports_check_mode=True), results, needs=KAFKA_AND_ARROW)


def results(module: AnsibleModule) -> dict[str, Any]:
    from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.make_plan import make_plan

    planned = make_plan(module.params)
    for note in (*notes_on_file(module.params), *planned.notes):
        module.warn(note)
    outcomes = outcomes_of_plan(planned.plan)
    return {
        "changed": False,
        "cluster_id": planned.plan.cluster_id,
        "brokers": to_json_types(planned.brokers),
        "awaited": to_json_types(planned.awaited),
        **planned.doubtful,
        "evidence": planned.evidence,
        "engine": to_json_types(planned.engine),
        **partition_results(outcomes, module.params["max_rows"], Status, DONE_OR_FORESEEN),
        "groups": to_json_types([each.group for each in group_outcomes(outcomes)]),
        "loss": to_json_types(total_loss(outcomes)),
        "plan_digest": planned.digest,
        **planned.returned,
    }


if __name__ == "__main__":
    main()
