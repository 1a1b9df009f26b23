#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Record what every replica of a cluster holds."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_recording
short_description: Record what every replica of a cluster holds
version_added: 1.0.0
description:
  - Asks all brokers what each of their replicas holds, and stores what changed since the last recording, as Parquet.
  - After a broker's death, recordings say what it held when it was seen last.
  - Sends no write request to Kafka. Run it on a schedule.
  - A snapshot is complete or does not exist, even if a job is killed or two jobs run at once.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.kafka, kafkaops.recovery.progress,
  kafkaops.recovery.attributes, kafkaops.recovery.attributes.action_group]
attributes:
  action_group: {membership: [kafkaops.recovery.kafka]}
  check_mode:
    support: full
    description: Asks the brokers, compares with the recordings, and writes nothing.
  diff_mode:
    support: none
    description: A snapshot may have hundreds of thousands of replicas.
  idempotent:
    support: partial
    description:
      - Each run stores one snapshot, because also that nothing changed is worth knowing. It has no replica that did not
        change, except that about every 24th one has all.
options:
  recorder_dir:
    description:
      - Directory or URI below which recordings are stored, of any number of clusters. It is created if it is missing.
      - The file system must rename a directory in one step, as local ones and HDFS do.
    type: path
    required: true
  keep_hours:
    description:
      - Hours after which a snapshot may be removed. It stays while a later one needs it.
    type: int
    default: 168
  scope:
    description:
      - A regular expression of topic names. Only topics whose whole name it matches are recorded. Empty is all topics.
      - Recordings of different scopes are apart from each other.
    type: str
    default: ''
  spark:
    description:
      - Where and how Spark runs. By default it runs on the host that runs the module, which asks the brokers in any
        case.
      - It must not contain secrets, because Spark shows its settings in event logs and process lists.
    type: dict
    suboptions:
      master:
        description:
          - URL of a cluster's master. Its workers must reach the O(recorder_dir).
        type: str
      remote:
        description:
          - Refused. A recording needs a driver on this host.
        type: str
      driver_memory:
        description:
          - Memory of the driver's JVM, V(1g) unless given.
        type: str
      executor_python:
        description:
          - Path of Python on the hosts with executors.
        type: path
      settings_reference:
        description:
          - Without effect, because Spark's tasks ask no broker here.
        type: path
      conf:
        description:
          - Further Spark settings. They override those of this collection.
        type: dict
requirements:
  - pyarrow >= 20
  - Java >= 17 and pyspark >= 4.1
seealso:
  - module: kafkaops.recovery.leader_candidate_info
notes:
  - Needs DESCRIBE on the cluster and on topics, and DESCRIBE_CONFIGS on topics, which is optional.
"""

EXAMPLES = r"""
- name: Record the cluster
  kafkaops.recovery.cluster_recording:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    recorder_dir: hdfs://namenode/kafka-recordings
"""

RETURN = r"""
cluster_id: {type: str, returned: success, sample: 4L6g3nShT-eMCtK--X86sw, description: The cluster's id.}
place:
  description: The URI of the snapshot. In check mode, of the directory in which it would be.
  returned: success
  type: str
is_full:
  description: Whether the snapshot has all replicas, not only those that changed.
  returned: success
  type: bool
replicas:
  description: How many replicas the cluster has, in this scope.
  returned: success
  type: int
  sample: 600000
stored_rows:
  description: How many replicas the snapshot has. Those that do not exist any more are among them once.
  returned: success
  type: int
  sample: 6120
size_bytes: {type: int, returned: success, description: The size of the snapshot's files. Null in check mode.}
missing:
  description: How many replicas gave no answer, by cause. Their values are null, and never 0.
  returned: success
  type: dict
  sample: {unreachable: 6000}
silent_brokers: {type: dict, returned: success, description: "Why brokers gave no answer, by broker id."}
expired:
  description: How many snapshots were removed. In check mode, how many would be.
  returned: success
  type: int
notes: {type: list, elements: str, returned: success, description: What else could not be read or done.}
summary: {type: list, elements: str, returned: success, description: All of this in a few lines.}
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.connection import CONNECTION
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.libraries import KAFKA_AND_SPARK
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import run, to_json_types
from ansible_collections.kafkaops.recovery.plugins.module_utils._recorder.options import RECORDING

ARGUMENTS = CONNECTION + RECORDING


def main() -> None:
    run(AnsibleModule(**ARGUMENTS.to_kwargs(), supports_check_mode=True), results, needs=KAFKA_AND_SPARK)


def results(module: AnsibleModule) -> dict[str, Any]:
    from ansible_collections.kafkaops.recovery.plugins.module_utils._recorder.recorder import record

    recorded = record(module.params, check_mode=module.check_mode)
    return {"changed": True, **to_json_types(recorded), "summary": [*recorded.describe()]}


if __name__ == "__main__":
    main()
