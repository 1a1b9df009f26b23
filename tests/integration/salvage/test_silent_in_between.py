# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A leader says what it holds, freezes, and is asked for its batches: its partitions fail, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.finding import SalvageStatus
from integration.salvage.disks import read_rows, records, salvage
from integration.salvage.oracle import Oracle, in_short
from integration.salvage.wreck import LAST_LEADER, PATIENT, PROPERTIES
from integration.strategies.outages import wait_isr
from lab import Broker, Cluster, wait_until

_FOLLOWER = {"frozen": 2, "steady": 3}
"""The broker that leads each topic after the outage."""
_COMMON, _LOST = 20, 40


class _FreezeBeforeBatches:
    """Progress: freezes a broker when all leaders have answered, before they are asked for batches."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.is_frozen = False

    def step(self, text: str, done: int | None = None, total: int | None = None) -> None:
        if text.startswith("reading headers of"):
            self.broker.freeze()
            self.is_frozen = True


@pytest.mark.wide
def test_the_partitions_of_a_leader_that_freezes_before_it_is_asked_for_batches(
    kafka_version: str, tmp_path: Path
) -> None:
    with Cluster(kafka_version, properties=PROPERTIES, controller_properties=PATIENT) as cluster:
        oracle = _lose_records(cluster)
        freezing = _FreezeBeforeBatches(cluster.brokers[2])
        try:
            done = salvage(cluster, tmp_path / "saved", topics={*_FOLLOWER}, progress=freezing)
        finally:
            cluster.brokers[2].thaw()
        assert freezing.is_frozen
        frozen, steady = done.findings
        assert (frozen.status, frozen.lost, frozen.saved) == (SalvageStatus.FAILED, (), None), frozen
        assert "hung" in frozen.reason
        assert (steady.status, steady.lost_records) == (SalvageStatus.SAVED, _LOST), steady
        assert in_short(records(read_rows(tmp_path / "saved"))) == in_short(oracle.of("lost", "steady"))

        wait_until(lambda: cluster.client.leader("frozen") == 2, 60, what="broker 2 leads again")
        salvage(cluster, tmp_path / "later", topics={"frozen"})
        assert in_short(records(read_rows(tmp_path / "later"))) == in_short(oracle.of("lost", "frozen"))


def _lose_records(cluster: Cluster) -> Oracle:
    """Let the last leader's disk alone have the newest records of each topic."""
    oracle = Oracle(cluster)
    for topic, follower in _FOLLOWER.items():
        cluster.client.create_topic(topic, {0: (LAST_LEADER, follower)}, {"min.insync.replicas": 1, "retention.ms": -1})
        oracle.write("common", topic, 0, _COMMON)
    for follower in _FOLLOWER.values():
        cluster.brokers[follower].freeze()
    wait_isr(cluster, [*_FOLLOWER], {LAST_LEADER}, seen_by=LAST_LEADER)
    for topic in _FOLLOWER:
        oracle.write("lost", topic, 0, _LOST)
    cluster.brokers[LAST_LEADER].kill()
    for follower in _FOLLOWER.values():
        cluster.brokers[follower].thaw()
    for topic, follower in _FOLLOWER.items():
        wait_until(lambda name=topic: cluster.client.leader(name) is None, 60, what="it has no leader")  # type: ignore[misc]
        cluster.client.elect_unclean(topic, [0])
        wait_until(
            lambda name=topic, broker=follower: cluster.client.leader(name) == broker,  # type: ignore[misc]
            60,
            what=f"broker {follower} leads",
        )
    return oracle
