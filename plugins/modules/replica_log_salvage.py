#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Save records that only the disks of a stopped broker hold."""

from __future__ import annotations

DOCUMENTATION = r"""
module: replica_log_salvage
short_description: Save records that only the disks of a stopped broker hold
version_added: 1.0.0
description:
  - Reads the log directories of a broker that does not run, compares them with the logs of the current leaders, and
    saves every record that the leaders never held. After an unclean election, these records exist nowhere else, and the
    broker truncates them when it is started again.
  - Runs on the broker's host, or on any host where its log directories or a copy of them are mounted.
  - Writes nothing to the log directories or to Kafka. While the module reads, it holds a shared lock on each C(.lock)
    file. So a broker that is started at that time stops before it truncates anything.
  - Finds the records that the cluster lacks by leader epoch and offset, like a forecast of losses. The time since the
    election does not matter.
  - Reads the headers of some batches to find the segments with such records. It reads only these segments completely,
    without their indexes, and verifies every checksum. Incomplete batches at the end of a log, corrupt batches, and
    blocks that the disk cannot read are reported and skipped.
  - Saves the records as Parquet with their raw batches, reads them back, and then writes the manifest. The files are
    B(production data) and have mode 0600.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.kafka, kafkaops.recovery.gathering.max_rows, kafkaops.recovery.report, kafkaops.recovery.progress,
  kafkaops.recovery.attributes, kafkaops.recovery.attributes.action_group]
attributes:
  check_mode: {support: full, details: ["Reads the disks and the cluster, and returns the records that it would save."]}
  diff_mode: {support: none}
  idempotent: {support: full, details: [A salvage directory that has all records already is not changed.]}
options:
  log_dirs:
    description:
      - All log directories of one broker, as in its C(log.dirs).
      - Refused if a broker runs on one of them, or if C(meta.properties) names another cluster, unless
        O(include_absent_topics) is set.
    type: list
    elements: path
    required: true
  salvage_dir:
    description:
      - The directory to save to. The module creates it. It must not exist, unless an earlier run of the same salvage
        created it.
      - It has the suffix C(.unfinished) until it is complete.
      - A local path, or the URI of a directory on a file system that Hadoop knows, such as C(hdfs://namenode/saved).
        Hadoop's configuration is that of E(HADOOP_CONF_DIR), and E(SPARK_DIST_CLASSPATH) names jars that Spark lacks.
      - On such a file system it never has a suffix, and is complete when it has a C(manifest.json).
    type: path
    required: true
  topics:
    description:
      - The topics to salvage. Defaults to every topic on the disks.
    type: list
    elements: str
  include_absent_topics:
    description:
      - Also save all records of topics that the cluster does not have with the ids on the disks, because they were
        deleted or re-created. Give them back to side topics.
      - If the disks are of another cluster, which is gone, save everything on them.
      - Without this option, they are left alone and counted in C(left_alone) of RV(summary).
    type: bool
    default: false
  leaders_timeout_ms:
    description:
      - Milliseconds that the current leaders may take to describe their logs.
      - The module waits so long for a leader that does not answer, unless another broker becomes leader or the
        partition has no leader. Right after a broker died, the cluster still names it as the leader for some seconds.
    type: int
    default: 30000
  spark:
    description:
      - How Spark runs on the host that has the disks.
      - Without this option, it runs only if more than 4 GiB are read, or if records are saved on another file system.
    type: dict
    suboptions:
      driver_memory: {type: str, description: "Memory of its JVM, V(1g) unless given."}
      conf: {type: dict, description: Further Spark settings. Names that Spark takes for secrets are refused.}
seealso:
  - module: kafkaops.recovery.salvage_info
requirements:
  - aiokafka >= 0.12
  - crc32c >= 2.7
  - pyarrow >= 20
  - Java >= 17, pyspark >= 4.1 and pandas >= 2.2, if Spark runs
notes:
  - Needs DESCRIBE and READ on the topics, and read access to the log directories.
"""

EXAMPLES = r"""
- name: Show the records that only the disks of this broker hold
  kafkaops.recovery.replica_log_salvage:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    log_dirs: [/var/lib/kafka/a, /var/lib/kafka/b]
    salvage_dir: /var/tmp/salvage-2026-01-31
  check_mode: true

- name: Save these records
  kafkaops.recovery.replica_log_salvage:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    log_dirs: [/var/lib/kafka/a, /var/lib/kafka/b]
    salvage_dir: /var/tmp/salvage-2026-01-31
"""

RETURN = r"""
cluster_id: {type: str, returned: success, sample: 4L6g3nShT-eMCtK--X86sw, description: Id of the cluster of the disks.}
broker_id: {type: int, returned: success, sample: 1, description: The broker of the log directories.}
log_dirs:
  description: The log directories that were read.
  returned: success
  type: list
  elements: str
  sample: [/var/lib/kafka/a, /var/lib/kafka/b]
salvage_dir:
  description: Where the records were saved.
  returned: success
  type: str
  sample: /var/tmp/salvage-2026-01-31
salvage_id:
  description: Id of the salvage, null if nothing was saved.
  returned: success
  type: str
  sample: 6cfb1b2c-20c5-4a38-9a51-0a4c1d8d6f35
summary:
  description: Counts over all replicas on the disks.
  returned: success
  type: dict
  sample:
    partitions: 12
    statuses: {saved: 2, would_be_saved: 0, already_saved: 0, nothing_lacking: 10, left_alone: 0, failed: 0}
    lost_offsets: 250
    unreadable_offsets: 0
    left_alone: {no_topic: 0, other_topic: 0, other_cluster: 0, no_partition: 0, named_alike: 0}
    saved_records: 250
    saved_bytes: 3120
    damages: 0
account:
  description:
    - How many records of the disks the cluster lacks, how many of these were saved, and how many are still lost.
      Partitions where this is unknown are included.
  returned: success
  type: dict
  contains:
    total:
      description:
        - Sums of the known values over all partitions.
        - C(unknown) is the number of partitions for which C(still_lost) is unknown; C(held_by_losers_unknown) and
          C(given_back_unknown) are those for which C(held_by_losers) and C(given_back) are.
      type: dict
    partitions:
      description: At most O(max_rows) of the partitions, in order of topic and number.
      type: list
      elements: dict
      contains:
        topic: {type: str, description: Name of the topic.}
        partition: {type: int, description: Number of the partition.}
        held_by_losers:
          description: Offsets that replicas or disks held and the leader did not. Null if unknown.
          type: int
        saved: {type: int, description: Records that are saved.}
        given_back: {type: int, description: "Records that were replayed. Null if an earlier run saved the records."}
        still_lost:
          description:
            - Records that were held and not saved, or saved and not replayed. Records of aborted transactions do not
              count, nor records that a compacted topic does not need. A batch that does not decode counts as one
              record. Null if unknown.
          type: int
        at_hand: {type: int, description: "How many of RV(account.partitions[].still_lost) are saved."}
  sample:
    total:
      partitions: 1
      held_by_losers: 250
      saved: 250
      given_back: 0
      still_lost: 250
      at_hand: 250
      unknown: 0
      held_by_losers_unknown: 0
      given_back_unknown: 0
    partitions:
      - topic: orders
        partition: 0
        held_by_losers: 250
        saved: 250
        given_back: 0
        still_lost: 250
        at_hand: 250
partitions:
  description:
    - Every replica on the disks, in order of topic and number. Each range has offsets of one leader epoch, the end
      exclusive.
  returned: success
  type: list
  elements: dict
  contains:
    topic: {type: str, description: Name of the topic.}
    partition: {type: int, description: Number of the partition.}
    topic_id: {type: str, description: "Id of the topic, as C(partition.metadata) on the disk has it."}
    directory_id: {type: str, description: Id of the log directory.}
    status:
      description: The result of the comparison with the cluster, and what was done.
      type: str
      choices: [saved, would_be_saved, already_saved, nothing_lacking, left_alone, failed]
    reason: {type: str, description: "Why it has this status, in words."}
    absence:
      description: Why the cluster has no place for the records. Null if it has the topic with this id.
      type: str
      choices: [no_topic, other_topic, other_cluster, no_partition, named_alike]
    leader_id: {type: int, description: The leader that the disk was compared with.}
    held:
      description:
        - The ranges on the disk, by the headers of the batches. Those in RV(partitions[].lost) have verified checksums.
      type: list
      elements: dict
    lost:
      description:
        - The ranges that the leader never held. Of a topic that the cluster does not have, everything that is to be
          saved.
        - Offsets of transaction markers and of compacted records count.
      type: list
      elements: dict
    unreadable:
      description: The ranges of RV(partitions[].lost) that are in no readable batch.
      type: list
      elements: dict
    before_log_start:
      description:
        - The ranges before the leader's log start offset. It is unknown whether the leader ever held them. They are not
          saved.
      type: list
      elements: dict
    damages:
      description: The unreadable parts of segment files, with the offsets around them.
      type: list
      elements: dict
    saved:
      description: The content of the files, counted when they were read back. Null if nothing was saved.
      type: dict
  sample:
    - topic: orders
      partition: 0
      topic_id: 0kEHEMDdQ5eSgSKUP1y6Sw
      directory_id: mePA1r_yQ1ONASIRwvJ56g
      status: saved
      reason: ''
      leader_id: 3
      held: [{epoch: 0, start_offset: 0, end_offset: 350}]
      lost: [{epoch: 0, start_offset: 100, end_offset: 350}]
      unreadable: []
      before_log_start: []
      damages: []
      absence: null
      saved: {records: 250, bytes: 3120}
newer_commits:
  description:
    - Groups whose committed offset in the saved records of C(__consumer_offsets) is higher than in the cluster, at most
      O(max_rows). These records are never replayed. M(kafkaops.recovery.group_recovery) gives the offsets back.
  returned: success
  type: list
  elements: dict
  sample: [{group: billing, topic: orders, partition: 0, saved_offset: 350, committed_offset: 100}]
newer_commits_total:
  description: How many there are, those beyond O(max_rows) included.
  returned: success
  type: int
  sample: 1
truncated:
  description: Whether there are more partitions than O(max_rows).
  returned: success
  type: bool
  sample: false
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._documents.report_file import ReportFile
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.connection import (
    CONNECTION,
    connection_settings,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.libraries import KAFKA, RECORDS
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.options import PROGRESS, progress_to
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import call_all, run
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.disk_module import (
    DISK_SALVAGE,
    parse_disk_request,
)

ARGUMENTS = CONNECTION + DISK_SALVAGE + PROGRESS


def main() -> None:
    needs = (*KAFKA, *RECORDS)
    run(AnsibleModule(**ARGUMENTS.to_kwargs(), supports_check_mode=True), results, needs=needs)


def results(module: AnsibleModule) -> dict[str, Any]:
    from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
    from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.disk_module import results_of, warnings_of
    from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.from_disk import salvage_disk

    params = module.params
    settings, request, report_file = call_all(
        lambda: connection_settings(params),
        lambda: parse_disk_request(params),
        lambda: ReportFile(params["report_file"]),
    )
    progress = progress_to(params["progress_file"])
    with Wire(settings) as wire:
        done = salvage_disk(wire, request, progress, check_mode=module.check_mode)
    for warning in warnings_of(done):
        module.warn(warning)
    return results_of(done, params, report_file)


if __name__ == "__main__":
    main()
