# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host that was swapped and kept only the last segments leads again once it holds the history (KIP-491)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.decide import OrderStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils._leadership.moves import MoveStatus
from lab import Cluster
from lab.leadership import Operator, leaders, orders, outcome, wait_in_sync
from lab.node import Broker
from lab.waiting import wait_until

TOPIC = "swapped"
_SEGMENT_BYTES = 1 << 20
_BATCHES, _RECORDS, _RECORD_BYTES = 6, 300, 2_000
ORIGINAL, DRAINED = (1, 2, 3), (2, 3, 1)


def _directory(broker: Broker, topic: str = TOPIC) -> Path:
    (found,) = (each / f"{topic}-0" for each in broker.data_dirs if (each / f"{topic}-0").is_dir())
    return found


def _keep_last_segment(directory: Path) -> int:
    """Delete all files of the segments before the last one. Returns the offset at which the log begins then."""
    *earlier, last = sorted(directory.glob("*.log"))
    assert earlier
    for segment in earlier:
        for file in directory.glob(f"{segment.stem}.*"):
            file.unlink()
    return int(last.stem)


def _stop_drained(cluster: Cluster, operator: Operator, topic: str) -> Broker:
    """Write several segments, drain broker 1, and stop it."""
    cluster.client.create_topic(topic, {0: ORIGINAL}, {"segment.bytes": _SEGMENT_BYTES})
    for _batch in range(_BATCHES):
        cluster.client.produce(topic, 0, _RECORDS, record_bytes=_RECORD_BYTES)
    operator.list(1)
    operator.move_leaders(away_from=1)
    swapped = cluster.brokers[1]
    swapped.stop()
    return swapped


@pytest.mark.wide
def test_a_host_with_the_last_segments_only_does_not_lead_again(cluster: Cluster, operator: Operator) -> None:
    swapped = _stop_drained(cluster, operator, TOPIC)
    start = _keep_last_segment(_directory(swapped))
    swapped.start()
    wait_in_sync(cluster, TOPIC)

    found = outcome(operator.unlist(1), TOPIC)
    assert found.status is OrderStatus.LEFT_ALONE
    assert f"the log on broker 1, which would be preferred again, begins at offset {start}" in found.reason
    assert orders(cluster, TOPIC)[0] == DRAINED
    operator.move_leaders(back_to=1)
    assert leaders(cluster, TOPIC)[0] == 2

    # As the reason says.
    swapped.stop()
    shutil.rmtree(_directory(swapped))
    swapped.start()
    wait_in_sync(cluster, TOPIC)
    assert outcome(operator.restore(), TOPIC).status is OrderStatus.RESTORED
    assert orders(cluster, TOPIC)[0] == ORIGINAL
    operator.move_leaders(back_to=1)
    assert leaders(cluster, TOPIC)[0] == 1
    assert len(cluster.client.consume_all(TOPIC, 0)) == _BATCHES * _RECORDS


@pytest.mark.wide
def test_its_order_is_not_restored_while_it_is_down(cluster: Cluster, operator: Operator) -> None:
    topic = "swapped-while-down"
    swapped = _stop_drained(cluster, operator, topic)
    assert outcome(operator.unlist(1), topic).status is OrderStatus.LEFT_ALONE
    assert orders(cluster, topic)[0] == DRAINED
    _keep_last_segment(_directory(swapped, topic))
    swapped.start()
    wait_in_sync(cluster, topic)
    assert outcome(operator.restore(), topic).status is OrderStatus.LEFT_ALONE
    assert orders(cluster, topic)[0] == DRAINED


@pytest.mark.wide
def test_it_does_not_lead_again_either_if_its_history_is_lost_after_the_restore(
    cluster: Cluster, operator: Operator
) -> None:
    topic = "swapped-after"
    swapped = _stop_drained(cluster, operator, topic)
    swapped.start()
    wait_in_sync(cluster, topic)
    assert outcome(operator.unlist(1), topic).status is OrderStatus.RESTORED
    swapped.stop()
    start = _keep_last_segment(_directory(swapped, topic))
    swapped.start()
    wait_in_sync(cluster, topic)

    moves = operator.move_leaders(back_to=1).moves.values()
    (move,) = (each for each in moves if each.topic == topic)
    assert move.status is MoveStatus.FAILED
    assert f"the log on broker 1, which would be preferred again, begins at offset {start}" in move.reason
    assert leaders(cluster, topic)[0] == 2
    assert len(cluster.client.consume_all(topic, 0)) == _BATCHES * _RECORDS


@pytest.mark.wide
def test_a_broker_whose_retention_runs_before_the_leaders_leads_again(kafka_version: str) -> None:
    """Each broker deletes expired segments at its own time, and a follower may be the first."""
    rare, often = {"log.retention.check.interval.ms": 600_000}, {"log.retention.check.interval.ms": 500}
    with Cluster(
        kafka_version, properties={**rare, "log.initial.task.delay.ms": 500}, broker_properties={1: often}
    ) as c:
        c.client.create_topic(TOPIC, {0: ORIGINAL}, {"segment.bytes": _SEGMENT_BYTES, "retention.ms": 1000})
        operator = Operator(c)
        operator.list(1)
        operator.move_leaders(away_from=1)
        for _batch in range(_BATCHES):
            c.client.produce(TOPIC, 0, _RECORDS, record_bytes=_RECORD_BYTES)
        wait_until(lambda: _first_segment(c.brokers[1]) > 0, 30, what="broker 1 has deleted its expired segments")
        assert _first_segment(c.brokers[2]) == 0

        assert outcome(operator.unlist(1), TOPIC).status is OrderStatus.RESTORED
        operator.move_leaders(back_to=1)
        assert leaders(c, TOPIC)[0] == 1


def _first_segment(broker: Broker) -> int:
    return min(int(each.stem) for each in _directory(broker).glob("*.log"))
