# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kafka's automatic leader rebalance follows the orders that the list has set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import Cluster
from lab.leadership import Operator, leaders
from lab.waiting import wait_until

_REBALANCE = {
    "auto.leader.rebalance.enable": "true",
    "leader.imbalance.check.interval.seconds": 1,
    "leader.imbalance.per.broker.percentage": 0,
}


@pytest.fixture
def rebalancing(kafka_version: str) -> Iterator[Cluster]:
    with Cluster(kafka_version, brokers=2, properties=_REBALANCE, controller_properties=_REBALANCE) as started:
        yield started


@pytest.mark.wide
def test_the_automatic_rebalance_honors_the_list(rebalancing: Cluster, tmp_path: Path) -> None:
    cluster, operator = rebalancing, Operator(rebalancing)
    cluster.client.create_topic("balanced", {0: (1, 2), 1: (2, 1)})
    operator.list(1)
    wait_until(lambda: leaders(cluster, "balanced") == {0: 2, 1: 2}, what="the rebalance moves leaders away from 1")
    operator.restore()
    wait_until(lambda: leaders(cluster, "balanced") == {0: 1, 1: 2}, what="and back to it")
