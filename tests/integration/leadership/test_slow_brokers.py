# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A broker that applies metadata late: if it were elected, it would not lead for that time, and nobody else would."""

from __future__ import annotations

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.moves import MoveStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition
from lab import Cluster
from lab.leadership import Operator, wait_in_sync
from lab.slow_metadata import SlowMetadata

DRAINED, SLOW = 1, 3
LARGE, SMALL = TopicPartition("large", 0), TopicPartition("small", 0)


@pytest.mark.wide
@pytest.mark.on_every_version
def test_leaders_neither_move_nor_return_to_it(cluster: Cluster, operator: Operator) -> None:
    cluster.client.create_topic("large", {0: (DRAINED, SLOW, 2)})
    cluster.client.create_topic("small", {0: (DRAINED, SLOW)})
    cluster.client.create_topic("own", {0: (SLOW, 2)})
    slow = SlowMetadata(cluster.brokers[SLOW])
    slow.prepare()
    for topic in ("large", "small", "own"):
        wait_in_sync(cluster, topic)
    operator.list(DRAINED)
    with slow.applied_late():
        drained = operator.move_leaders(away_from=DRAINED).moves
        returned = operator.move_leaders(back_to=SLOW).moves
        led = {each: cluster.client.describe(each, broker=2)[0].leader for each in ("large", "small")}
        assert led == {"large": 2, "small": DRAINED}
        for each in led:
            cluster.client.produce(each, 0, 1)
    assert (drained[LARGE].status, drained[LARGE].leader_after) == (MoveStatus.MOVED, 2), drained
    assert (drained[SMALL].status, drained[SMALL].leader_after) == (MoveStatus.ONLY_IN_SYNC, DRAINED), drained
    assert "broker 3 applies metadata late" in drained[SMALL].reason
    assert {each.status for each in returned.values()} == {MoveStatus.LAGGING}, returned
