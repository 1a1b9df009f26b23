# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A share group gets a higher start offset back only if it has done no record after it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.share import IS_THERE, ShareStates, share_states
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.held_replicas import OffsetAnswer
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.share_state import ShareState
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.topics import TopicRecords
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import PartitionState, TopicPartition
from unit.fakes.cluster import FakeCluster
from unit.kafka.test_share_state import PLACE, snapshot, update

STATE = TopicPartition("__share_group_state", 0)
LEADER = 1
_UNREAD = "what it has done since the election is not known: its state cannot be read"
Record = tuple[bytes | None, bytes | None]


def states_of(records: Sequence[Record], *, leader: int = LEADER) -> ShareStates:
    """Return the reader of one partition with these records, the first one at offset 10."""
    cluster: Any = FakeCluster({}, {LEADER}, {LEADER}, {})

    def read(_leader: Address, _topic_id: str, offset: int, partition: int) -> TopicRecords:
        assert (offset, partition) == (10, 0)
        return TopicRecords(tuple(enumerate(records, 10)), 10 + len(records))

    cluster.answer(
        log_start_offsets=lambda _address, names: {each: [OffsetAnswer(0, 10, 1)] for each in names}, read_records=read
    )
    own = PartitionState(*STATE, "A" * 22, leader, 3, (leader,), (leader,), (), (), ())
    return share_states(cluster, cluster.describe_cluster(), [own, own._replace(topic="orders")])


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([snapshot(0, (0, 2, 2))], None),
        ([snapshot(3)], None),
        ([snapshot(0, (0, 2, 2)), update(-1, (4, 4, 2))], None),
        (
            [snapshot(0, (0, 2, 2)), update(-1, (7, 7, 2))],
            "it has done records after that since the election, and would get them again",
        ),
        ([snapshot(0, (0, 2, 2)), update(-1, (7, 7, 0))], None),
        ([snapshot(0, (0, 6, 2))], IS_THERE.what),
        ([snapshot(9)], IS_THERE.what),
        ([update(-1, (0, 2, 2))], _UNREAD),
        ([], _UNREAD),
    ],
)
def test_it_stays_if_it_would_get_done_records_again(records: Sequence[Record], expected: str | None) -> None:
    since = states_of(records).since(PLACE, 7)
    assert (since and since.what) == expected
    assert since is None or since.is_known == (expected != _UNREAD)


@pytest.mark.parametrize(
    ("records", "is_reset"),
    [
        ([snapshot(0), snapshot(3)], False),
        ([snapshot(0), snapshot(3, epoch=3)], True),
        ([snapshot(0), (snapshot(0)[0], None), snapshot(3)], True),
        ([(snapshot(0)[0], None), snapshot(3)], False),
    ],
)
def test_it_stays_if_somebody_has_reset_it_since(records: Sequence[Record], *, is_reset: bool) -> None:
    """The salvage's records begin at offset 11. An older deletion is of both logs."""
    saved = ShareState(7, epoch=2)
    since = states_of(records).since(PLACE, 7, saved, {STATE: 11})
    assert (since is not None) == is_reset
    assert since is None or since.what == "somebody has reset or deleted its start offset since the election"


def test_it_stays_if_its_state_cannot_be_read() -> None:
    without_leader = states_of([snapshot(0)], leader=-1)
    assert getattr(without_leader.since(PLACE, 7), "what", None) == _UNREAD
    assert without_leader.has(PLACE) is None
    assert states_of([snapshot(0)]).has(PLACE) is True
    assert states_of([]).has(PLACE) is False


def test_saved_changes_follow_what_both_logs_have() -> None:
    """The log has offsets 10 and 11 in common with the dead broker's; 12 was written after the election."""
    states = states_of([snapshot(0), update(-1, (0, 2, 2)), update(-1, (3, 3, 2))])
    state = states.saved({0: [update(-1, (3, 6, 2))]}, {STATE: 12})[PLACE]
    assert state is not None
    assert state.next_record() == 7
    assert states.saved({}, {STATE: 12}) == {}


def test_saved_changes_without_a_state_before_are_not_known() -> None:
    assert states_of([snapshot(0)]).saved({0: [update(-1, (3, 6, 2))]}, {STATE: 10}) == {PLACE: None}
