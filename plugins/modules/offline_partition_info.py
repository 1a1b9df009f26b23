#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which partitions have no leader, and what is known of them."""

from __future__ import annotations

DOCUMENTATION = r"""
module: offline_partition_info
short_description: Find the partitions that have no leader
version_added: 1.0.0
description:
  - Finds the partitions that are offline, that is, without a leader, and returns their state in the cluster's
    metadata.
  - Connects to every broker, to find out which replicas can be asked and elected.
  - Does not rely on the ISR. The ISR of an offline partition can still name dead brokers.
  - If every partition has a leader, and brokers with replicas are away, reads in the metadata log which leaders were
    elected uncleanly since. When one of these brokers starts, it deletes the records that these leaders lack.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.kafka, kafkaops.recovery.controllers, kafkaops.recovery.selection,
  kafkaops.recovery.selection.names, kafkaops.recovery.selection.designations, kafkaops.recovery.journal,
  kafkaops.recovery.progress, kafkaops.recovery.attributes, kafkaops.recovery.attributes.info_module,
  kafkaops.recovery.attributes.action_group]
attributes:
  action_group: {membership: [kafkaops.recovery.kafka, kafkaops.recovery.controllers, kafkaops.recovery.journal]}
options:
  report_file:
    description:
      - Where to write the report if no partition is offline and no earlier run left changes. Otherwise the module that
        recovers the partitions writes it.
      - Must not exist. This is checked before any connection is opened.
    type: path
  output_paths:
    description:
      - Files and directories that later tasks will create. The module fails before any connection is opened if one of
        them exists or cannot be created.
    type: list
    elements: path
    default: []
  fencing_wait_ms:
    description:
      - How many milliseconds to wait while brokers that do not answer are leaders in the metadata. After a broker's
        death this lasts until C(broker.session.timeout.ms), 9 s by default. Then the controller fences the broker.
      - Partitions whose leader still does not answer are in RV(left_alone), with the status V(unknown).
    type: int
    default: 0
  max_rows:
    description:
      - The largest number of partitions in RV(partitions), in RV(left_alone) and in RV(unfinished). All if not set.
      - RV(summary), RV(groups) and RV(start_order) are always about all partitions. A report that is made from a saved
        result has only the partitions in that result.
    type: int
seealso:
  - module: kafkaops.recovery.replica_log_info
  - module: kafkaops.recovery.leader_candidate_info
"""

EXAMPLES = r"""
- name: Find all offline partitions
  kafkaops.recovery.offline_partition_info:
    bootstrap_servers:
      - kafka1.example.com:9092
      - kafka2.example.com:9092
  register: found

- name: Look at certain partitions, with the connection that Kafka's own tools use
  kafkaops.recovery.offline_partition_info:
    bootstrap_servers: kafka1.example.com:9093,kafka2.example.com:9093
    command_config: /etc/kafka/client.properties
    partitions:
      - topic: orders
        partitions: [0, 3]
"""

RETURN = r"""
quorum_seen:
  description: >-
    Who led the controller quorum, for O(kafkaops.recovery.unclean_recovery#module:quorum_seen). Null if it is not
    known. The principal may need DESCRIBE on the cluster.
  returned: success
  type: dict
  sample: {leader_id: 1, leader_epoch: 42, seen_at_ms: 86400000}
  contains:
    leader_id: {type: int, description: Id of the leader.}
    leader_epoch: {type: int, description: Its epoch.}
    seen_at_ms: {type: int, description: "The time of the look, in milliseconds of the host's monotonic clock."}
cluster_id: {type: str, returned: success, sample: 4L6g3nShT-eMCtK--X86sw, description: The cluster's id.}
looked_at: {type: str, returned: success, sample: "2026-01-31T23:59:59Z", description: When it was looked at (UTC).}
brokers:
  description: Every broker that is registered or that occurs in a replica list, in order of its id.
  returned: success
  type: list
  elements: dict
  sample:
    - broker_id: 1
      host: kafka1.example.com
      port: 9092
      rack: null
      is_fenced: true
      state: unreachable
      cause: 'DescribeCluster at kafka1.example.com:9092: unreachable: connection refused'
      offline_log_dirs: []
      unclean_elections: null
      unclean_elections_missing: ''
  contains:
    broker_id: {type: int, description: The broker's id.}
    host: {type: str, description: "Its advertised host, null when the controller lists none."}
    port: {type: int, description: "Its advertised port, null when the controller lists none."}
    rack: {type: str, description: "Its rack, null when it has none."}
    is_fenced: {type: bool, description: Whether the controller fences it. It can lead nothing then.}
    state:
      description:
        - V(online), or what is wrong. V(unreachable) means from here. The controller may still receive its heartbeats.
        - V(hung) accepts connections and answers nothing within the limit.
        - V(given_up) is away, and was named as gone for good, with
          O(kafkaops.recovery.leader_candidate_info#module:lost_brokers).
      type: str
      choices: [online, fenced, unreachable, hung, not_authorized, given_up]
    cause: {type: str, description: "Why it is in this state or, if it is online, why replicas on it are offline."}
    offline_log_dirs:
      description: Paths of its offline log directories, asked if it is online and replicas on it are offline.
      type: list
      elements: str
    unclean_elections:
      description:
        - Its partitions whose leader was elected uncleanly since it left. Null if unknown.
        - Here, null also while partitions are offline. The module that recovers them counts.
      type: int
    unclean_elections_missing: {type: str, description: Why they are unknown. Empty if they are not.}
partitions:
  description: The partitions that have no leader, in order of topic, then partition.
  returned: success
  type: list
  elements: dict
  sample:
    - topic: orders
      partition: 3
      topic_id: 0kfAK7wCTDmDzRwEXhGdqg
      leader_id: -1
      leader_epoch: 7
      replicas: [1, 2, 3]
      isr: [1]
      elr: []
      last_known_elr: []
      offline_replicas: [1]
      is_internal: false
  contains:
    topic: {type: str, description: Name of the topic.}
    partition: {type: int, description: Number of the partition.}
    topic_id: {type: str, description: "The topic's id, as Kafka writes it."}
    leader_id: {type: int, description: "Always -1, Kafka's word for no leader."}
    leader_epoch: {type: int, description: The partition's leader epoch.}
    replicas: {type: list, elements: int, description: "Broker ids of its replicas, in order of preference."}
    isr: {type: list, elements: int, description: Broker ids of the in-sync replicas. Can name dead brokers.}
    elr: {type: list, elements: int, description: "Broker ids of the ELR (KIP-966), null when unknown."}
    last_known_elr: {type: list, elements: int, description: "Broker ids of the last known ELR, null when unknown."}
    offline_replicas: {type: list, elements: int, description: Replicas that the cluster takes for offline.}
    is_internal: {type: bool, description: Whether the topic is one of Kafka's own.}
left_alone:
  description:
    - Partitions that were requested, or are offline, and that are not recovered, in order of topic, then partition.
    - The fields are those of RV(kafkaops.recovery.leader_candidate_info#module:partitions).
    - An internal topic is V(refused). V(unknown) is one that does not exist, that the principal may not see, or whose
        leader does not answer, or whose leader's disk seems to have been replaced.
  returned: success
  type: list
  elements: dict
  sample:
    - topic: orders
      partition: 0
      status: already_online
      reason: broker 2 leads it
      leader_before: 2
      leader_after: 2
      replicas: [2, 3, 1]
      isr: [2, 3, 1]
groups:
  description: RV(left_alone) in groups, as in RV(kafkaops.recovery.leader_candidate_info#module:groups).
  returned: success
  type: list
  elements: dict
  sample: []
start_order:
  description:
    - The offline brokers that have replicas of partitions without a leader, in the order in which to start them. The
      first one led most of these partitions last, or else is in the ISR or ELR of most of them.
    - For each broker, what the controller does if only this broker returns. Start a broker only with its old disk.
    - A broker that runs is listed if one of its log directories is offline. It is not to be started, but the directory
      is to be repaired. See RV(start_order[].is_running).
  returned: success
  type: list
  elements: dict
  sample: []
  contains:
    broker_id: {type: int, description: The broker to start.}
    explanation: {type: str, description: All of the following in words.}
    broker: {type: dict, description: "The broker as in RV(brokers), null when the controller does not know it."}
    last_leader_of: {type: int, description: How many of the partitions it led last.}
    eligible_for: {type: int, description: Of how many it is in the ISR or ELR.}
    only_eligible_for: {type: int, description: Of how many it is alone in the ISR or ELR.}
    replica_of: {type: int, description: Of how many it has a replica.}
    always_back: {type: int, description: "How many get a leader when it returns, however it stopped."}
    back_after_clean_stop: {type: int, description: How many get a leader only if it stopped cleanly.}
    doubtful_leaders:
      description: Brokers outside of the ELR that lead when this one returns from an unclean stop. They may lack data.
      type: list
      elements: int
    is_running: {type: bool, description: Whether it runs and its replicas are on an offline log directory.}
    partitions:
      description: What the controller does about each, for the first 20 partitions.
      type: list
      elements: dict
unfinished:
  description:
    - Replica orders that an earlier run changed and did not restore, because it was killed.
    - M(kafkaops.recovery.designated_election) restores them before it does anything else.
  returned: success
  type: list
  elements: dict
  sample: [{topic: orders, partition: 3, topic_id: 0kfAK7wCTDmDzRwEXhGdqg, original: [1, 2, 3], changed: [3, 1, 2]}]
  contains:
    topic: {type: str, description: Name of the topic.}
    partition: {type: int, description: Number of the partition.}
    topic_id: {type: str, description: The topic's id.}
    original: {type: list, elements: int, description: The order that the replicas had.}
    changed: {type: list, elements: int, description: The order that the earlier run set.}
truncated:
  description: Whether RV(partitions), RV(left_alone) or RV(unfinished) would have more partitions without O(max_rows).
  returned: success
  type: bool
  sample: false
led_by_silent:
  description: How many partitions of RV(left_alone) are led, by the metadata, by brokers that do not answer. Nothing is
    known of whether clients can use them.
  returned: success
  type: int
  sample: 0
led_by_replaced:
  description:
    - How many partitions of RV(left_alone) have a leader whose disk seems to have been replaced, while all other
      replicas are down. If these are started, they delete the records that the leader lacks.
    - Partitions whose leader could not be asked about that are counted, too.
  returned: success
  type: int
  sample: 0
summary:
  description: How many partitions were left alone, by status, and how many are offline.
  returned: success
  type: dict
  sample: {offline: 1, already_online: 1, refused: 0, unknown: 0}
"""

from functools import partial
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.record import OrderChange
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.report_file import ReportFile
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.connection import (
    CONNECTION,
    CONTROLLERS,
    Arguments,
    connection_settings,
    controller_listeners,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.options import (
    JOURNAL,
    PROGRESS,
    SELECTION,
    journal_options,
    notes_on_file,
    progress_to,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import call_all, run, to_json_types
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.options import (
    CHOSEN,
    REPORT,
    read_wanted,
    refuse_existing_output,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.survey_result import (
    bounded,
    count_since_brokers_left,
    outcomes_of,
    survey_results,
    write_report,
)

ARGUMENTS = (
    CONNECTION
    + CONTROLLERS
    + SELECTION
    + CHOSEN
    + JOURNAL
    + PROGRESS
    + REPORT
    + Arguments(
        argument_spec={
            "fencing_wait_ms": {"type": "int", "default": 0},
            "output_paths": {"type": "list", "elements": "path", "default": []},
            "max_rows": {"type": "int"},
        }
    )
)


def main() -> None:
    run(AnsibleModule(**ARGUMENTS.to_kwargs(), supports_check_mode=True), results)


def results(module: AnsibleModule) -> dict[str, Any]:
    from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal_reader import JournalReader
    from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.base_port import BaseKafka
    from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
    from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.survey import survey, survey_when_fenced

    params = module.params
    settings, controllers, asked, report, *_checked = call_all(
        lambda: connection_settings(params),
        lambda: controller_listeners(params),
        lambda: read_wanted(params),
        lambda: ReportFile(params["report_file"]),
        *(partial(refuse_existing_output, path) for path in params["output_paths"]),
    )
    with Wire(settings, controllers) as wire:
        kafka = BaseKafka(wire)
        found = survey_when_fenced(
            lambda: survey(kafka, asked.partitions, include_internal=params["include_internal_topics"]),
            params["fencing_wait_ms"],
            kafka.clock,
            progress_to(params["progress_file"]).step,
        )
        for text in (*notes_on_file(params), *kafka.notes_on_views()):
            module.warn(text)
        quorum_seen = kafka.seen_leader()
        pending = JournalReader(kafka, kafka.describe_cluster(), journal_options(params), found.brokers).read()
        unfinished = [each for each in pending.changes if isinstance(each, OrderChange)]
        is_all_done = not found.offline and not unfinished
        if is_all_done:
            found = count_since_brokers_left(wire, found)
    outcomes, groups = outcomes_of(found.left_alone)
    if params["report_file"] is not None and is_all_done:
        write_report(report, found, outcomes)
    return {
        "changed": False,
        "quorum_seen": to_json_types(quorum_seen),
        "groups": groups,
        **bounded(found.offline, outcomes, unfinished, params["max_rows"]),
        **survey_results(found, outcomes),
    }


if __name__ == "__main__":
    main()
