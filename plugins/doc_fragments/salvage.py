# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options for saving records before an election; module_utils/_salvage/options.py has the argument spec."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  salvage:
    description:
      - Whether to save the records that live replicas hold and the designated leader does not. After the election, the
        replicas delete these records within a second. The module finds the records right before the election, from the
        replicas that answer then, because the plan may not know a replica that has returned since.
      - The records are fetched, their checksums are verified, and they are synced to disk and read back. Only then is
        the election requested. Partitions without records to save do not wait.
      - The module itself saves up to about 4 GiB to a local directory. Spark saves more than that, saves to other file
        systems, and is used if O(spark) is given.
      - If records could not be saved, V(best_effort) elects with a warning, and V(required) refuses the election of
        that partition.
    type: str
    choices: ['off', best_effort, required]
    default: 'off'
  salvage_dir:
    description:
      - The directory to save to. If it has the records of another incident, a new directory with a number is used, such
        as C(DIR-2). If it exists and is no salvage, such as a mounted volume, C(DIR/salvage) is used. Required unless
        O(salvage=off).
      - A local path, or the URI of a directory on a file system that Hadoop knows, such as C(hdfs://namenode/saved).
        Hadoop's configuration is that of E(HADOOP_CONF_DIR), and E(SPARK_DIST_CLASSPATH) names jars that Spark lacks.
      - On overlayfs or tmpfs, saved records would be lost with the container or at the next boot. V(required) refuses a
        directory there, and V(best_effort) warns that the records must be copied to another place.
      - It holds B(production data), mode 0600. M(kafkaops.recovery.salvage_replay) replays it.
    type: path
  spark:
    description:
      - How Spark runs to save these records. Defaults to the host that runs the module.
      - A local O(salvage_dir) is always written on this host, and with O(spark.remote) so is any other one. In these
        cases, only O(spark.driver_memory) and O(spark.conf) have an effect.
      - It must not contain secrets, because Spark shows its settings in event logs and process lists.
    type: dict
    suboptions:
      master: {type: str, description: "URL of a cluster's master, for an O(salvage_dir) its executors can write to."}
      remote: {type: str, description: "URL of a Spark Connect server. Excludes O(spark.master)."}
      driver_memory: {type: str, description: "Memory of the driver's JVM, V(2g) unless given."}
      executor_python: {type: path, description: "The Python on the hosts with executors."}
      settings_reference:
        description:
          - Path of a file with the connection settings. It must be on every host with executors, and only their user
            may read it. Required if O(spark.master) runs on other hosts.
        type: path
      conf: {type: dict, description: Further Spark settings. Names that Spark treats as secrets are refused.}
"""

    # Where modules read a salvage from.
    SOURCE = r"""
options:
  salvage_dir:
    description:
      - A directory that a salvage has written, or a copy of it.
      - A local path, or the URI of a directory on a file system that Hadoop knows, such as C(hdfs://namenode/saved).
        Hadoop's configuration is that of E(HADOOP_CONF_DIR), and E(SPARK_DIST_CLASSPATH) names jars that Spark lacks.
      - Such a directory is copied to a temporary directory on this host for the duration of the run.
    type: path
    required: true
"""
