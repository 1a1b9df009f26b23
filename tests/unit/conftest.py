# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What unit tests of several packages share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal import Journal
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.options import INTERPRETED
from ansible_collections.kafkaops.recovery.plugins.module_utils._spark.session import spark_session
from unit.fakes.clock import FakeClock
from unit.fakes.journals import open_journal
from unit.fakes.settings import FakeSettings
from unit.fakes.topics import FakeTopics
from unit.fakes.wreck import MakeWreck, Wreck, wrecked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A busy machine makes examples slow, not wrong; pytest-timeout bounds each test.
hypothesis.settings.register_profile("kafkaops", deadline=None)
# `make test-all`: --hypothesis-profile=wide.
hypothesis.settings.register_profile("wide", deadline=None, max_examples=500)
hypothesis.settings.load_profile("kafkaops")

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


@pytest.fixture
def clock() -> FakeClock:
    """Return the clock by which all that a test waits for is watched."""
    return FakeClock()


@pytest.fixture
def make_wreck(clock: FakeClock) -> MakeWreck:
    """Make a wreck of so many partitions."""

    def make(count: int = 1) -> Wreck:
        cluster = wrecked(count)
        cluster.clock = clock
        return Wreck(cluster)

    return make


@pytest.fixture
def wreck(make_wreck: MakeWreck) -> Wreck:
    """Three partitions."""
    return make_wreck(3)


@pytest.fixture
def journal() -> Iterator[Journal]:
    """Open a journal in memory."""
    with open_journal(FakeTopics()) as opened:
        yield opened


@pytest.fixture
def settings() -> FakeSettings:
    """Make brokers whose configs are in memory."""
    return FakeSettings()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Start a session as a module does; its workers can also import ``unit.fakes.brokers``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(_TESTS), prepend=os.pathsep)
        with spark_session() as session:
            # Tests on brokers run what Spark compiles.
            for name, value in INTERPRETED.items():
                session.conf.set(name, value)
            yield session
