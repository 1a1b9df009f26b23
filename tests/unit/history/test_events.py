# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which changes of a partition were unclean elections, also if their records do not say so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._history.events import Event, make_history
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
    {**_FIELDS, "leader": 1, "isr": [1, 2], "replicas": [1, 2, 3], "leader_recovery_state": 0},
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
