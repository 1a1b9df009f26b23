# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options for asking replicas; module_utils/_recovery/gather.py has their argument spec."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  recovery_duration_ms:
    description:
      - Milliseconds in which all brokers are asked. Until then, a broker that does not answer is asked again.
      - A broker that has not answered by then is reported as silent, with the cause.
      - If the tasks of a Spark cluster start slowly, brokers still get a third of this time.
    type: int
    default: 30000
  evidence_dir:
    description:
      - Directory below which the answers of the replicas are stored as Parquet, beside those of other runs. They hold
        no secret.
      - Defaults to C($XDG_STATE_HOME/kafkaops-recovery/evidence), or else to
        V(~/.local/state/kafkaops-recovery/evidence).
      - With O(engine=spark), it may be a URI that Hadoop knows, such as V(hdfs://namenode/evidence).
    type: path
  replica_log_source:
    description:
      - The RPC by which replicas are asked for their log ends. The answers and the ranking are the same.
      - V(public) uses what every supported Kafka has.
      - V(native) uses GetReplicaLogInfo, as KIP-966 and KAFKA-20098 propose it. No released Kafka has it, so it is used
        only on request. A broker that does not offer it counts as silent.
      - If an answer has another broker epoch than an earlier one, all answers of that broker are discarded.
    type: str
    choices: [public, native]
    default: public
  replica_log_api_key:
    description:
      - The API key under which your brokers have GetReplicaLogInfo. Required with O(replica_log_source=native).
      - Keys up to 93 are refused, because released Apache Kafka uses them for other RPCs.
    type: int
  engine:
    description:
      - What ranks the replicas. V(spark) is Spark, V(process) the module's own process, which needs no Java and no
        PySpark. The result is the same.
      - Spark starts in the background when partitions are found to be offline. If Spark is not ready in time, or if it
        fails, the module does the work by itself. A warning and the result C(engine) say why.
    type: str
    choices: [spark, process]
    default: spark
  spark_wait_ms:
    description:
      - Milliseconds that the module waits for Spark when there is work for it.
    type: int
    default: 10000
  spark:
    description:
      - Where and how Spark runs. Excludes O(engine=process).
      - With Spark on the host that runs the module, which is the default, the module itself asks the replicas, from
        100,000 on in up to four processes. With a cluster or a Spark Connect server, Spark's tasks ask them.
      - It must not contain secrets, because Spark shows its settings in event logs and process lists.
    type: dict
    suboptions:
      master:
        description:
          - URL of a cluster's master, such as V(spark://spark.example.com:7077). The driver stays on the host that runs
            the module. Defaults to V(local[*,4]).
        type: str
      remote:
        description:
          - URL of a Spark Connect server, such as V(sc://spark.example.com:15002). Needs pandas, grpcio, grpcio-status,
            googleapis-common-protos and zstandard, and no Java here.
          - A token comes from the environment variable E(SPARK_CONNECT_AUTHENTICATE_TOKEN), never from the URL.
          - Excludes O(spark.master).
        type: str
      driver_memory:
        description:
          - Memory of the driver's JVM, V(2g) unless given. Without effect for O(spark.remote).
        type: str
      executor_python:
        description:
          - Path of Python on the hosts with executors, in the same minor version as the module's Python. Defaults to
            the path of the module's Python.
        type: path
      settings_reference:
        description:
          - Path of a file with the connection settings. It must be on every host with executors, and only their user
            may read it. Required unless Spark runs only on this host.
        type: path
      conf:
        description:
          - Further Spark settings. They override those of this collection.
          - Names that Spark treats as secrets are refused.
        type: dict
requirements:
  - pyarrow >= 20
  - Java >= 17 and pyspark >= 4.1, unless O(engine=process)
  - pandas >= 2.2, if Spark runs on a cluster
"""

    # For whatever returns a row a partition or a replica.
    MAX_ROWS = r"""
options:
  max_rows:
    description:
      - How many rows to return at most. The summary and the files always include all rows.
    type: int
    default: 1000
"""
