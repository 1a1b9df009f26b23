# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keep a session independent of what the host's environment has for other sessions of Spark, or lacks for Java."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_OF_OTHER_SESSIONS = (
    "SPARK_LOCAL_DIRS",
    *("PYSPARK_SUBMIT_ARGS", "SPARK_SUBMIT_OPTS", "PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "SPARK_LOCAL_REMOTE"),
    *("SPARK_CONNECT_MODE_ENABLED", "SPARK_API_MODE", "MASTER"),
)
"""Environment variables by which PySpark opens another session than ``SparkOptions`` says. Hosts that submit jobs to a
Spark cluster have them."""


def forget_other_sessions() -> None:
    """Remove the variables of other sessions from the environment of this process."""
    for name in _OF_OTHER_SESSIONS:
        os.environ.pop(name, None)


@contextmanager
def in_environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def has_no_name() -> bool:
    """Return whether this process' user id has no name, as in a container that runs with any user id."""
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        return True
    return False


def log_in_by_number(gateway: Any) -> None:
    """Name the user of the JVM by the user id. Hadoop would ask the system for a name, and end with an error."""
    users = gateway.jvm.org.apache.hadoop.security.UserGroupInformation
    users.setLoginUser(users.createRemoteUser(str(os.geteuid())))
