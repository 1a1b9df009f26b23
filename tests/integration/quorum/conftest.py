# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Quorums of three controllers and one broker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from integration.quorum.watched import Quorum
from lab.quorum import QuorumCluster


@pytest.fixture(scope="module")
def static_cluster(kafka_version: str) -> Iterator[QuorumCluster]:
    with QuorumCluster(kafka_version, brokers=1, controllers=3) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def dynamic_cluster(kafka_version: str) -> Iterator[QuorumCluster]:
    with QuorumCluster(kafka_version, brokers=1, controllers=3, dynamic_quorum=True) as cluster:
        yield cluster


@pytest.fixture
def static(static_cluster: QuorumCluster) -> Quorum:
    """A static quorum that is healthy when the test begins."""
    quorum = Quorum(static_cluster)
    quorum.wait_healthy()
    return quorum


@pytest.fixture
def dynamic(dynamic_cluster: QuorumCluster) -> Quorum:
    """A dynamic quorum that is healthy when the test begins."""
    quorum = Quorum(dynamic_cluster)
    quorum.wait_healthy()
    return quorum
