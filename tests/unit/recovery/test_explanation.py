# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Explanations: the words of each case, and a reason for every generated case."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._recovery.candidate import Flag, Standing, explain_ranks


def one(broker_id: int, epoch: int | None, end: int, *flags: Flag, start: int = 0) -> Standing:
    return Standing(broker_id, epoch, start, end, flags)


def test_no_replica_answered() -> None:
    assert explain_ranks([]) == []


def test_a_single_replica() -> None:
    assert explain_ranks([one(1, 7, 1500)]) == [
        "rank 1: the only replica that answered; last written epoch 7, log end offset 1500"
    ]


def test_a_newer_epoch_beats_a_longer_log() -> None:
    assert explain_ranks([one(1, 7, 1500), one(2, 6, 2000), one(3, 5, 100)]) == [
        "rank 1: last written epoch 7 is the highest, log end offset 1500",
        "rank 2: last written epoch 6 < 7 of broker 1, although its log is longer (2000 > 1500)",
        "rank 3: last written epoch 5 < 6 of broker 2",
    ]


def test_a_newer_epoch_beats_a_log_of_the_same_length() -> None:
    assert explain_ranks([one(1, 7, 1500), one(2, 6, 1500)]) == [
        "rank 1: last written epoch 7 is the highest, log end offset 1500",
        "rank 2: last written epoch 6 < 7 of broker 1",
    ]


def test_a_longer_log_of_the_same_epoch() -> None:
    assert explain_ranks([one(1, 7, 1500), one(2, 7, 1400)]) == [
        "rank 1: last written epoch 7 is the highest, and log end offset 1500 the highest of the logs that share it",
        "rank 2: last written epoch 7 as broker 1, but a shorter log (1400 < 1500)",
    ]


def test_ties_name_the_rule() -> None:
    assert explain_ranks([one(3, 7, 10), one(1, 7, 10), one(2, 7, 10)]) == [
        "rank 1: last written epoch 7 is the highest, log end offset 10; equal to broker 1 and broker 2, but first in "
        "the replica list",
        "rank 2: equal to broker 3 (last written epoch 7, log end offset 10), but later in the replica list",
        "rank 3: equal to broker 1 (last written epoch 7, log end offset 10), but later in the replica list",
    ]


def test_of_logs_with_the_same_end_the_one_that_begins_first_has_more() -> None:
    assert explain_ranks([one(2, 7, 10), one(1, 7, 10, start=8)]) == [
        "rank 1: last written epoch 7 is the highest, log end offset 10, as broker 1, but its log has more: from "
        "offset 0 on, and not only from 8 on",
        "rank 2: last written epoch 7 and log end offset 10 as broker 2, but its log has less: only from offset 8 on",
    ]


def test_logs_without_epochs() -> None:
    assert explain_ranks([one(1, 0, 1), one(2, None, 5, start=5), one(3, None, 0, Flag.EMPTY_LOG, Flag.GAP)]) == [
        "rank 1: last written epoch 0 is the highest, log end offset 1",
        "rank 2: no leader epoch, and broker 1 has epoch 0, although its log is longer (5 > 1)",
        "rank 3: no leader epoch as broker 2, but a shorter log (0 < 5); its log is empty: electing it empties the "
        "partition; its log ends at 0, before broker 2's starts at 5: the records between are on neither",
    ]


def test_no_log_has_an_epoch() -> None:
    assert explain_ranks([one(1, None, 0), one(2, None, 0)]) == [
        "rank 1: no log holds a leader epoch, log end offset 0; equal to broker 2, but first in the replica list",
        "rank 2: equal to broker 1 (no leader epoch, log end offset 0), but later in the replica list",
    ]


def test_every_flag_is_put_into_words() -> None:
    words = explain_ranks([one(4, 7, 900, start=300), one(5, 6, 100, *Flag, start=20)])[1]
    assert words == (
        "rank 2: last written epoch 6 < 7 of broker 4; "
        "its log is empty: electing it empties the partition; "
        "its log ends at 100, before broker 4's starts at 300: the records between are on neither; "
        "a log-dir move is running on it: only its current log was ranked; "
        "the controller fences it, so it cannot be elected now; "
        "it holds records that broker 4, rank 1, does not; "
        "the topic is tiered, and its own disk has offsets from an unknown offset on only; "
        "it holds offsets 20 to 99, which cannot be compared with other logs"
    )


def test_for_tiered_topics_the_local_log_start_decides_before_the_place() -> None:
    whole, rebuilt = one(2, 7, 10)._replace(local_log_start_offset=0), one(1, 7, 10)._replace(local_log_start_offset=8)
    assert explain_ranks([whole, rebuilt]) == [
        "rank 1: last written epoch 7 is the highest, log end offset 10, as broker 1, but its own disk has more: from "
        "offset 0 on, and not only from 8 on",
        "rank 2: last written epoch 7 and log end offset 10 as broker 2, but its own disk has less: only from offset 8 "
        "on",
    ]


def test_for_tiered_topics_the_place_decides_between_equal_disks() -> None:
    first, second = (one(broker_id, 7, 10)._replace(local_log_start_offset=8) for broker_id in (2, 1))
    assert explain_ranks([first, second]) == [
        "rank 1: last written epoch 7 is the highest, log end offset 10; equal to broker 1, but first in the replica "
        "list",
        "rank 2: equal to broker 2 (last written epoch 7, log end offset 10), but later in the replica list",
    ]


standings = st.builds(
    Standing,
    broker_id=st.integers(0, 2**31 - 1),
    last_written_epoch=st.none() | st.integers(0, 3),
    log_start_offset=st.just(0),
    log_end_offset=st.integers(0, 3),
    flags=st.lists(st.sampled_from(Flag), unique=True).map(tuple),
)


@given(st.lists(standings, min_size=1, max_size=6))
def test_the_numbers_that_decide_are_in_every_explanation(unranked: list[Standing]) -> None:
    order = sorted(
        unranked, key=lambda each: (_or_below_all(each.last_written_epoch), each.log_end_offset), reverse=True
    )
    words = explain_ranks(order)
    assert len(words) == len(order)
    for rank, (text, each) in enumerate(zip(words, order, strict=True), start=1):
        assert text.startswith(f"rank {rank}: ")
        assert "None" not in text
        assert text.count("; ") >= len(each.flags)
        if rank > 1:
            ahead = order[rank - 2]
            assert f"broker {ahead.broker_id}" in text
            same_epoch = ahead.last_written_epoch == each.last_written_epoch
            assert (str(each.log_end_offset) if same_epoch else str(ahead.last_written_epoch)) in text


def _or_below_all(epoch: int | None) -> int:
    return -1 if epoch is None else epoch
