# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What to save before an election; module_utils/_salvage/options.py has the argument spec."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  salvage:
    description:
      - Whether to save the records that replicas hold which answered, and which the designated leader does not hold.
        After the election, these replicas delete them within a second. The plan's forecast says which ones they are.
      - They are fetched, checksums verified, synced to disk and read back. Only then is the election requested.
        Partitions where nothing is to be saved do not wait for it.
      - The module does that itself for up to some 4 GiB in a local directory. Spark does it for more, for other file
        systems, and where O(spark) is given.
      - V(best_effort) elects all the same where something could not be saved, with a warning. V(required) refuses the
        election of such a partition.
      - The O(kafkaops.recovery.designated_election#module:partitions) have no forecast, so that nothing is saved for
        them.
    type: str
    choices: ['off', best_effort, required]
    default: 'off'
  salvage_dir:
    description:
      - The directory to save to. Where it has the records of another incident, a new one beside it is used,
        with a number, such as C(DIR-2). Required unless O(salvage=off).
      - A local path, or the URI of a directory on a file system that Hadoop knows, such as C(hdfs://namenode/saved).
        Hadoop's configuration is that of E(HADOOP_CONF_DIR), and E(SPARK_DIST_CLASSPATH) names jars that Spark lacks.
      - On overlayfs or tmpfs, what is saved would be lost with the container or at the next boot. V(required) refuses
        such a directory, and V(best_effort) warns that the records must be copied away.
      - It holds B(production data), mode 0600. M(kafkaops.recovery.salvage_replay) gives it back.
    type: path
  spark:
    description:
      - How Spark runs that saves these records. On the host that runs the module, unless given.
      - A local O(salvage_dir) is always written on this host, and so is any other one where O(spark.remote) is given.
        Of O(spark), only O(spark.driver_memory) and O(spark.conf) count then.
      - Nothing in it may be secret, because Spark shows its settings in event logs and process lists.
    type: dict
    suboptions:
      master: {type: str, description: "URL of a cluster's master, for an O(salvage_dir) its executors can write to."}
      remote: {type: str, description: "URL of a Spark Connect server. Excludes O(spark.master)."}
      driver_memory: {type: str, description: "Memory of the driver's JVM, V(2g) unless given."}
      executor_python: {type: path, description: "The Python on the hosts with executors."}
      settings_reference:
        description:
          - Path of a file with the connection settings, which must be on every host with executors, for their user
            alone to read. Required with a O(spark.master) that runs elsewhere.
        type: path
      conf: {type: dict, description: Further Spark settings. Names that Spark takes for secrets are refused.}
"""

    # Where modules read a salvage from.
    SOURCE = r"""
options:
  salvage_dir:
    description:
      - A directory that a salvage has written, or a copy of it.
      - A local path, or the URI of a directory on a file system that Hadoop knows, such as C(hdfs://namenode/saved).
        Hadoop's configuration is that of E(HADOOP_CONF_DIR), and E(SPARK_DIST_CLASSPATH) names jars that Spark lacks.
      - From such a file system it is copied to a temporary directory on this host, for the length of the run.
    type: path
    required: true
"""
