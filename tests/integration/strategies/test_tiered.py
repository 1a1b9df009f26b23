# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A tiered topic: a replica that was rebuilt from the tier after a lost disk does not count as complete."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.candidate import Flag
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Strategy
from integration.on_call import OnCall
from lab.leadership import leaders, orders
from lab.tiered import create_topic, delete_tiered_segments, local_start, tiered_cluster, wait_for_tier
from lab.waiting import wait_until

pytestmark = pytest.mark.wide

TOPIC = "tiered"
_SEGMENTS = 6


def test_a_replica_that_was_rebuilt_from_the_tier(kafka_version: str, tmp_path: Path) -> None:
    """Prepare: broker 2 is rebuilt, broker 3 has everything, the replica list has broker 2 first, and broker 1 dies."""
    tier = tmp_path / "tier"
    tier.mkdir()
    with tiered_cluster(kafka_version, tier) as cluster:
        create_topic(cluster, TOPIC)
        written = [
            value for number in range(_SEGMENTS) for value in cluster.client.produce(TOPIC, 0, 10, label=f"s{number}")
        ]
        wait_for_tier(tier, _SEGMENTS - 1)
        one, two, three = (cluster.brokers[each] for each in (1, 2, 3))
        three.stop()
        delete_tiered_segments(cluster, TOPIC)
        two.stop()
        two.wipe()
        for broker in (two, three):
            broker.start()
        wait_until(
            lambda: {*cluster.client.describe(TOPIC, broker=1)[0].isr} == {1, 2, 3}, 90, what="all replicas are in sync"
        )
        # Their logs have the same end, and only broker 1 has more records.
        for broker in (two, three):
            broker.freeze()
        wait_until(lambda: cluster.client.describe(TOPIC, broker=1)[0].isr == (1,), 60, what="broker 1 is alone")
        cluster.client.produce(TOPIC, 0, 1, label="lost")
        one.kill()
        for broker in (two, three):
            broker.thaw()
        for number in (2, 3):
            wait_until(
                lambda each=number: cluster.client.describe(TOPIC, broker=each)[0].leader is None,  # type: ignore[misc]
                60,
                what="the partition has no leader",
            )
        starts = {each: local_start(cluster, TOPIC, each) for each in (2, 3)}
        assert starts[2] > starts[3] == 0

        on_call = OnCall(cluster, tmp_path)
        (election,) = on_call.plan(Strategy.AGGRESSIVE, TOPIC).elections
        assert election.replicas == (1, 2, 3)
        assert election.designated_leader == 3
        assert [each.broker_id for each in election.candidates] == [3, 2]
        assert {each.flags for each in election.candidates} == {(Flag.LOCAL_ONLY,)}
        assert {each.broker_id: each.local_log_start_offset for each in election.candidates} == starts
        assert {each.log_start_offset for each in election.candidates} == {0}
        assert "the tier holds offsets 0.." in election.reason, election.reason
        assert "but its own disk has more" in election.reason
        assert f"the own disk of broker 2 has offsets from {starts[2]} on only" in election.losses[1].explanation
        tiered = max(each.last_tiered_offset or -1 for each in election.candidates)
        assert starts[2] - 1 <= tiered < len(written)

        assert {each.status for each in on_call.carry_out(on_call.plan(Strategy.AGGRESSIVE, TOPIC))} == {
            Status.RECOVERED
        }
        assert leaders(cluster, TOPIC) == {0: 3}
        assert orders(cluster, TOPIC) == {0: (1, 2, 3)}
        assert cluster.client.consume_all(TOPIC, 0) == written
