# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which broker to start first, and the controller's reaction."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.controller_model import PredictedLeader, Rule
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import (
    NO_LEADER,
    Broker,
    BrokerState,
    PartitionState,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.start_order import (
    StartAdvice,
    describe_advice,
    find_start_order,
)
from unit.recovery.wreckage import an_offline_partition

NOBODY = PredictedLeader(NO_LEADER, Rule.NOBODY)
# As measured on 4.3.1 and 4.4.0: all three replicas killed, broker 1 the last leader, 3 alone up again.
ONLY_THREE_IS_UP = an_offline_partition(elr=(1, 2), last_known_elr=(1,), offline=(1, 2))


def a_fenced_broker(broker_id: int) -> Broker:
    return Broker(broker_id, None, None, None, True, BrokerState.FENCED, "fenced")


FENCED = [a_fenced_broker(each) for each in range(1, 5)]


def order(*partitions: PartitionState) -> list[int]:
    return [each.broker_id for each in find_start_order(partitions, FENCED)]


def advice(*partitions: PartitionState) -> dict[int, StartAdvice]:
    return {each.broker_id: each for each in find_start_order(partitions, FENCED)}


def elected(found: StartAdvice) -> list[tuple[PredictedLeader, PredictedLeader]]:
    """Return the elections of each partition after a clean and after an unclean stop."""
    return [(each.after_clean_stop, each.after_unclean_stop) for each in found.partitions]


def test_the_last_leader_comes_first() -> None:
    assert order(ONLY_THREE_IS_UP) == [1, 2]
    assert order(an_offline_partition(elr=(1, 2), last_known_elr=(2,), offline=(1, 2))) == [2, 1]


_ONE_OF_TWO = ONLY_THREE_IS_UP
_OTHER_CAME_BACK_UNCLEAN = an_offline_partition(elr=(1,), last_known_elr=(1,), offline=(1,))
_LAST_LEADER_IS_BACK = an_offline_partition(elr=(2,), last_known_elr=(1,), offline=(2,))


@pytest.mark.parametrize(
    ("partition", "broker_id", "after_unclean_stop"),
    [
        (_ONE_OF_TWO, 1, NOBODY),
        (_OTHER_CAME_BACK_UNCLEAN, 1, PredictedLeader(1, Rule.LAST_KNOWN_LEADER)),
        (_LAST_LEADER_IS_BACK, 2, PredictedLeader(1, Rule.LAST_KNOWN_LEADER)),
    ],
    ids=["one of two ELR members", "the other member came back unclean", "the last leader is back already"],
)
def test_the_election_depends_on_how_an_elr_member_stopped(
    partition: PartitionState, broker_id: int, after_unclean_stop: PredictedLeader
) -> None:
    assert elected(advice(partition)[broker_id]) == [(PredictedLeader(broker_id, Rule.IN_SYNC), after_unclean_stop)]


def test_partitions_that_need_a_clean_stop_are_counted() -> None:
    found = advice(_ONE_OF_TWO)[1]
    assert (found.always_back, found.back_after_clean_stop) == (0, 1)
    found = advice(_OTHER_CAME_BACK_UNCLEAN)[1]
    assert (found.always_back, found.only_eligible_for) == (1, 1)


@pytest.mark.parametrize(
    ("partition", "broker_id", "doubtful", "text"),
    [
        (_LAST_LEADER_IS_BACK, 2, (1,), "broker 1 may lack records: stop it before broker 2 starts"),
        (
            an_offline_partition(elr=(), last_known_elr=(1,), offline=(1, 2)),
            1,
            (1,),
            "if another replica holds more than it did then, leave it down",
        ),
        (_OTHER_CAME_BACK_UNCLEAN, 1, (), "start it with its old disk only"),
        (_ONE_OF_TWO, 2, (), "start it with its old disk only"),
    ],
    ids=["the last leader is up", "the last leader is down again", "it has not come back yet", "another is eligible"],
)
def test_a_last_leader_that_left_the_elr_is_named(
    partition: PartitionState, broker_id: int, doubtful: tuple[int, ...], text: str
) -> None:
    found = advice(partition)[broker_id]
    assert found.doubtful_leaders == doubtful
    assert text in describe_advice(found)


def test_without_elr_the_last_isr_member_is_elected_however_it_stopped() -> None:
    found = advice(an_offline_partition(isr=(1,), elr=None, last_known_elr=None, offline=(1, 3)))
    assert list(found) == [1, 3]
    assert elected(found[1]) == [(PredictedLeader(1, Rule.IN_SYNC), PredictedLeader(1, Rule.IN_SYNC))]
    assert elected(found[3]) == [(NOBODY, NOBODY)]


def test_brokers_rank_by_leaderships_then_eligibility_then_replicas_then_id() -> None:
    assert order(
        an_offline_partition(partition=0, replicas=(1, 2, 3, 4), elr=(2, 3), last_known_elr=(), offline=(1, 2, 3, 4)),
        an_offline_partition(partition=1, replicas=(1, 4), elr=(4,), last_known_elr=(4,), offline=(1, 4)),
        an_offline_partition(partition=2, replicas=(1, 2), elr=(2,), last_known_elr=(), offline=(1, 2)),
    ) == [4, 2, 3, 1]


def test_partitions_that_get_a_leader_anyway_need_no_broker() -> None:
    assert order(an_offline_partition(elr=(1, 2), last_known_elr=(1,), offline=(1,))) == []
    assert order(an_offline_partition(elr=(), last_known_elr=(3,), offline=(1, 2))) == []


def test_partitions_are_listed_up_to_the_limit_and_counted_beyond_it() -> None:
    many = [an_offline_partition(partition=each, isr=(1,), elr=None, offline=(1,)) for each in range(30)]
    (only,) = find_start_order(many, FENCED, most_partitions=2)
    assert [each.topic_partition.partition for each in only.partitions] == [0, 1]
    assert (only.replica_of, only.always_back) == (30, 30)


def test_advice_as_text() -> None:
    found = advice(ONLY_THREE_IS_UP, an_offline_partition(partition=1, isr=(1,), elr=(), offline=(1, 4)))
    assert describe_advice(found[1]) == (
        "broker 1: last leader of 2, in the ISR or ELR of 2, alone for 1, replica of 2 partitions; "
        "1 partition back as soon as it returns, even if another replica holds more; "
        "1 partition back only if it was stopped cleanly: otherwise it leaves the ELR; "
        "start it with its old disk only: it may lead with an empty one, and then the others delete all records"
    )


def test_a_broker_whose_return_recovers_nothing() -> None:
    found = advice(an_offline_partition(elr=(), last_known_elr=(), offline=(1, 2)))
    assert describe_advice(found[1]) == (
        "broker 1: last leader of 0, in the ISR or ELR of 0, replica of 1 partition; "
        "its return recovers none of them: the controller does not elect it, but its logs can then be compared"
    )


def test_an_unfenced_broker_has_lost_a_log_dir_and_an_unknown_broker_is_unregistered() -> None:
    online = Broker(1, "kafka1", 9092, None, False, BrokerState.ONLINE)
    first, second = find_start_order([ONLY_THREE_IS_UP], [online])
    assert first.is_running
    assert "broker 1 runs, and replicas on it are offline: repair the disk" in describe_advice(first)
    assert "the controller does not know it" in describe_advice(second)


members = st.lists(st.integers(1, 4), unique=True, max_size=3)


@given(
    st.lists(
        st.builds(
            an_offline_partition,
            replicas=st.permutations(range(1, 5)),
            isr=members,
            elr=st.none() | members,
            last_known_elr=st.none() | members,
            offline=members,
        )
    )
)
def test_every_missing_broker_is_listed_once_with_plausible_counts(
    partitions: list[PartitionState],
) -> None:
    found = find_start_order(partitions, FENCED)
    away = {each for partition in partitions for each in partition.offline_replicas}
    assert len(found) == len({each.broker_id for each in found})
    assert {each.broker_id for each in found} <= away
    for each in found:
        assert each.only_eligible_for <= each.eligible_for <= each.replica_of <= len(partitions)
        assert each.always_back + each.back_after_clean_stop <= each.replica_of
        assert describe_advice(each)
