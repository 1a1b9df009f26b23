# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Five brokers in three racks for the tests of the stop gate. Each test begins with all of them up, and no topics."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from campaign.stops.states import FIVE
from lab import Cluster
from lab.pool import ClusterPool


@pytest.fixture
def cluster(clusters: ClusterPool, kafka_version: str) -> Iterator[Cluster]:
    with clusters.lease(FIVE, kafka_version) as leased:
        yield leased
