# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A share group gets a higher start offset back only if it has done no record after it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.decide import SavedCommits
from ansible_collections.kafkaops.recovery.plugins.module_utils._groups.share import ShareStates, Stay, share_states
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.held_replicas import OffsetAnswer
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.settings import Address
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.topics import TopicRecords
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import PartitionState, TopicPartition
from unit.fakes.cluster import FakeCluster
from unit.kafka.test_share_state import PLACE, snapshot, update

STATE = TopicPartition("__share_group_state", 0)
LEADER = 1
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
        ([snapshot(0, (0, 2, 2)), update(-1, (7, 7, 2))], Stay.DONE_SINCE),
        ([snapshot(0, (0, 2, 2)), update(-1, (7, 7, 0))], None),
        ([snapshot(0, (0, 6, 2))], Stay.IS_THERE),
        ([snapshot(9)], Stay.IS_THERE),
        ([update(-1, (0, 2, 2))], Stay.UNKNOWN),
        ([], Stay.UNKNOWN),
    ],
)
def test_it_stays_if_it_would_get_done_records_again(records: Sequence[Record], expected: Stay | None) -> None:
    assert states_of(records).why_it_stays(PLACE, 7) is expected


def test_it_stays_if_its_state_cannot_be_read() -> None:
    without_leader = states_of([snapshot(0)], leader=-1)
    assert without_leader.why_it_stays(PLACE, 7) is Stay.UNKNOWN
    assert without_leader.has(PLACE) is None
    assert states_of([snapshot(0)]).has(PLACE) is True
    assert states_of([]).has(PLACE) is False


def test_saved_changes_follow_what_both_logs_have() -> None:
    """The log has offsets 10 and 11 in common with the dead broker's; 12 was written after the election."""
    states = states_of([snapshot(0), update(-1, (0, 2, 2)), update(-1, (3, 3, 2))])
    salvage = SavedCommits("id", first_lost={STATE: 12}, share_log={0: [update(-1, (3, 6, 2))]})
    state = states.saved(salvage)[PLACE]
    assert state is not None
    assert state.next_record() == 7
    assert states.saved(SavedCommits("id", first_lost={STATE: 12})) == {}


def test_saved_changes_without_a_state_before_are_not_known() -> None:
    salvage = SavedCommits("id", first_lost={STATE: 10}, share_log={0: [update(-1, (3, 6, 2))]})
    assert states_of([snapshot(0)]).saved(salvage) == {PLACE: None}
