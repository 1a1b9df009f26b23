# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A broker that applies metadata late gets no copies: it would not begin until it knows of them."""

from __future__ import annotations

import pytest

from lab import Cluster, scenarios, wait_until
from lab.module_process import run_module
from lab.slow_metadata import LATE_MS, SlowMetadata

_LOST, _SLOW = 2, 4


@pytest.mark.wide
def test_no_replica_is_placed_on_it(kafka_version: str) -> None:
    with Cluster(kafka_version, brokers=4) as cluster:
        cluster.client.create_topic("orders", {0: [1, 2, 3]})
        slow = SlowMetadata(cluster.brokers[_SLOW])
        slow.prepare()
        wanted = {"bootstrap_servers": [cluster.bootstrap()], "lost_brokers": [_LOST]}
        with slow.applied_late():
            cluster.brokers[_LOST].kill()
            scenarios.wait_isr(cluster, "orders", {1, 3}, seen_by=1)
            late = run_module("redundancy", wanted)
        (left,) = late["partitions"]
        assert left["status"] == "no_broker"
        assert f"broker {_SLOW}: it applies metadata late" in left["reason"], left

        def placed() -> bool:
            (found,) = run_module("redundancy", wanted)["partitions"]
            return bool((found["status"], found["adding"]) == ("would_restore", [_SLOW]))

        wait_until(placed, 2 * LATE_MS / 1000, what="it has applied the metadata, and gets the replica")
