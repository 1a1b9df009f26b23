# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What unit tests of several packages share."""

from __future__ import annotations

from collections.abc import Iterator

import hypothesis
import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._changes.journal import Journal
from unit.fakes.clock import FakeClock
from unit.fakes.journals import open_journal
from unit.fakes.settings import FakeSettings
from unit.fakes.topics import FakeTopics
from unit.fakes.wreck import MakeWreck, Wreck, wrecked

# A busy machine makes examples slow, not wrong; pytest-timeout bounds each test.
hypothesis.settings.register_profile("kafkaops", deadline=None)
# `make test-all`: --hypothesis-profile=wide.
hypothesis.settings.register_profile("wide", deadline=None, max_examples=500)
hypothesis.settings.load_profile("kafkaops")


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
