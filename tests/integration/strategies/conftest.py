# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One cluster and one Spark session for all that strategies, forecasts and start orders are tried on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.on_call import OnCall
from lab import Cluster
from lab.pool import STANDARD, ClusterPool


@pytest.fixture
def cluster(clusters: ClusterPool, kafka_version: str) -> Iterator[Cluster]:
    """Return a healthy cluster without topics, whatever an earlier test did to it."""
    with clusters.lease(STANDARD, kafka_version) as cluster:
        yield cluster


@pytest.fixture
def on_call(cluster: Cluster, tmp_path: Path) -> OnCall:
    return OnCall(cluster, tmp_path)
