# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One cluster for all tests of leadership. Each test ends with an empty list and all brokers online."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import Cluster
from lab.health import heal
from lab.leadership import Operator
from lab.pool import ClusterPool, Specification

_SMALL = {"transaction.state.log.num.partitions": 3, "offsets.topic.num.partitions": 3}


def _create(version: str) -> Cluster:
    return Cluster(version, brokers=4, proxied=True, properties=_SMALL, controller_properties=_SMALL)


_FOUR_BROKERS: Specification[Cluster] = Specification("four brokers", _create, heal)


@pytest.fixture(scope="module")
def cluster(clusters: ClusterPool, kafka_version: str) -> Iterator[Cluster]:
    with clusters.lease(_FOUR_BROKERS, kafka_version) as cluster:
        yield cluster


@pytest.fixture
def operator(cluster: Cluster, tmp_path: Path) -> Iterator[Operator]:
    someone = Operator(cluster)
    yield someone
    cluster.proxy.clear()
    someone.restore()
