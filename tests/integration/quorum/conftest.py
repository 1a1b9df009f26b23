# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Quorums of three controllers and one broker: a static one, then a dynamic one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from integration.quorum.watched import Quorum
from lab.quorum import QuorumCluster


@pytest.fixture(scope="module", params=[False, True], ids=["static", "dynamic"])
def cluster(kafka_version: str, request: pytest.FixtureRequest) -> Iterator[QuorumCluster]:
    """One cluster after the other, so that no two run at once."""
    with QuorumCluster(kafka_version, brokers=1, controllers=3, dynamic_quorum=request.param, proxied=True) as cluster:
        yield cluster


@pytest.fixture
def quorum(cluster: QuorumCluster) -> Quorum:
    """A quorum that is healthy when the test begins."""
    quorum = Quorum(cluster)
    quorum.wait_healthy()
    return quorum
