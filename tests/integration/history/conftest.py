# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The cluster of most tests of the history."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from integration.history.alone import WITHOUT_ELR
from lab import Cluster
from lab.pool import ClusterPool


@pytest.fixture
def cluster(clusters: ClusterPool, kafka_version: str) -> Iterator[Cluster]:
    with clusters.lease(WITHOUT_ELR, kafka_version) as healthy:
        yield healthy
