# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tests that start processes, and no brokers: Spark's JVM, ansible-playbook, modules as Ansible starts them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.interpreted import interpreted
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TESTS = Path(__file__).parents[1]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    return _OneSparkSession(config, log)


class _OneSparkSession(LoadFileScheduling):
    """A file's tests go to one worker, and those of all files with a Spark session to the same: it is a JVM."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return "on Spark" if _is_on_spark(self.config.rootpath / file) else file


@cache
def _is_on_spark(file: Path) -> bool:
    return "spark: SparkSession" in file.read_text("utf-8")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Start a session as a module does; its workers can also import ``unit.fakes.brokers``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(_TESTS), prepend=os.pathsep)
        with spark_session() as session, interpreted(session):
            yield session
