# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check this host: libraries, Java, Spark's class archive, and disk space. Changes nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from .._documents.files import MIB, nearest_existing
from .._module.libraries import KAFKA_AND_ARROW, SPARK, missing_libraries_message
from .._spark.java import SparkUnavailableError, find_java
from .._spark.options import is_uri
from .._spark.session import has_class_archive
from .check import Check, CheckName, failed, passed, unknown, warning

_BYTES_PER_ROW = 512
"""The most bytes that evidence takes for each replica of an offline partition, as Parquet."""
_LEAST_EVIDENCE_BYTES = 100 * MIB
_MAKE_ARCHIVE = (
    "It is written after the first plan on this host. To have it before an incident, run the playbook "
    "kafkaops.recovery.recover_offline_partitions once against a test cluster, or use an image that has it"
)


_WITHOUT_SPARK = (
    "A recovery works without it: the module does by itself what Spark would do. To have no warning, set the variable "
    "readiness_local_spark to false, and unclean_recovery_engine to process"
)


def check_libraries(*, local_spark: bool) -> Iterator[Check]:
    """Check that this host has the Python libraries for a plan, and Spark's library, Java and class archive.

    Without ``local_spark``, Spark runs on another host or not at all, and is not checked.
    """
    missing = missing_libraries_message(KAFKA_AND_ARROW)
    if missing:
        yield failed(CheckName.LIBRARIES, missing, "Install them")
    else:
        yield passed(CheckName.LIBRARIES, "every Python library that a recovery needs is installed")
    if not local_spark or missing:
        return
    without_spark = missing_libraries_message(SPARK)
    if without_spark:
        yield warning(CheckName.LIBRARIES, without_spark, f"Install it. {_WITHOUT_SPARK}", "Spark")
    else:
        yield from _check_java()


def _check_java() -> Iterator[Check]:
    try:
        java = find_java()
    except SparkUnavailableError as error:
        yield warning(CheckName.JAVA, str(error), f"Install it, or set JAVA_HOME. {_WITHOUT_SPARK}")
        return
    yield passed(CheckName.JAVA, f"Java {java.version} in {java.home}")
    try:
        is_there = has_class_archive(java)
    except OSError as error:
        yield warning(
            CheckName.CLASS_ARCHIVE,
            f"Spark starts without its class archive, in twice the time: {error}",
            "Give this user a cache directory of its own (XDG_CACHE_HOME) that nobody else can write",
        )
        return
    if is_there:
        yield passed(CheckName.CLASS_ARCHIVE, "Spark starts from its class archive")
    else:
        yield warning(
            CheckName.CLASS_ARCHIVE,
            "there is no class archive for this Java and Spark, so the first plan takes twice the time",
            _MAKE_ARCHIVE,
        )


def check_disk_space(directory: str, purpose: str, needed_bytes: int) -> Check:
    """Check that files of this size can be written to a directory. It need not exist yet."""
    subject = f"{purpose} in {directory}"
    if is_uri(directory):
        found = "not checked: only Spark reaches this file system"
        return warning(CheckName.DISK_SPACE, found, "Look there whether there is space, and who may write", subject)
    existing = nearest_existing(Path(os.path.expanduser(directory)))
    if not os.access(existing, os.W_OK | os.X_OK):
        return failed(
            CheckName.DISK_SPACE,
            f"{existing} cannot be written by uid {os.geteuid()}",
            "Give that user write access, or use another directory",
            subject,
        )
    try:
        status = os.statvfs(existing)
    except OSError as error:
        return unknown(CheckName.DISK_SPACE, f"free space: {error.strerror}", "Check the file system", subject)
    free = status.f_bavail * status.f_frsize
    found = f"{free // MIB} MiB are free, and {-(-needed_bytes // MIB)} MiB may be needed"
    if free < needed_bytes:
        return failed(CheckName.DISK_SPACE, found, "Free space, or use a directory on another disk", subject)
    return passed(CheckName.DISK_SPACE, found, subject)


def estimate_evidence_bytes(replicas: int) -> int:
    """Return the most bytes that evidence takes if all partitions, with this many replicas, are offline."""
    return max(_LEAST_EVIDENCE_BYTES, replicas * _BYTES_PER_ROW)
