# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One Spark session for all tests of a process that do not care which."""

from __future__ import annotations

from contextlib import ExitStack

from pyspark.sql import SparkSession

from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.session import spark_session


class SharedSpark:
    """A process has one session at a time: this one is started when it is asked for, and may be closed at any time."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._session: SparkSession | None = None

    def __enter__(self) -> SharedSpark:
        return self

    def __exit__(self, *_failure: object) -> None:
        self.close()

    def session(self) -> SparkSession:
        """Return the session, started unless it is up."""
        if self._session is None:
            self._session = self._stack.enter_context(spark_session())
        return self._session

    def close(self) -> None:
        """End the session, if there is one."""
        self._session = None
        self._stack.close()
