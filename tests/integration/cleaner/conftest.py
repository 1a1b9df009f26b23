# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One cluster for all tests of the log cleaner, with Byteman and both metric agents in each of three brokers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.cleaner import CleanerCluster, CleanerOperator
from lab.pool import ClusterPool, Specification

_CLEANERS: Specification[CleanerCluster] = Specification("cleaners", CleanerCluster, CleanerCluster.heal)


@pytest.fixture(scope="module")
def lab(clusters: ClusterPool, kafka_version: str) -> Iterator[CleanerCluster]:
    with clusters.lease(_CLEANERS, kafka_version) as lab:
        yield lab


@pytest.fixture
def operator(lab: CleanerCluster, tmp_path: Path) -> Iterator[CleanerOperator]:
    """Return an operator with a journal of its own. Every cleaner runs afterwards."""
    yield CleanerOperator(lab)
    lab.cluster.proxy.clear()
