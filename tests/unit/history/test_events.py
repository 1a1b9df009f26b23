# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which records of the log matter, and which changes were unclean elections, also if their records do not say so."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._history.events import Event, EventReader, make_history
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.messages import uuid_text
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.metadata_log import MetadataBatch
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.metadata_records import RecordType
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import TopicPartition

ORDERS = TopicPartition("orders", 0)
UNCHANGED, RECOVERING = -2, 1
_FIELDS: dict[str, Any] = {
    "leader": UNCHANGED,
    "isr": None,
    "eligible_leader_replicas": None,
    "replicas": None,
    "leader_recovery_state": -1,
}
CREATED = Event(
    1,
    RecordType.PARTITION.value,
    ORDERS,
    {**_FIELDS, "leader": 1, "isr": [1, 2], "replicas": [1, 2, 3], "leader_recovery_state": 0, "leader_epoch": 3},
)


def change(at_ms: int, **fields: Any) -> Event:
    return Event(at_ms, RecordType.PARTITION_CHANGE.value, ORDERS, _FIELDS | fields)


@pytest.mark.parametrize(
    ("changes", "unclean"),
    [
        pytest.param([change(2, leader=2, isr=[2])], [False], id="a member of the ISR"),
        pytest.param([change(2, isr=[1])], [False], id="no election"),
        pytest.param([change(2, leader=-1), change(3, leader=1)], [False, False], id="the last leader is back"),
        pytest.param(
            [change(2, leader=-1, isr=[], eligible_leader_replicas=[1, 2]), change(3, leader=2, isr=[2])],
            [False, False],
            id="an eligible leader replica",
        ),
        pytest.param(
            [
                change(2, leader=-1),
                change(3, leader=3, isr=[3], leader_recovery_state=RECOVERING),
                change(4, leader=-1),
                change(5, leader=2, isr=[2]),
            ],
            [False, True, False, True],
            id="a second one while the first leader recovers, which changes no recovery state",
        ),
    ],
)
def test_a_leader_that_was_not_in_sync_was_elected_unclean(changes: Sequence[Event], unclean: list[bool]) -> None:
    moments = make_history([CREATED, *changes], 1, 9).partitions[ORDERS].moments
    assert [each.is_unclean for each in moments[1:]] == unclean


def test_each_record_that_names_a_leader_begins_an_epoch() -> None:
    changes = [change(2, isr=[1]), change(3, leader=1), change(4, leader=-1)]
    moments = make_history([CREATED, *changes], 1, 9).partitions[ORDERS].moments
    assert [each.leader_epoch for each in moments] == [3, 3, 4, 5]
    # Without the state before, no record says the epoch.
    assert [each.leader_epoch for each in make_history(changes, 1, 9).partitions[ORDERS].moments] == [None] * 3


def test_records_that_say_nothing_of_these_partitions_are_skipped_and_unknown_ones_counted() -> None:
    topic, other = uuid.UUID(int=7), uuid.UUID(int=8)

    def of(topic_id: uuid.UUID, partition: int, version: int = 0) -> bytes:
        lost_its_leader = b"\x01" + b"\x01\x04" + (-1).to_bytes(4, "big", signed=True)
        return bytes((1, 5, version)) + partition.to_bytes(4, "big") + topic_id.bytes + lost_its_leader

    no_op, newer_no_op, unknown_type = b"\x01\x14\x00\x00", b"\x01\x14\x01\x00", b"\x01\x7f\x00\x00"
    newer_topic = b"\x01\x02\x01" + b"\x07orders" + topic.bytes + b"\x00"
    values = (no_op, of(other, 0), of(topic, 1), of(other, 0, version=9), of(topic, 0))
    reader = EventReader({ORDERS: uuid_text(topic)})
    (event,) = reader.events([MetadataBatch(0, 5, 17, values)])
    assert (event.at_ms, event.subject, event.fields["leader"]) == (17, ORDERS, -1)
    assert reader.not_decoded == 0
    assert not reader.events([MetadataBatch(5, 8, 18, (newer_no_op, unknown_type, of(topic, 0, version=9)))])
    assert reader.not_decoded == 2
    # It may be the creation of one of these topics, which ends the configs of an older one.
    assert not reader.events([MetadataBatch(8, 9, 19, (newer_topic,))])
    assert reader.not_decoded == 3
