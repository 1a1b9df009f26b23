# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Groups and transactions that nobody lists, because their coordinator or their leader is down, are not called well."""

from __future__ import annotations

import pytest

from integration.groups.lost_tails import ONLINE, commit
from lab import Cluster, wait_until
from lab.module_process import run_module

_OFFSETS = "__consumer_offsets"
_ONE_COPY = {"offsets.topic.num.partitions": 2, "offsets.topic.replication.factor": 1}


@pytest.mark.wide
def test_a_look_says_which_groups_and_partitions_it_did_not_see(kafka_version: str) -> None:
    with Cluster(kafka_version, brokers=2, properties=_ONE_COPY) as cluster:
        cluster.client.create_topic(ONLINE, {0: [1], 1: [2]})
        cluster.client.produce(ONLINE, [0, 1], 9)
        for number in range(6):
            commit(cluster, f"group {number}", 5)
        connection = {"bootstrap_servers": [cluster.bootstrap()]}
        assert run_module("group_recovery", connection)["unknown"] == []

        cluster.brokers[2].kill()
        wait_until(lambda: cluster.client.leader(ONLINE, 1) is None, 60, what="its partitions are offline")
        lost = [number for number, state in cluster.client.describe(_OFFSETS).items() if state.leader is None]
        assert len(lost) == 1, "the groups have two coordinators"
        look = run_module("group_recovery", connection)
        reasons = [each["reason"] for each in look["unknown"]]
        assert f"the groups of {_OFFSETS}-{lost[0]}, 1 of 2 partitions: no leader is up" in reasons
        assert any(each.startswith("open transactions in ") and f"{ONLINE}-1" in each for each in reasons)
        assert "not all groups and transactions could be looked at" in look["msg"]
