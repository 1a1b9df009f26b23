# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Start order: with ELR, the last known leader is elected when it returns, even with a shorter log (KIP-966)."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.plan import Status
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.start_order import (
    describe_advice,
    find_start_order,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.strategy import Strategy
from integration.on_call import OnCall
from lab import Cluster, scenarios, wait_until


@pytest.mark.wide
@pytest.mark.parametrize("last_leader_first", [True, False])
def test_the_last_leader_leads_in_either_order(cluster: Cluster, on_call: OnCall, last_leader_first: bool) -> None:
    """If the last leader starts first, it leads at once. If a follower starts first, the partition waits for it."""
    topic = f"trap-{last_leader_first}".lower()
    offline = scenarios.diverged(cluster, topic)
    last_leader, _shorter, longer = offline.replicas
    cluster.brokers[longer].kill()
    wait_until(lambda: longer in cluster.client.describe(topic)[0].offline_replicas, 60, what="two brokers are fenced")
    found = on_call.look(topic)
    first, second = find_start_order(found.without_leader, found.brokers)
    assert [first.broker_id, second.broker_id] == [last_leader, longer]
    assert "recovers none of them" in describe_advice(second)

    if not last_leader_first:
        cluster.brokers[longer].start()
        (left,) = on_call.plan(Strategy.BALANCED, topic).left_alone
        assert left.status is Status.REFUSED
        assert cluster.client.leader(topic) is None
    cluster.brokers[last_leader].start()
    wait_until(lambda: cluster.client.leader(topic) == last_leader, 60, what="the last leader leads")
    assert len(cluster.client.consume_all(topic, 0)) == 16, "nothing of common, longer and lost is missing"
