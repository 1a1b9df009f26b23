#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Gives saved records back to Kafka."""

from __future__ import annotations

DOCUMENTATION = r"""
module: salvage_replay
short_description: Give saved records back to Kafka, each exactly once
version_added: 1.0.0
description:
  - Reads a salvage directory, and writes its records to side topics or to the topics that they came from, with their
    keys, values, headers and timestamps. Headers that begin with C(kafkaops.salvage.) are added, and name the cluster,
    broker, topic, partition, leader epoch, offset and timestamp that the record had.
  - B(Exactly once.) Records are written in transactions. What was given back is kept in the topic
    O(progress_topic), in the same transactions. A run that is killed anywhere can be run again, from another host too,
    and continues without gap and without duplicate. A record that two salvages have, of a dead broker's disk and of a
    live replica, is given back once.
  - Records of aborted transactions are left out and counted. Those of transactions whose outcome is unknown are left
    out unless O(include_unknown) is set. Internal topics are never given back.
  - Before anything is written, every file of the salvage is compared with its manifest, and every partition that cannot
    take its records is refused by name. That is one whose topic is gone, re-created or smaller, has no leader, too few
    replicas in sync or a smaller C(max.message.bytes), or may not be written to. The others are given back all the
    same, and the module fails in the end.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.kafka, kafkaops.recovery.salvage.source, kafkaops.recovery.gathering.max_rows,
  kafkaops.recovery.journal,
  kafkaops.recovery.quorum_preflight, kafkaops.recovery.controllers, kafkaops.recovery.progress,
  kafkaops.recovery.attributes, kafkaops.recovery.attributes.action_group]
attributes:
  action_group: {membership: [kafkaops.recovery.kafka, kafkaops.recovery.controllers, kafkaops.recovery.journal]}
  check_mode: {support: full, details: [Returns how many records would be given back and left out.]}
  diff_mode: {support: none}
  idempotent: {support: full, details: [A second run gives nothing back.]}
options:
  topics:
    description:
      - The topics to give back. Every topic of the salvage unless given.
    type: list
    elements: str
  target:
    description:
      - V(side) writes to topic C(<topic>.salvaged), which is created where it does not exist, with as many partitions
        and replicas, and without retention. No consumer is surprised.
      - V(original) writes to the topic and partition that the records came from. They are appended.
    type: str
    choices: [side, original]
    default: side
  include_unknown:
    description:
      - Give back records of transactions whose outcome is unknown, too. Some of them may have been aborted.
    type: bool
    default: false
  include_compacted:
    description:
      - Give records back to compacted topics, with O(target=original). A record whose key has a newer record there is
        left out.
      - Nobody else should write these keys meanwhile. Kafka cannot write on the condition that a key is unchanged.
    type: bool
    default: false
  throttle_bytes_per_second:
    description:
      - How fast to write, in bytes of keys and values. V(0) is no limit.
    type: int
    default: 0
  progress_topic:
    description:
      - Name of the compacted topic that keeps what was given back. It is created where it does not exist.
      - Delete it when the salvages are no longer needed. Without it a run would give everything back again.
    type: str
    default: _kafkaops_salvage
  report_file:
    description:
      - Where to write the report of the run, a JSON file with every partition. It holds no record.
      - Must not exist. Written in check mode too.
    type: path
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
    C(kafkaops.recovery.<progress_topic>).
  - GSSAPI and AWS_MSK_IAM cannot be used, because the confluent-kafka that PyPI has is built without them.
"""

EXAMPLES = r"""
- name: See what would be given back
  kafkaops.recovery.salvage_replay:
    bootstrap_servers: kafka2.example.com:9092
    salvage_dir: /var/tmp/salvage-2026-01-31
  check_mode: true

- name: Give it back to side topics
  kafkaops.recovery.salvage_replay:
    bootstrap_servers: kafka2.example.com:9092
    salvage_dir: /var/tmp/salvage-2026-01-31

- name: Give one topic back to where it came from, at 10 MB/s
  kafkaops.recovery.salvage_replay:
    bootstrap_servers: kafka2.example.com:9092
    salvage_dir: /var/tmp/salvage-2026-01-31
    topics: [orders]
    target: original
    throttle_bytes_per_second: 10000000
"""

RETURN = r"""
cluster_id:
  description: Id of the cluster, which is that of the salvage too.
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
target: {type: str, returned: success, sample: side, description: Where records were given back to.}
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
    - What was held, by the forecast or the disks that the salvage was made of, what its files have, what all runs gave
      back to this target, and what is still lost.
    - The fields are those of RV(kafkaops.recovery.replica_log_salvage#module:account). C(given_back) counts the records
      of this run and of earlier ones.
  returned: success
  type: dict
  sample:
    total:
      {partitions: 1, held_by_losers: 250, saved: 250, given_back: 230, still_lost: 0, at_hand: 0, unknown: 0}
    partitions: []
partitions:
  description: Every partition of the salvage, in order of topic and number.
  returned: success
  type: list
  elements: dict
  contains:
    topic: {type: str, description: The topic that the records came from.}
    partition: {type: int, description: "Number of the partition, there and in the target topic."}
    topic_id: {type: str, description: Id of the topic that the records came from.}
    target_topic: {type: str, description: The topic that they are given back to.}
    status:
      description: What became of the records.
      type: str
      choices: [given_back, would_be_given_back, nothing_left, never_replayed, refused, failed]
    reason: {type: str, description: "Why it has this status, for a person."}
    saved: {type: int, description: Records that the salvage has.}
    to_give: {type: int, description: Records that were to be given back when the run began.}
    given: {type: int, description: Records that this run gave back.}
    given_bytes: {type: int, description: Bytes of their keys and values.}
    given_before:
      description:
        - Records that earlier runs gave back to this topic, of this salvage or of others of the same partition.
      type: int
    superseded:
      description:
        - Records that a compacted topic does not need, left out by this run and earlier ones. They have no key, or the
          topic has a newer record of it.
      type: int
    left_out:
      description:
        - How many records are left out, by reason. C(aborted) and C(unknown) are outcomes of transactions. C(newer_key)
          and C(no_key) are of compacted topics. C(undecodable) counts batches, which are kept as raw batches.
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
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.libraries import BOTH_KAFKA_CLIENTS, RECORDS
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.options import JOURNAL, PROGRESS, progress_to
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.quorum_preflight import QUORUM_PREFLIGHT
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import all_of, run, stop_on_signals
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
    settings, request, report_file = all_of(
        lambda: connection_settings(params),
        lambda: parse_replay_request(params),
        lambda: ReportFile(params["report_file"]),
    )
    progress = progress_to(params["progress_file"])
    with local_copy(request.directory) as directory, Wire(settings) as wire:
        here = replace(request, directory=directory)
        done = replay(wire, here, params, progress, stop, check_mode=module.check_mode)
    for note in done.notes:
        module.warn(note)
    return results_of(done, params, report_file)


if __name__ == "__main__":
    main()
