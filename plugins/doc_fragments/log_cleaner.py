# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options that the modules of the log cleaner share."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  brokers:
    description:
      - Ids of the brokers to handle.
      - All brokers, if empty.
    type: list
    elements: int
    default: []
  metrics_source:
    description:
      - Source of the cleaner metrics. V(prometheus) is a Prometheus JMX exporter, V(jolokia) a Jolokia agent.
      - With V(none), the module uses only the sizes of compacted partitions, which Kafka itself returns. The diagnosis
        is then an inference, and is labeled as an inference.
    type: str
    choices: [prometheus, jolokia, none]
    default: none
  metrics_url:
    description:
      - URL of each broker's metrics. C({broker_id}) and C({host}), the advertised host, are replaced for each broker.
      - For example V(http://{host}:7071/metrics) or V(https://{host}:8778/jolokia). A user name or a password in it is
        refused. Use O(metrics_username) and O(metrics_password).
    type: str
  metrics_names:
    description:
      - Names of the exporter's metrics, if they are not the usual ones.
      - The usual ones are C(kafka_log_logcleanermanager_uncleanable_partitions_count) and so on, in any case, and
        C(kafka_log_LogCleanerManager_Value) with a label C(name).
    type: dict
    suboptions:
      dead_thread_count: {type: str, description: Name of C(DeadThreadCount).}
      time_since_last_run_ms: {type: str, description: Name of C(time-since-last-run-ms).}
      max_dirty_percent: {type: str, description: Name of C(max-dirty-percent).}
      uncleanable_partitions_count:
        description:
          - Name of C(uncleanable-partitions-count). It has a label with the log directory.
        type: str
      uncleanable_bytes: {type: str, description: Name of C(uncleanable-bytes). It has a label with the log directory.}
  metrics_timeout_ms:
    description:
      - Milliseconds that one complete answer of a metrics endpoint may take.
    type: int
    default: 5000
  metrics_username:
    description:
      - User name for the metrics endpoints (basic authentication).
    type: str
  metrics_password:
    description:
      - Password for the metrics endpoints.
    type: str
  metrics_validate_certs:
    description:
      - Whether the certificates of the metrics endpoints are checked.
    type: bool
    default: true
  metrics_ca_file:
    description:
      - PEM file with the CA certificates for these endpoints.
    type: path
  stalled_after_ms:
    description:
      - Milliseconds without a completed run after which a cleaner counts as stalled. The cleaning of a very large log
        may also take so long.
    type: int
    default: 900000
  tolerated_uncleanable_partitions:
    description:
      - How many uncleanable partitions a broker may have and still be healthy.
    type: int
    default: 0
  suspect_ratio:
    description:
      - A copy of a compacted partition is suspicious if it is this many times as large as the smallest copy of the
        partition, and also larger by O(suspect_bytes).
    type: float
    default: 2.0
  suspect_bytes:
    description:
      - The number of bytes for O(suspect_ratio).
    type: int
    default: 67108864
requirements: [crc32c >= 2.7, prometheus-client >= 0.22]
"""

    # Where sizes are all there is.
    SIZES = r"""
options:
  evidence_dir:
    description:
      - Directory for the sizes of compacted partitions, as Parquet, one file for each measurement. New sizes are
        compared with earlier ones, and the newest 200 files are kept. Use one directory for each cluster.
      - Used and created only with O(metrics_source=none), in check mode too.
    type: path
  looks:
    description:
      - How often to measure the sizes, with O(metrics_source=none).
    type: int
    default: 1
  look_interval_ms:
    description:
      - Milliseconds between two measurements.
    type: int
    default: 10000
requirements:
  - Java >= 17, pyarrow >= 20 and pyspark >= 4.1, for O(metrics_source=none), the default
"""

    # For modules that write.
    WRITES = r"""
options:
  attempts:
    description:
      - How often to try a write that fails with an error that may pass.
    type: int
    default: 3
"""

    # Whose replicas are to be re-created.
    PARTITIONS = r"""
options:
  partitions:
    description:
      - The partitions whose replicas on O(brokers) to repair.
      - Without this and O(partitions_file), the module searches for marked replicas, which needs metrics.
  partitions_file:
    description:
      - Path of a JSON file with the partitions, C({"partitions":[{"topic":"orders","partitions":[0,3]}]}).
    type: path
"""

    # What the tasks of a log cleaner recovery returned.
    RESULTS = r"""
options:
  before:
    description:
      - What M(kafkaops.recovery.log_cleaner_info) returned at the beginning.
    type: dict
  restart:
    description:
      - What M(kafkaops.recovery.log_cleaner) returned.
    type: dict
    default: {}
  repair:
    description:
      - What M(kafkaops.recovery.log_cleaner_repair) returned.
    type: dict
    default: {}
  after:
    description:
      - What M(kafkaops.recovery.log_cleaner_info) returned at the end. Defaults to O(before).
    type: dict
"""
