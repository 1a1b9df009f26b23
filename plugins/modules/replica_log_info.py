#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the log state of each surviving replica of the offline partitions."""

from __future__ import annotations

DOCUMENTATION = r"""
module: replica_log_info
short_description: Read the log state of every surviving replica of offline partitions
version_added: 1.0.0
description:
  - Asks each replica of the offline partitions for the state of its log. The answer comes from the replica itself, not
    from the cluster's metadata.
  - The last written leader epoch and the lineage come from Fetch requests that change no consumer offset and no replica
    state.
  - Brokers are asked in parallel, by the module itself or by the tasks of a Spark cluster.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.kafka, kafkaops.recovery.selection, kafkaops.recovery.selection.names,
  kafkaops.recovery.gathering, kafkaops.recovery.gathering.max_rows, kafkaops.recovery.progress,
  kafkaops.recovery.attributes, kafkaops.recovery.attributes.info_module, kafkaops.recovery.attributes.action_group]
seealso:
  - module: kafkaops.recovery.leader_candidate_info
    description: Ranks the replicas, in the same run or from the evidence that this module writes.
"""

EXAMPLES = r"""
- name: Read the logs of all offline partitions
  kafkaops.recovery.replica_log_info:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
  register: logs

- name: Keep the evidence, and wait longer for slow brokers
  kafkaops.recovery.replica_log_info:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    partitions_file: partitions.json
    recovery_duration_ms: 120000
    evidence_dir: /var/lib/kafkaops/evidence
"""

RETURN = r"""
cluster_id: {type: str, returned: success, sample: 4L6g3nShT-eMCtK--X86sw, description: The cluster's id.}
brokers:
  description: As RV(kafkaops.recovery.offline_partition_info#module:brokers).
  returned: success
  type: list
  elements: dict
  sample: []
rows:
  returned: success
  type: list
  elements: dict
  description:
    - What each replica answered, in order of topic, partition and place in the replica list.
    - A value that a replica did not return is null. Offsets are record offsets.
  contains:
    topic: {type: str, description: Name of the topic.}
    partition: {type: int, description: Number of the partition.}
    broker_id: {type: int, description: The broker that was asked about its own replica.}
    place: {type: int, description: "Its position in the replica list, from 0."}
    is_fenced: {type: bool, description: Whether the controller fences the broker.}
    log_start_offset: {type: int, description: First offset of the log.}
    log_end_offset: {type: int, description: Offset after the last record of the log.}
    current_leader_epoch:
      description: The partition's leader epoch as the broker knows it. It does not describe the content of the log.
      type: int
    last_written_epoch: {type: int, description: Newest leader epoch that the log holds records of.}
    lineage:
      description: Every leader epoch of the log with the offset after its last record, oldest first.
      type: list
      elements: dict
    size_bytes: {type: int, description: Bytes on disk.}
    log_dir: {type: str, description: The broker's log directory that holds the replica.}
    is_future:
      description: Whether a move to another log directory is running, null if the broker returned no log directory.
      type: bool
    cause:
      description: Why values are missing, null if none is missing.
      type: str
      choices:
        - fenced
        - unreachable
        - hung
        - not_authorized
        - disconnected
        - restarted
        - wrong_broker
        - bad_answer
        - log_dir_offline
        - missing
        - error
        - deadline
        - given_up
    error: {type: str, description: "The error, in words. Empty if there was none."}
    is_tiered: {type: bool, description: "Whether C(remote.storage.enable) is set for the topic, null if unknown."}
    local_log_start_offset:
      description: Of a tiered topic, the first offset on the broker's own disk. Earlier offsets are only in the tier.
      type: int
    last_tiered_offset:
      description: Of a tiered topic, the last offset that the broker knows to be in the tier. Null if unknown.
      type: int
    last_batch_offset:
      description: The first offset of the last batch. Null if it was not read, as where all replicas end alike.
      type: int
    last_batch_checksum:
      description: The CRC of the last batch. Null also if a log cleaner may have rewritten it.
      type: int
  sample:
    - topic: orders
      partition: 3
      broker_id: 2
      place: 1
      is_fenced: false
      log_start_offset: 0
      log_end_offset: 150
      current_leader_epoch: 7
      last_written_epoch: 6
      lineage: [{epoch: 2, end_offset: 100}, {epoch: 6, end_offset: 150}]
      size_bytes: 11034
      log_dir: /var/lib/kafka
      is_future: false
      cause: null
      error: ''
truncated:
  description: Whether there are more of RV(rows) or RV(left_alone) than O(max_rows).
  returned: success
  type: bool
  sample: false
summary:
  description: How many partitions are offline, how many replicas they have, and how many of these answered.
  returned: success
  type: dict
  sample: {partitions: 1, replicas: 3, answered: 2, silent: {unreachable: 1}}
  contains:
    partitions: {type: int, description: Number of offline partitions.}
    replicas: {type: int, description: Number of their replicas.}
    answered: {type: int, description: Number of replicas that answered everything.}
    silent: {type: dict, description: "Number of replicas that did not, for each cause."}
evidence:
  description: As RV(kafkaops.recovery.leader_candidate_info#module:evidence).
  returned: success
  type: str
  sample: /root/.local/state/kafkaops-recovery/evidence/cluster_id=4L6g3nShT-eMCtK--X86sw/gather=20260131T025959Z-6ad00b
engine:
  description: The engine that counted the answers, as RV(kafkaops.recovery.leader_candidate_info#module:engine).
  returned: success
  type: dict
  sample: {name: spark, reason: ''}
left_alone:
  description:
    - Partitions that were requested or are offline, and whose replicas were not asked. At most O(max_rows).
    - The fields are those of RV(kafkaops.recovery.leader_candidate_info#module:partitions).
  returned: success
  type: list
  elements: dict
  sample: []
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.connection import (
    CONNECTION,
    connection_settings,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.libraries import KAFKA_AND_ARROW
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.options import (
    PROGRESS,
    SELECTION,
    notes_on_file,
    progress_to,
    wanted_partitions,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import (
    call_all,
    run,
    select_most_important,
    to_json_types,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.engines import Engines, describe_fallback
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.gather import (
    GATHERING,
    read_gathering_options,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.options import MAX_ROWS
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.outcome import outcome_of_left_alone
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import DONE_OR_FORESEEN
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.options import EngineUse

ARGUMENTS = CONNECTION + SELECTION + GATHERING + MAX_ROWS + PROGRESS


def main() -> None:
    run(AnsibleModule(**ARGUMENTS.to_kwargs(), supports_check_mode=True), results, needs=KAFKA_AND_ARROW)


def results(module: AnsibleModule) -> dict[str, Any]:
    from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
    from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire
    from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.policies import add_tiered_topics
    from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.survey import survey

    params = module.params
    settings, wanted, how = call_all(
        lambda: connection_settings(params),
        lambda: wanted_partitions(params),
        lambda: read_gathering_options(params),
    )
    summary: dict[str, Any] = {
        "evidence": None,
        "rows": [],
        "truncated": False,
        "summary": {"partitions": 0, "replicas": 0, "answered": 0, "silent": {}},
    }
    used: EngineUse | None = None
    with Engines(how.engine) as engines:
        with Wire(settings) as wire:
            kafka = Kafka(wire)
            found = survey(
                kafka,
                wanted,
                include_internal=params["include_internal_topics"],
                when_offline=engines.begin,
            )
            found = add_tiered_topics(kafka, found)
        if found.offline:
            from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.pipeline import (
                collect_evidence,
                summarize_rows,
            )

            collected = collect_evidence(engines, settings, found, how, progress_to(params["progress_file"]))
            summary = {
                **summarize_rows(engines, collected.evidence.replica_logs, params["max_rows"]),
                "evidence": collected.place,
            }
            for note in collected.notes:
                module.warn(note)
            used = engines.use
    for note in (*notes_on_file(params), *describe_fallback(used)):
        module.warn(note)
    outcomes = [outcome_of_left_alone(each) for each in found.left_alone]
    shown = select_most_important(outcomes, params["max_rows"], DONE_OR_FORESEEN)
    return {
        "changed": False,
        "cluster_id": found.cluster_id,
        "brokers": to_json_types(found.brokers),
        **summary,
        "engine": to_json_types(used),
        "left_alone": to_json_types(shown),
        "truncated": summary["truncated"] or len(shown) < len(outcomes),
    }


if __name__ == "__main__":
    main()
