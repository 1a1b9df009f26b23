# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Quorums of three controllers and one broker: a static one, then a dynamic one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from integration.quorum.watched import Quorum
from lab.health import heal
from lab.pool import ClusterPool, Specification
from lab.quorum import QuorumCluster

_KINDS: dict[bool, Specification[QuorumCluster]] = {
    is_dynamic: Specification(
        f"{'dynamic' if is_dynamic else 'static'} quorum",
        lambda version, is_dynamic=is_dynamic: QuorumCluster(  # type: ignore[misc]
            version, brokers=1, controllers=3, dynamic_quorum=is_dynamic, proxied=True
        ),
        heal,
    )
    for is_dynamic in (False, True)
}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(False, id="static"),
        pytest.param(True, id="dynamic", marks=pytest.mark.wide),
    ],
)
def cluster(clusters: ClusterPool, kafka_version: str, request: pytest.FixtureRequest) -> Iterator[QuorumCluster]:
    """Yield one cluster after another, so that no two run at once."""
    with clusters.lease(_KINDS[request.param], kafka_version) as cluster:
        yield cluster


@pytest.fixture
def quorum(cluster: QuorumCluster) -> Quorum:
    """Return a quorum that is healthy when the test begins."""
    quorum = Quorum(cluster)
    quorum.wait_healthy()
    return quorum
