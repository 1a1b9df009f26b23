# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One cluster and one Spark session for all that strategies, forecasts and start orders are tried on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ansible_collections.kafkaops.recovery.plugins.module_utils.pipeline.session import spark_session
from integration.strategies.on_call import OnCall
from lab import Cluster


@pytest.fixture(scope="package")
def spark() -> Iterator[SparkSession]:
    """Not for the whole run: a process has one session at a time, and other rooms start their own."""
    with spark_session() as session:
        yield session


@pytest.fixture(scope="module")
def cluster(kafka_version: str) -> Iterator[Cluster]:
    with Cluster(kafka_version) as started:
        yield started


@pytest.fixture
def on_call(cluster: Cluster, spark: SparkSession, tmp_path: Path) -> OnCall:
    """On a cluster whose brokers all run again, whatever an earlier test did."""
    for broker in cluster.brokers.values():
        if broker.frozen:
            broker.thaw()
        if not broker.running:
            broker.start()
    return OnCall(cluster, spark, tmp_path)
