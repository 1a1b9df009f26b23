# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Kafka versions of the lab, and all pinned version numbers."""

from __future__ import annotations

DEFAULT = "4.3.1"
KAFKA = ("3.9.2", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0")
"""Releases the collection is tested against, oldest first."""

SCALA = "2.13"
SLF4J_SIMPLE = "org.slf4j:slf4j-simple:1.7.36"

HADOOP = "3.5.0"
"""The version of Hadoop that PySpark ships."""
HADOOP_AWS = f"org.apache.hadoop:hadoop-aws:{HADOOP}"
S3A_NEEDS = (
    "software.amazon.awssdk:s3-transfer-manager:2.35.4",
    "software.amazon.s3.analyticsaccelerator:analyticsaccelerator-s3:1.3.1",
)
"""The parts of Amazon's SDK that hadoop-aws needs, instead of the bundle of 500 MB, in the versions of its pom."""
S3_PROXY = "org.gaul:s3proxy:2.7.0"

_TIERED_STORAGE = {"4.2.2": "4.2.1", "4.4.0": "4.3.1"}
"""Where Maven Central lacks the test archive of kafka-storage: the version whose archive serves."""

# Agents for a node's JVM: f"-javaagent:{jars.artifact(versions.BYTEMAN)}=script:..."
BYTEMAN = "org.jboss.byteman:byteman:4.0.25"
JMX_EXPORTER = "io.prometheus.jmx:jmx_prometheus_javaagent:1.0.1"
JOLOKIA = "org.jolokia:jolokia-agent-jvm:2.3.0:javaagent"


_MOVED = {
    "kafka.admin.AclCommand": "4.0.2",
    "kafka.admin.ConfigCommand": "4.4.0",
    "kafka.tools.DumpLogSegments": "4.3.1",
}
"""Tools that have another package from a release on."""


def tool_class(name: str, version: str) -> str:
    """Return the name of a tool's class in a version. ``name`` is that of 3.9."""
    has_moved = name in _MOVED and KAFKA.index(version) >= KAFKA.index(_MOVED[name])
    return f"org.apache.kafka.tools.{name.rpartition('.')[2]}" if has_moved else name


def has_elr(version: str) -> bool:
    """Whether new clusters of a version have eligible leader replicas switched on (KIP-966): from 4.1 on."""
    return check(version) not in ("3.9.2", "4.0.2")


def has_pre_vote(version: str) -> bool:
    """Whether controllers of a version ask for pre-votes (KIP-996): from 4.0 on."""
    return check(version) != "3.9.2"


def tiered_storage(version: str) -> str:
    """Return the version of the archive that holds Kafka's LocalTieredStorage for brokers of a version (KIP-405)."""
    return _TIERED_STORAGE.get(check(version), version)


def check(version: str) -> str:
    """Return ``version`` if the lab knows it; raise ValueError naming the known ones otherwise."""
    if version not in KAFKA:
        raise ValueError(f"The lab does not know Kafka {version}; it knows {', '.join(KAFKA)} (tests/lab/versions.py).")
    return version
