# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The loss forecast in simple cases, and in words."""

from __future__ import annotations

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import PartitionState
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.candidate import Candidate
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.expected_loss import (
    describe_forecast,
    describe_offsets,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.forecast import (
    Forecast,
    explain_limit_refusal,
    forecast_losses,
)
from unit.recovery.wreckage import a_candidate, an_offline_partition

# Broker 1 led last, in epoch 0, and is dead.
ONE_IS_DEAD = an_offline_partition(elr=(1,), last_known_elr=(1,), leader_epoch=1)


def forecasts(
    *candidates: Candidate, silent: tuple[int, ...] = (), partition: PartitionState = ONE_IS_DEAD
) -> list[Forecast]:
    return list(forecast_losses(partition, candidates, silent))


def words(*candidates: Candidate, silent: tuple[int, ...] = (), partition: PartitionState = ONE_IS_DEAD) -> list[str]:
    return [describe_forecast(each) for each in forecasts(*candidates, silent=silent, partition=partition)]


def test_a_shorter_log_loses_what_the_longer_one_holds_beyond_it() -> None:
    longer, shorter = forecasts(a_candidate(3, (0, 150)), a_candidate(2, (0, 100)))
    assert (longer.at_least, longer.at_most, longer.more_than_first) == (0, 0, 0)
    assert (shorter.at_least, shorter.at_most, shorter.more_than_first) == (50, 50, 50)
    assert shorter.lost == (EpochRange(0, 100, 150),)
    assert shorter.against[0].divergence_offset == 100
    assert words(a_candidate(3, (0, 150)), a_candidate(2, (0, 100))) == [
        "electing 3 loses nothing that replica 2 holds",
        "electing 2 loses offsets 100..149 (50 records) that replica 3 holds",
    ]


def test_several_logs_are_named_together() -> None:
    best, *_others = words(a_candidate(3, (0, 150)), a_candidate(2, (0, 100)), a_candidate(4, (0, 50)))
    assert best == "electing 3 loses nothing that replicas 2, 4 hold"


def test_a_dead_last_leader_held_at_least_what_its_last_followers_hold() -> None:
    assert words(a_candidate(3, (0, 150)), a_candidate(2, (0, 100)), silent=(1,)) == [
        "electing 3 loses nothing that replica 2 holds; against silent replica 1: an unknown number of records",
        "electing 2 loses offsets 100..149 (50 records) that replica 3 holds; "
        "against silent replica 1: at least offsets 100..149 (50 records), upper bound unknown",
    ]


def test_the_last_leader_is_unknown_if_others_led_since_the_candidates_wrote() -> None:
    partition = an_offline_partition(isr=(1,), elr=None, last_known_elr=None, leader_epoch=7)
    (only,) = forecasts(a_candidate(3, (0, 150)), silent=(1,), partition=partition)
    assert only.against[0].lost is None
    assert (only.at_least, only.at_most) == (0, None)
    assert (
        describe_forecast(only)
        == "electing 3 cannot be compared with another replica; against silent replica 1: unknown"
    )


def test_a_silent_replica_that_was_not_the_last_leader_is_unknown() -> None:
    (only,) = forecasts(a_candidate(3, (0, 150)), silent=(1, 2))
    assert [each.lost for each in only.against] == [(), None]


def test_a_silent_follower_of_the_only_leader_ever_holds_no_more_than_that_leader() -> None:
    logs = a_candidate(1, (0, 150)), a_candidate(2, (0, 100))
    leader, follower = forecasts(*logs, silent=(3,))
    assert (leader.at_least, leader.at_most) == (0, 0)
    assert (follower.at_least, follower.at_most) == (50, 50)
    assert describe_forecast(leader) == (
        "electing 1 loses nothing that replica 2 holds; "
        "against silent replica 3: it holds nothing that replica 1, the only leader ever, does not hold"
    )
    for partition in (
        an_offline_partition(elr=(1,), last_known_elr=(1,), leader_epoch=2),  # others may have led
        an_offline_partition(last_known_elr=(1,), leader_epoch=1),  # it stopped uncleanly: its disk may lack something
        an_offline_partition(isr=(1,), elr=None, last_known_elr=None, leader_epoch=1),  # unknown without ELR
    ):
        assert [each.at_most for each in forecasts(*logs, silent=(3,), partition=partition)] == [None, None]
    later = a_candidate(1, (0, 150), log_start_offset=10)  # what it had before that is reported by nobody
    assert [each.at_most for each in forecasts(later, silent=(3,))] == [None]


def test_an_only_leader_that_lacks_records_bounds_no_silent_replica() -> None:
    """Its log was emptied or replaced: then it gives no bound for silent replicas."""
    for lacking in (a_candidate(1), a_candidate(1, (0, 5))):
        found = forecasts(a_candidate(3, (0, 10)), lacking, silent=(2,))
        assert [(each.at_least, each.at_most) for each in found] == [(0, None), (10 - lacking.log_end_offset, None)]
    unlike = forecasts(a_candidate(1, (0, 10)), a_candidate(3, log_end_offset=10), silent=(2,))
    assert [each.at_most for each in unlike] == [None, None]


def test_the_same_offsets_in_another_epoch_are_other_records() -> None:
    newer, older = forecasts(a_candidate(3, (0, 10), (2, 15)), a_candidate(2, (0, 10), (1, 30)))
    assert newer.lost == (EpochRange(1, 10, 30),)
    assert older.lost == (EpochRange(2, 10, 15),)
    assert newer.against[0].divergence_offset == older.against[0].divergence_offset == 10


def test_a_longer_log_of_an_older_epoch_can_lose_fewer_records_and_the_forecast_says_so() -> None:
    newer, older = forecasts(a_candidate(3, (0, 10), (2, 15)), a_candidate(2, (0, 10), (1, 30)))
    assert (newer.at_least, older.at_least, older.more_than_first) == (20, 5, -15)
    assert describe_forecast(older) == (
        "electing 2 loses offsets 10..14 (5 records) that replica 3 holds; "
        "that is 15 records fewer than electing rank 1"
    )


def test_a_record_that_two_replicas_hold_is_lost_once() -> None:
    *_longer, shortest = forecasts(a_candidate(3, (0, 30)), a_candidate(4, (0, 20)), a_candidate(2, (0, 10)))
    assert shortest.at_least == 20
    assert describe_forecast(shortest) == (
        "electing 2 loses offsets 10..29 (20 records) that replica 3 holds and offsets 10..19 (10 records) that "
        "replica 4 holds, 20 records in all"
    )


def test_records_that_retention_deleted_are_reported_but_not_lost() -> None:
    (retained, full) = forecasts(a_candidate(3, (0, 100), log_start_offset=80), a_candidate(2, (0, 100)))
    assert retained.lost == full.lost == ()
    assert retained.against[0].deleted == (EpochRange(0, 0, 80),)
    assert describe_forecast(retained) == (
        "electing 3 loses nothing that replica 2 holds; "
        "replica 2 also deletes offsets 0..79 (80 records), as this replica has already"
    )


def test_logs_with_a_gap_between_them() -> None:
    later, earlier = forecasts(a_candidate(3, (4, 120), log_start_offset=100), a_candidate(2, (3, 80)))
    assert (later.lost, later.against[0].undetermined) == ((), (EpochRange(3, 0, 80),))
    assert (later.at_least, later.at_most) == (0, 80)
    assert earlier.lost == (EpochRange(4, 100, 120),)
    assert later.against[0].divergence_offset is None
    assert describe_forecast(later) == (
        "electing 3 loses nothing for certain; replica 2 also deletes offsets 0..79 (80 "
        "records), before this replica's log start offset: whether it ever held them is unknown"
    )


def test_records_newer_than_a_log_were_never_deleted_from_it() -> None:
    newer, older = forecasts(a_candidate(3, (2, 15)), a_candidate(2, (0, 30), log_start_offset=20))
    assert (older.lost, older.against[0].deleted, older.against[0].undetermined) == ((EpochRange(2, 0, 15),), (), ())
    assert newer.lost == (EpochRange(0, 20, 30),)


def test_a_wiped_replica_loses_everything() -> None:
    _best, wiped = forecasts(a_candidate(3, (0, 10), (2, 15)), a_candidate(2))
    assert wiped.lost == (EpochRange(0, 0, 10), EpochRange(2, 10, 15))
    assert describe_forecast(wiped) == "electing 2 loses offsets 0..14 (15 records) that replica 3 holds"


def test_a_log_emptied_by_retention_loses_only_later_records() -> None:
    _best, emptied = forecasts(a_candidate(3, (2, 15)), a_candidate(2, (2, 10), log_start_offset=10))
    assert emptied.lost == (EpochRange(2, 10, 15),)


def test_the_loss_of_records_without_epochs_is_unknown() -> None:
    with_epochs, without = forecasts(a_candidate(3, (0, 10)), a_candidate(2, log_end_offset=40))
    assert with_epochs.against[0].lost is None
    assert without.against[0].lost is None
    assert (with_epochs.at_most, with_epochs.more_than_first) == (None, None)
    assert describe_forecast(without) == (
        "electing 2 cannot be compared with another replica; "
        "against replica 3: unknown, since records without a known leader epoch cannot be compared"
    )


def test_the_limit_applies_to_the_known_loss() -> None:
    longer, shorter = forecasts(a_candidate(3, (0, 150)), a_candidate(2, (0, 100)), silent=(1,))
    assert explain_limit_refusal(0, longer) is None
    assert explain_limit_refusal(50, shorter) is None
    assert explain_limit_refusal(49, shorter) == "electing 2 loses 50 or more records, and the limit is 49"


def test_an_unknown_loss_exceeds_the_limit() -> None:
    logs = a_candidate(3, (0, 10)), a_candidate(2, log_end_offset=40)
    for each, other in zip(forecasts(*logs, silent=(1,)), (2, 3), strict=True):
        assert explain_limit_refusal(1000, each) == (
            f"what electing {each.broker_id} loses of what broker {other} holds is unknown, since records without a "
            "known leader epoch cannot be compared, and the limit is 1000"
        )


def test_offsets_in_words() -> None:
    assert describe_offsets((EpochRange(3, 7, 8),)) == "7 (1 record)"
    assert describe_offsets((EpochRange(1, 0, 5), EpochRange(2, 5, 9))) == "0..8 (9 records)"
    assert describe_offsets((EpochRange(1, 0, 5), EpochRange(2, 3, 9))) == "0..8 (11 records)"
    scattered = tuple(EpochRange(epoch, 10 * epoch, 10 * epoch + 2) for epoch in range(5))
    assert describe_offsets(scattered) == "0..1, 10..11, 20..21 and 2 more ranges (10 records)"
