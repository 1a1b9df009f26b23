# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two of four brokers are lost, so only one of two lost replicas can be placed: on real brokers.

Before Kafka 4.3, a reassignment to a target with a dead broker stays listed until that broker is in sync.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lab import Cluster, wait_until
from lab.module_process import run_module

pytestmark = [pytest.mark.wide, pytest.mark.timeout(600)]

_LOST = (2, 3)


@pytest.fixture
def cluster(kafka_version: str) -> Iterator[Cluster]:
    with Cluster(kafka_version, brokers=4) as started:
        started.client.create_topic("orders", {0: [1, 2, 3], 1: [2, 3, 1]}, {"min.insync.replicas": 2})
        started.client.produce("orders", range(2), 9, record_bytes=50_000)
        for each in _LOST:
            started.brokers[each].kill()
            started.brokers[each].wipe()
        wait_until(lambda: all(each.isr == (1,) for each in described(started)), 60, what="broker 1 is the only one")
        yield started


def described(cluster: Cluster) -> list[Any]:
    return [*cluster.client.describe("orders", broker=1).values()]


def restore(cluster: Cluster) -> dict[str, Any]:
    return run_module(
        "redundancy",
        {
            "bootstrap_servers": [cluster.bootstrap()],
            "lost_brokers": [*_LOST],
            "apply": True,
            "throttle_bytes_per_second": 1_000_000,
            "request_timeout_ms": 3000,
            "stall_timeout_ms": 60_000,
        },
    )


def test_what_can_be_placed_is_placed_and_the_rest_is_named(cluster: Cluster) -> None:
    done = restore(cluster)
    assert done["failed"]
    assert done["summary"]["no_broker"] == 2, done
    assert all({1, 4} <= {*each.isr} for each in described(cluster))
    cluster.client.produce("orders", range(2), 5)

    again = restore(cluster)
    assert (again["changed"], again["summary"]["no_broker"]) == (False, 2), again

    for each in _LOST:
        cluster.brokers[each].start()
    wait_until(
        lambda: all(len(each.replicas) == 3 and {*each.isr} == {*each.replicas} for each in described(cluster)),
        60,
        what="the brokers that are back are in sync",
    )
    whole = restore(cluster)
    assert "failed" not in whole, whole
    assert whole["changed"] is False
