#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Replay saved records to Kafka."""

from __future__ import annotations

DOCUMENTATION = r"""
module: salvage_replay
short_description: Replay saved records to Kafka, each exactly once
version_added: 1.0.0
description:
  - Reads a salvage directory, and writes its records to side topics or to the original topics, with their keys, values,
    headers and timestamps. It adds headers that begin with C(kafkaops.salvage.) and name the original cluster, broker,
    topic, partition, leader epoch, offset and timestamp of the record.
  - B(Exactly once.) Records are written in transactions. The same transactions write the progress to the topic
    O(progress_topic). A killed run can be repeated, from another host too, and continues without gap and without
    duplicate. A record that is in two salvages, of a dead broker's disk and of a live replica, is replayed once.
  - Records of aborted transactions are skipped and counted. Records of transactions with an unknown outcome are skipped
    unless O(include_unknown) is set. Internal topics are never replayed.
  - Before anything is written, every file of the salvage is compared with its manifest, and every partition that cannot
    accept its records is refused by name. A partition is refused if its topic was deleted, was re-created or has fewer
    partitions, if it has no leader or too few in-sync replicas, if C(max.message.bytes) is too small, or if the
    principal may not write to it. The other partitions are replayed, and the module fails at the end.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.kafka, kafkaops.recovery.salvage.source, kafkaops.recovery.gathering.max_rows,
  kafkaops.recovery.report, kafkaops.recovery.journal,
  kafkaops.recovery.quorum_preflight, kafkaops.recovery.controllers, kafkaops.recovery.progress,
  kafkaops.recovery.attributes, kafkaops.recovery.attributes.action_group]
attributes:
  action_group: {membership: [kafkaops.recovery.kafka, kafkaops.recovery.controllers, kafkaops.recovery.journal]}
  check_mode: {support: full, details: [Returns how many records would be replayed and skipped.]}
  diff_mode: {support: none}
  idempotent: {support: full, details: [A second run replays nothing.]}
options:
  topics:
    description:
      - The topics to replay. Defaults to every topic of the salvage.
    type: list
    elements: str
  target:
    description:
      - V(side) writes to the topic C(<topic>.salvaged). It is created if it does not exist, with as many partitions and
        replicas, and without retention. No existing consumer reads it.
      - V(original) appends to the original topic and partition.
    type: str
    choices: [side, original]
    default: side
  other_cluster:
    description:
      - Also replay a salvage of another cluster, which is gone. Its records go to side topics of this cluster.
    type: bool
    default: false
  include_unknown:
    description:
      - Also replay records of transactions whose outcome is unknown. Some of them may have been aborted.
    type: bool
    default: false
  include_compacted:
    description:
      - Replay records to compacted topics, with O(target=original). A record is skipped if the topic has a newer record
        with the same key.
      - Nobody else should write these keys during the replay. Kafka has no write on the condition that a key is
        unchanged.
    type: bool
    default: false
  throttle_bytes_per_second:
    description:
      - How fast to write, in bytes of keys and values. V(0) is no limit.
    type: int
    default: 0
  progress_topic:
    description:
      - Name of the compacted topic that holds the progress. It is created if it does not exist.
      - Use the same topic for all replays. With another topic, the module does not know which records were replayed to
        the original topics, and would write them again. In side topics, it finds replayed records by their headers.
      - Delete it when the salvages are no longer needed.
    type: str
    default: _kafkaops_salvage
seealso:
  - module: kafkaops.recovery.replica_log_salvage
  - module: kafkaops.recovery.salvage_info
requirements:
  - aiokafka >= 0.12
  - confluent-kafka >= 2.16
  - crc32c >= 2.7
  - pyarrow >= 20
notes:
  - Needs DESCRIBE, DESCRIBE_CONFIGS and WRITE on the topics, READ on compacted ones, CREATE on those that are created,
    READ and WRITE on O(progress_topic), and DESCRIBE and WRITE on the transactional id
    C(kafkaops.recovery.<progress_topic>). With DESCRIBE_CONFIGS on the cluster, it knows the brokers'
    C(transaction.max.timeout.ms).
  - GSSAPI cannot be used, because the confluent-kafka of PyPI is built without it.
"""

EXAMPLES = r"""
- name: Show which records would be replayed
  kafkaops.recovery.salvage_replay:
    bootstrap_servers: kafka2.example.com:9092
    salvage_dir: /var/tmp/salvage-2026-01-31
  check_mode: true

- name: Replay them to side topics
  kafkaops.recovery.salvage_replay:
    bootstrap_servers: kafka2.example.com:9092
    salvage_dir: /var/tmp/salvage-2026-01-31

- name: Replay one topic to the original topic, at 10 MB/s
  kafkaops.recovery.salvage_replay:
    bootstrap_servers: kafka2.example.com:9092
    salvage_dir: /var/tmp/salvage-2026-01-31
    topics: [orders]
    target: original
    throttle_bytes_per_second: 10000000
"""

RETURN = r"""
cluster_id:
  description: Id of the cluster, the same as in the salvage.
  returned: success
  type: str
  sample: 4L6g3nShT-eMCtK--X86sw
salvage_id:
  {type: str, returned: success, sample: 6cfb1b2c-20c5-4a38-9a51-0a4c1d8d6f35, description: Id of the salvage.}
salvage_dir:
  description: Where the records were read from.
  returned: success
  type: str
  sample: /var/tmp/salvage-2026-01-31
target: {type: str, returned: success, sample: side, description: Where records were replayed to.}
summary:
  description: Counts over all partitions.
  returned: success
  type: dict
  sample:
    partitions: 2
    statuses:
      given_back: 1
      would_be_given_back: 0
      nothing_left: 1
      never_replayed: 0
      refused: 0
      failed: 0
    saved: 350
    to_give: 230
    given: 230
    given_bytes: 3120
    given_before: 100
    left_out: {aborted: 20}
account:
  description:
    - How many records the replicas or disks held, how many the salvage has, how many all runs replayed to this target,
      and how many are still lost.
    - The fields are those of RV(kafkaops.recovery.replica_log_salvage#module:account). C(given_back) counts the records
      of this run and of earlier ones.
  returned: success
  type: dict
  sample:
    total:
      {partitions: 1, held_by_losers: 250, saved: 250, given_back: 230, still_lost: 0, at_hand: 0, unknown: 0,
       held_by_losers_unknown: 0, given_back_unknown: 0}
    partitions: []
partitions:
  description: Every partition of the salvage, in order of topic and number.
  returned: success
  type: list
  elements: dict
  contains:
    topic: {type: str, description: The original topic of the records.}
    partition: {type: int, description: "Number of the partition, in the original and in the target topic."}
    topic_id: {type: str, description: Id of the original topic.}
    target_topic: {type: str, description: The topic that they are replayed to.}
    status:
      description: The outcome for the records.
      type: str
      choices: [given_back, would_be_given_back, nothing_left, never_replayed, refused, failed]
    reason: {type: str, description: "Why it has this status, in words."}
    saved: {type: int, description: Records that the salvage has.}
    to_give: {type: int, description: Records to replay at the beginning of the run.}
    given: {type: int, description: Records that this run replayed.}
    given_bytes: {type: int, description: Bytes of their keys and values.}
    given_before:
      description:
        - Records that earlier runs replayed to this topic, of this salvage or of other salvages of the same partition.
      type: int
    superseded:
      description:
        - Records that this run and earlier ones skipped because a compacted topic does not need them. They have no key,
          or the topic has a newer record with the same key.
      type: int
    left_out:
      description:
        - How many records were skipped, by reason. C(aborted) and C(unknown) are outcomes of transactions.
          C(held) means that the topic has the record, because its leader holds the same leader epoch and offset.
          C(newer_key) and C(no_key) occur in compacted topics. C(undecodable) counts batches, which the salvage
          keeps as raw batches.
      type: dict
  sample:
    - topic: orders
      partition: 0
      topic_id: 0kEHEMDdQ5eSgSKUP1y6Sw
      target_topic: orders.salvaged
      status: given_back
      reason: ''
      saved: 250
      to_give: 230
      given: 230
      given_bytes: 3120
      given_before: 0
      superseded: 0
      left_out: {aborted: 20}
truncated:
  {type: bool, returned: success, sample: false, description: Whether there are more partitions than O(max_rows).}
"""

from dataclasses import replace
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.report_file import ReportFile
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.connection import (
    CONNECTION,
    connection_settings,
    controller_listeners,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.libraries import BOTH_KAFKA_CLIENTS, RECORDS
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.options import JOURNAL, PROGRESS, progress_to
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.quorum_preflight import QUORUM_PREFLIGHT
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import call_all, run, stop_on_signals
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.replay_module import (
    REPLAY,
    parse_replay_request,
)

ARGUMENTS = CONNECTION + REPLAY + JOURNAL + QUORUM_PREFLIGHT + PROGRESS


def main() -> None:
    needs = (*BOTH_KAFKA_CLIENTS, *RECORDS)
    run(AnsibleModule(**ARGUMENTS.to_kwargs(), supports_check_mode=True), results, needs=needs)


def results(module: AnsibleModule) -> dict[str, Any]:
    from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
    from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.remote import local_copy
    from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.replay_module import replay, results_of

    params, stop = module.params, stop_on_signals()
    settings, controllers, request, report_file = call_all(
        lambda: connection_settings(params),
        lambda: controller_listeners(params),
        lambda: parse_replay_request(params),
        lambda: ReportFile(params["report_file"]),
    )
    progress = progress_to(params["progress_file"])
    with local_copy(request.directory) as directory, Wire(settings, controllers) as wire:
        here = replace(request, directory=directory)
        done = replay(wire, here, params, progress, stop, check_mode=module.check_mode)
    for note in done.notes:
        module.warn(note)
    return results_of(done, params, report_file)


if __name__ == "__main__":
    main()
