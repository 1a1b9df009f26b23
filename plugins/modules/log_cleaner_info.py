#!/usr/bin/python
# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Diagnose the log cleaners of brokers."""

from __future__ import annotations

DOCUMENTATION = r"""
module: log_cleaner_info
short_description: Diagnose the log cleaners of brokers
version_added: 1.0.0
description:
  - Reads the metrics of each broker's log cleaner (KIP-346) and its settings, and returns one case as the diagnosis.
    Dead threads, uncleanable partitions and a stalled cleaner need different remedies.
  - Without metrics, it reads the sizes of compacted partitions, stores them, and compares them on Spark. The diagnosis
    is then an inference, and RV(brokers[].is_inferred) is true.
  - Names suspicious copies of compacted partitions, C(__consumer_offsets) first.
  - A broker whose metrics cannot be read is V(unknown), with the reason. The module fails if no metrics can be read.
author: [the kafkaops.recovery authors (@kafkaops)]
extends_documentation_fragment: [
  kafkaops.recovery.kafka, kafkaops.recovery.log_cleaner, kafkaops.recovery.log_cleaner.sizes,
  kafkaops.recovery.progress, kafkaops.recovery.attributes, kafkaops.recovery.attributes.info_module,
  kafkaops.recovery.attributes.action_group]
attributes:
  action_group: {membership: [kafkaops.recovery.kafka, kafkaops.recovery.log_cleaner]}
seealso:
  - module: kafkaops.recovery.log_cleaner
  - module: kafkaops.recovery.log_cleaner_repair
notes:
  - Needs DESCRIBE_CONFIGS on the cluster for settings, DESCRIBE on the cluster for sizes, and DESCRIBE and
    DESCRIBE_CONFIGS on topics.
"""

EXAMPLES = r"""
- name: Diagnose all cleaners by the brokers' JMX exporters
  kafkaops.recovery.log_cleaner_info:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    metrics_source: prometheus
    metrics_url: http://{host}:7071/metrics
  register: cleaners

- name: Infer the diagnosis from sizes, compared with the sizes of earlier runs
  kafkaops.recovery.log_cleaner_info:
    bootstrap_servers: kafka1.example.com:9092,kafka2.example.com:9092
    evidence_dir: /var/lib/kafkaops/sizes
"""

RETURN = r"""
cluster_id: {type: str, returned: success, sample: 4L6g3nShT-eMCtK--X86sw, description: The cluster's id.}
brokers:
  description: What was found at each broker, in order of their ids.
  returned: success
  type: list
  elements: dict
  contains:
    broker_id: {type: int, description: The broker.}
    host: {type: str, description: "Its advertised host, null if unknown."}
    diagnosis:
      description:
        - The case. V(idle) means that the cleaner runs and nothing is dirty. If several cases apply, the one to repair
          first.
      type: str
      choices: [healthy, idle, dead_threads, uncleanable_partitions, stalled, unknown]
    reason: {type: str, description: "Why, in words."}
    restart_helps: {type: bool, description: Whether a restart of the cleaner threads repairs it.}
    is_inferred: {type: bool, description: "Whether it was inferred from sizes, without metrics."}
    threads: {type: int, description: "The configured number of cleaner threads, null if unknown."}
    dead_threads: {type: int, description: "C(DeadThreadCount), null if unknown."}
    time_since_last_run_ms: {type: int, description: "C(time-since-last-run-ms), null if unknown."}
    max_dirty_percent: {type: int, description: "C(max-dirty-percent), null if unknown."}
    log_dirs:
      description: The log directories.
      type: list
      elements: dict
      contains:
        log_dir: {type: str, description: Path of the directory.}
        uncleanable_partitions:
          description: How many partitions are marked as uncleanable, null if unknown.
          type: int
        uncleanable_bytes:
          description: Bytes of these partitions that wait to be cleaned, null if unknown.
          type: int
    configs:
      description: The cleaner's settings, each with C(name), C(value) and C(source).
      type: list
      elements: dict
    suspects:
      description:
        - Copies that are probably not compacted, C(__consumer_offsets) first.
      type: list
      elements: dict
      contains:
        topic: {type: str, description: Name of the topic.}
        partition: {type: int, description: Number of the partition.}
        broker_id: {type: int, description: The broker that has the copy.}
        log_dir: {type: str, description: Its log directory.}
        size_bytes: {type: int, description: Bytes on disk.}
        smallest_copy_bytes:
          description: Size of the smallest other copy of the partition, null if there is none.
          type: int
        reason: {type: str, description: Why it is suspicious.}
    metrics_error: {type: str, description: "Why its metrics could not be read, empty if they were read."}
    settings_error: {type: str, description: "Why its settings could not be read, empty if they were read."}
summary:
  description: How many brokers are in each case.
  returned: success
  type: dict
  sample: {healthy: 2, idle: 0, dead_threads: 1, uncleanable_partitions: 0, stalled: 0, unknown: 0}
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kafkaops.recovery.plugins.module_utils._module.python import REQUIRED_PYTHON  # noqa: F401  # pylint: disable=unused-import
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner import options as shared
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.diagnosis import Case
from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.metrics_source import METRICS, metrics_source
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.run import count_by_status
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.connection import (
    CONNECTION,
    connection_settings,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.options import PROGRESS, progress_to
from ansible_collections.kafkaops.recovery.plugins.module_utils._module.run import call_all, run

ARGUMENTS = CONNECTION + shared.BROKERS + METRICS + shared.THRESHOLDS + shared.SIZES + PROGRESS


def main() -> None:
    module = AnsibleModule(**ARGUMENTS.to_kwargs(), supports_check_mode=True)
    run(module, results, needs=shared.libraries(module.params))


def results(module: AnsibleModule) -> dict[str, Any]:
    from ansible_collections.kafkaops.recovery.plugins.module_utils._cleaner.inspection import select_brokers
    from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.port import Kafka
    from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.wire import Wire

    params = module.params
    settings, source, limits = call_all(
        lambda: connection_settings(params), lambda: metrics_source(params), lambda: shared.thresholds(params)
    )
    with Wire(settings) as wire:
        kafka = Kafka(wire)
        cluster = kafka.describe_cluster()
        brokers = select_brokers(kafka.probe_brokers(cluster), params["brokers"])
        found = shared.inspect_cleaners(
            kafka, cluster, brokers, source, limits, params, progress_to(params["progress_file"])
        )
    return {
        "changed": False,
        "cluster_id": cluster.cluster_id,
        "summary": count_by_status((each.diagnosis.case for each in found), Case),
        "brokers": [shared.broker_result(each) for each in found],
    }


if __name__ == "__main__":
    main()
