# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One cluster and one Spark session for all that strategies, forecasts and start orders are tried on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.on_call import OnCall
from integration.shared_spark import SharedSpark
from lab import Cluster
from lab.pool import STANDARD, ClusterPool


@pytest.fixture
def spark(shared_spark: SharedSpark) -> SparkSession:
    return shared_spark.session()


@pytest.fixture
def cluster(clusters: ClusterPool, kafka_version: str) -> Iterator[Cluster]:
    """Return a healthy cluster without topics, whatever an earlier test did to it."""
    with clusters.lease(STANDARD, kafka_version) as cluster:
        yield cluster


@pytest.fixture
def on_call(cluster: Cluster, spark: SparkSession, tmp_path: Path) -> OnCall:
    return OnCall(cluster, spark, tmp_path)
