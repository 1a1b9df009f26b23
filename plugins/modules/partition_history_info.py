#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read when offline partitions lost their replicas, and which survivor holds all acknowledged records."""

from __future__ import annotations

DOCUMENTATION = r"""
module: partition_history_info
short_description: Read when offline partitions lost their replicas, and what each survivor is proven to hold
version_added: 1.0.0
description:
  - Reads the controllers' metadata log. Each of its batches has the time at which the active controller appended it. So
    it is known when replicas left the ISR, since when the last leader took records alone, and when it was lost.
  - For each survivor, the module looks for a proof that it holds every record that was acknowledged with C(acks=all).
    If a step of the proof is missing, the result says which one, and nothing is assumed.
  - If no controller and no O(metadata_log_dir) returns the log, the module does not fail. RV(missing) says what is
    missing.
  - Needs CLUSTER_ACTION on the cluster at the controllers, and DESCRIBE on the topics and the cluster.
author: [the kafkaops.recovery authors (@kafkaops)]
requirements: [aiokafka >= 0.12, crc32c >= 2.7, pyarrow >= 20]
options:
  max_bytes:
    description: How many bytes of the metadata log to read at most.
    type: int
    default: 268435456
  max_seconds:
    description: How many seconds to read at most.
    type: int
    default: 10
  metadata_log_dir:
    description:
      - A log directory of a controller or broker on the host that runs the module. The copy of the metadata log in this
        directory is read, also of a node that runs, if O(bootstrap_controllers) is not given, or if none of these
        controllers returns its log.
      - Of each partition, only a history counts that ends as the brokers describe the partition now.
      - A copy that ends more than 10 s ago dates the outage, but proves nothing about records that were acknowledged
        with C(acks=all).
    type: path
extends_documentation_fragment: [
  kafkaops.recovery.kafka, kafkaops.recovery.controllers, kafkaops.recovery.selection,
  kafkaops.recovery.selection.names, kafkaops.recovery.policy.host_boot_times, kafkaops.recovery.gathering.max_rows,
  kafkaops.recovery.attributes,
  kafkaops.recovery.attributes.info_module, kafkaops.recovery.attributes.action_group]
seealso:
  - module: kafkaops.recovery.leader_candidate_info
    description: Ranks the replicas. What is proven of one log is proven there of each other one that holds all of it.
"""

EXAMPLES = r"""
- name: Find out what an election gives up in time, and in promises
  kafkaops.recovery.partition_history_info:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    bootstrap_controllers: controller1.example.com:9093
  register: history

- name: List the survivors that hold every record that was acknowledged with acks=all
  ansible.builtin.debug:
    msg: "{{ item.topic }} {{ item.partition }}: {{ item.survivors | selectattr('keeps_acks_all') | list }}"
  loop: "{{ history.partitions }}"
"""

RETURN = r"""
cluster_id: {type: str, returned: success, sample: 4L6g3nShT-eMCtK--X86sw, description: The cluster's id.}
partitions:
  description:
    - The offline partitions, in order of topic and number. At most O(max_rows).
    - Times are RFC 3339 in UTC, by the clock of the active controller. Null is unknown.
  returned: success
  type: list
  elements: dict
  contains:
    topic: {type: str, description: Name of the topic.}
    partition: {type: int, description: Number of the partition.}
    last_leader_id: {type: int, description: The broker that led last.}
    alone_since: {type: str, description: Since when the last leader was the only member of the ISR.}
    leader_lost_at: {type: str, description: When the partition lost its leader.}
    isr_changes:
      description: The changes of the partition, oldest first; at most the last 50.
      type: list
      elements: dict
      contains:
        at: {type: str, description: The time.}
        leader_id: {type: int, description: "The leader from then on; -1 for none."}
        isr: {type: list, elements: int, description: The ISR from then on.}
    survivors:
      description: The replicas whose brokers are online.
      type: list
      elements: dict
      contains:
        broker_id: {type: int, description: The broker.}
        log_ends_at: {type: str, description: The timestamp of its newest record.}
        lacks_seconds:
          description:
            - Its election gives up at most what was written in so many seconds before the leader was lost. It held
              everything when it was caught up last, which is at most 1.5 times C(replica.lag.time.max.ms) before it
              left the ISR. Each new leader epoch gives it as much time again, and the ISR cannot shrink while no
              controller is active.
          type: int
        keeps_acks_all:
          description: V(true) if it is proven that it holds every record that was acknowledged with C(acks=all).
          type: bool
        proof: {type: str, description: "The proof, or why there is none."}
        assumptions:
          description:
            - What C(lacks_seconds) and C(keeps_acks_all) rest on that no log of Kafka shows.
            - V(shutdown_completed), no host lost power before its broker had stopped.
            - V(boot_times_right), the boot times in O(host_boot_times) are right.
            - V(disk_not_older), no disk was restored from an older image.
            - V(no_earlier_losses), no leader had lost records before the metadata log begins. A replica has not been in
              sync since then, and may hold what others lost by an unclean election or by a restart.
            - V(no_older_topic), no topic of the same name was deleted in the hour before a leader started. A leader may
              use its C(min.insync.replicas), and the metadata log does not reach back so far.
          type: list
          elements: str
        estimate:
          description: How many records its election gives up. It is no bound.
          type: dict
          contains:
            records: {type: int, description: The estimated number of records.}
            low: {type: int, description: The least number by the slowest rate that was seen.}
            high: {type: int, description: The greatest number by the fastest rate that was seen.}
            method: {type: str, description: How it was estimated.}
        estimated_since: {type: str, description: When the time begins that the estimate covers.}
  sample:
    - topic: orders
      partition: 0
      last_leader_id: 1
      alone_since: '2026-01-31T20:57:41.450Z'
      leader_lost_at: '2026-01-31T20:57:51.596Z'
      isr_changes: [{at: '2026-01-31T20:57:41.450Z', leader_id: 1, isr: [1]}]
      survivors:
        - broker_id: 3
          log_ends_at: '2026-01-31T20:57:41.101Z'
          lacks_seconds: 11
          keeps_acks_all: true
          proof: >-
            after broker 3 left the ISR, the ISR was smaller than min.insync.replicas (2), so nothing was acknowledged
            with acks=all that it does not hold
          estimate:
            records: 320
            low: 150
            high: 1100
            method: >-
              91.2 records/s, as in the last 600 s of the log, for 4 s; low and high by the rates of the last 600, 60,
              3600 s, and by when the leader died
          estimated_since: '2026-01-31T20:57:41.101Z'
truncated: {type: bool, returned: success, sample: false, description: Whether RV(partitions) leaves out partitions.}
source:
  description: Where the history comes from. Empty if there is none.
  returned: success
  type: str
  sample: the metadata log of the controller at controller1.example.com:9093
missing:
  description: Why there is no history, or why it is not complete. Empty if it is complete.
  returned: success
  type: str
  sample: ''
not_decoded:
  description: Records of the metadata log whose type or version this collection does not know.
  returned: success
  type: int
  sample: 0
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._history.host_boots import (
    describe_host_boots,
    read_host_boots,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._history.outage import (
    HISTORY,
    find_outages,
    history_limits,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.outage import Outage
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.connection import (
    CONNECTION,
    CONTROLLERS,
    connection_settings,
    controller_listeners,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.libraries import KAFKA, RECORDS
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.options import SELECTION, wanted_partitions
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import call_all, run, to_json_types
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.options import MAX_ROWS

ARGUMENTS = CONNECTION + CONTROLLERS + SELECTION + HISTORY + MAX_ROWS


def main() -> None:
    run(AnsibleModule(**ARGUMENTS.to_kwargs(), supports_check_mode=True), results, needs=(*KAFKA, *RECORDS))


def results(module: AnsibleModule) -> dict[str, Any]:
    from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
    from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
    from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.survey import survey

    params = module.params
    settings, wanted, controllers, host_boots, limits = call_all(
        lambda: connection_settings(params),
        lambda: wanted_partitions(params),
        lambda: controller_listeners(params),
        lambda: read_host_boots(params),
        lambda: history_limits(params),
    )
    with Wire(settings, controllers) as wire:
        kafka = Kafka(wire)
        found = survey(kafka, wanted, include_internal=params["include_internal_topics"])
        outages = find_outages(
            kafka,
            found.offline,
            found.brokers,
            cluster_id=found.cluster_id,
            limits=limits,
            log_dir=params["metadata_log_dir"],
            host_boots=host_boots,
        )
    for note in describe_host_boots(host_boots, found.brokers):
        module.warn(note)
    read = outages.read
    rows = [_row(each, outage) for each, outage in sorted(outages.outages.items())]
    return {
        "cluster_id": found.cluster_id,
        "partitions": rows[: params["max_rows"]],
        "truncated": len(rows) > params["max_rows"],
        "source": read.source if read.history is not None else "",
        "missing": read.missing,
        "not_decoded": read.history.not_decoded if read.history is not None else 0,
    }


def _row(partition: TopicPartition, outage: Outage) -> dict[str, Any]:
    history = {
        name: value for name, value in to_json_types(outage.history).items() if name not in {"sources", "missing"}
    }
    survivors = [{"broker_id": broker_id, **to_json_types(past)} for broker_id, past in outage.replicas.items()]
    return {**partition._asdict(), **history, "survivors": survivors}


if __name__ == "__main__":
    main()
