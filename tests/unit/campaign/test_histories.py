# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The judge of client histories, on histories written by hand: each anomaly is found, and nothing else is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from campaign.clients.history import History, Outcome, Partition, Read, Reader, Truth, Write
from campaign.clients.judge import is_behind_open_transaction, judge

P: Partition = ("watched", 0)
NOTHING = Truth()
LOST_B = Truth(lost={P: frozenset("b")})


def write(value: str, offset: int | None, outcome: Outcome = Outcome.OK, **more: object) -> Write:
    return replace(Write("producer", P, value, outcome, offset), **more)  # type: ignore[arg-type]


def reads(values: str, first: int = 0, epoch: int = 0) -> list[Read]:
    return [Read(P, offset, value, epoch) for offset, value in enumerate(values, first)]


def healthy(values: str = "abc", *, committed: str | None = None) -> History:
    """Return a history in which each record was acknowledged, seen by two consumers, and is there at the end."""
    visible = values if committed is None else committed
    at = {value: offset for offset, value in enumerate(values)}
    left_committed = [Read(P, at[each], each, 0) for each in visible]
    return History(
        writes=[write(value, offset) for value, offset in at.items()],
        readers=[
            Reader("all", False, reads(values), caught_up=True),
            Reader("committed", True, left_committed, caught_up=True),
        ],
        left={P: reads(values)},
        left_committed={P: left_committed},
        commits={("group", P): [1, len(values)]},
        committed_at_end={("group", P): len(values)},
    )


def found(history: History, truth: Truth = NOTHING) -> dict[str, int]:
    """Return the kinds of anomalies that were found, with their numbers."""
    return {name: count for name, count in judge(history, truth).counts().items() if count}


def end_with(history: History, values: str, epoch: int = 0) -> None:
    history.left = history.left_committed = {P: reads(values, epoch=epoch)}


def test_a_healthy_history_has_no_anomaly() -> None:
    assert found(healthy()) == {}
    assert not judge(healthy(), NOTHING)


def test_an_acknowledged_record_that_is_gone_is_a_lost_write() -> None:
    history = healthy()
    end_with(history, "ab")
    assert found(history) == {"lost_writes": 1}
    assert judge(history, NOTHING).lost_writes == ["watched-0: c was acknowledged at offset 2"]


@pytest.mark.parametrize(
    ("may_repeat", "truth", "anomalies"),
    [
        (True, Truth(truncated=frozenset({P})), 0),
        (False, Truth(truncated=frozenset({P})), 1),
        (True, NOTHING, 1),
    ],
)
def test_of_a_record_that_was_sent_twice_the_acknowledged_copy_may_be_lost(
    may_repeat: bool, truth: Truth, anomalies: int
) -> None:
    history = healthy("ab")
    history.writes.append(write("a", 2, may_repeat=may_repeat))
    end_with(history, "abc")
    assert len(judge(history, truth).inconsistent_offsets) == anomalies


@pytest.mark.parametrize("outcome", [Outcome.UNKNOWN, Outcome.FAILED])
def test_a_record_without_an_acknowledgment_may_be_there_or_not(outcome: Outcome) -> None:
    history = healthy("ab")
    history.writes.append(write("c", None, outcome))
    assert found(history) == {}


def test_what_the_elected_replica_did_not_hold_is_excused_and_nothing_else() -> None:
    history = healthy("abc")
    history.left = history.left_committed = {P: [*reads("a"), *reads("d", 1, epoch=2)]}
    assert found(history, Truth(lost={P: frozenset("bc")})) == {}
    assert found(history, LOST_B) == {"lost_writes": 1}
    assert found(history) == {"lost_writes": 2, "inconsistent_offsets": 1, "unseen": 2}


def test_a_partition_whose_leaders_are_not_known_is_not_judged() -> None:
    history = healthy()
    end_with(history, "")
    assert found(history, Truth(unknown=frozenset({P}))) == {}


def test_a_partition_that_could_not_be_read_proves_no_loss() -> None:
    history = healthy()
    history.left = history.left_committed = {}
    assert found(history) == {}


def test_a_record_of_an_idempotent_producer_that_is_there_twice_is_a_duplicate() -> None:
    history = healthy("abc")
    end_with(history, "abca")
    assert found(history) == {"duplicates": 1}
    history.writes[0] = replace(history.writes[0], may_repeat=True)
    assert found(history) == {}, "a retry of a producer without idempotence"


def test_two_records_at_one_offset_of_one_epoch_are_inconsistent() -> None:
    history = healthy()
    history.readers.append(Reader("other", False, reads("axc"), caught_up=False))
    assert found(history) == {"inconsistent_offsets": 1}
    history.readers[-1].reads = reads("axc", epoch=1)
    assert found(history) == {}, "another epoch has its own records"


def test_a_record_at_another_offset_than_was_acknowledged_is_inconsistent() -> None:
    history = healthy()
    history.writes[1:] = [write("b", 2), write("c", 3)]
    assert found(history) == {"inconsistent_offsets": 1}


@pytest.mark.parametrize(
    ("outcome", "anomalies"),
    [(Outcome.FAILED, {"aborted_reads": 2}), (Outcome.UNKNOWN, {}), (Outcome.OK, {})],
)
def test_a_record_of_an_aborted_transaction_is_for_no_consumer_of_committed_records(
    outcome: Outcome, anomalies: dict[str, int]
) -> None:
    history = healthy()
    history.writes[1] = replace(history.writes[1], transaction="t")
    history.transactions["t"] = outcome
    assert found(history) == anomalies
    assert found(history, Truth(undecided={P: frozenset("b")})) == {}, "its marker was lost"


def test_outcomes_are_not_judged_if_the_coordinator_may_have_forgotten_them() -> None:
    history = healthy("abc", committed="ab")
    history.writes[1:] = [replace(each, transaction=each.value) for each in history.writes[1:]]
    history.transactions |= {"b": Outcome.FAILED, "c": Outcome.OK}
    assert found(history) == {"aborted_reads": 2, "lost_writes": 1}
    assert found(history, Truth(outcomes_lost=True)) == {}


def test_an_aborted_record_may_be_read_uncommitted_and_is_not_lost() -> None:
    history = healthy("abc", committed="ac")
    history.writes[1] = replace(history.writes[1], transaction="t")
    history.transactions["t"] = Outcome.FAILED
    assert found(history) == {}


def test_a_committed_record_that_stays_invisible_is_lost_unless_its_marker_was() -> None:
    history = healthy("abc", committed="ac")
    history.writes[1] = replace(history.writes[1], transaction="t")
    history.transactions["t"] = Outcome.OK
    assert found(history) == {"lost_writes": 1}
    assert found(history, Truth(undecided={P: frozenset("b")})) == {}


def test_a_record_that_a_consumer_passed_over_is_unseen_once_it_caught_up() -> None:
    history = healthy()
    del history.readers[0].reads[1]
    assert found(history) == {"unseen": 1}
    assert found(history, LOST_B) == {}, "new records take the place of lost ones, and a consumer may be behind them"
    assert found(history, Truth(truncated=frozenset({P}))) == {}
    history.readers[0].caught_up = False
    assert found(history) == {}


@pytest.mark.parametrize(("left", "disorders"), [("abc", 0), ("bac", 1), ("cba", 2), ("ac", 0)])
def test_records_of_one_producer_stay_in_its_order(left: str, disorders: int) -> None:
    history = healthy()
    history.writes = [write(value, left.index(value)) for value in sorted(left)]
    history.readers = []
    end_with(history, left)
    assert found(history) == ({"disorders": disorders} if disorders else {})
    history.writes = [replace(each, offset=None) for each in history.writes]
    assert found(history) == {}, "a replay has given them other places"


@pytest.mark.parametrize("offsets", [(0, 1, 0), (0, 1, 1)])
def test_a_consumer_goes_back_only_where_the_log_was_truncated(offsets: Sequence[int]) -> None:
    history = healthy("ab")
    history.readers[0].reads = [Read(P, offset, "ab"[offset], 0) for offset in offsets]
    assert found(history) == {"repeated_polls": 1}
    assert found(history, LOST_B) == {}


@pytest.mark.parametrize(
    ("at_end", "anomalies"), [(3, {}), (5, {}), (2, {"lost_commits": 1}), (-1, {"lost_commits": 1})]
)
def test_a_group_keeps_the_last_offset_that_it_committed(at_end: int, anomalies: dict[str, int]) -> None:
    history = healthy()
    history.committed_at_end = {("group", P): at_end}
    assert found(history) == anomalies
    assert found(history, Truth(commits_lost=True)) == {}
    history.committed_at_end = {}
    assert found(history) == {}, "what could not be asked is no anomaly"


def test_a_member_of_a_group_may_get_a_record_again_and_must_get_each_one() -> None:
    history = healthy("ab")
    member = Reader("member", False, [*reads("ab"), *reads("ab")], may_repeat=True, caught_up=True)
    history.readers.append(member)
    assert found(history) == {}
    del member.reads[1::2]
    assert found(history) == {"unseen": 1}


def test_a_share_group_gets_nothing_again_that_it_acknowledged_unless_its_state_was_lost() -> None:
    history = healthy("ab")
    member = Reader("share", False, reads("ab"), may_repeat=True, is_share=True, again=reads("a"), caught_up=True)
    history.readers.append(member)
    assert found(history) == {"repeated_polls": 1}
    assert found(history, LOST_B) == {}, "another record has the offset now"
    assert found(history, Truth(shares_lost=True)) == {}
    member.reads, member.again = [], []
    assert found(history) == {"unseen": 2}
    assert found(history, Truth(shares_lost=True)) == {}


def test_records_behind_an_open_transaction_are_lost_unless_it_is_still_to_be_ended() -> None:
    history = healthy("abc", committed="a")
    assert found(history) == {"lost_writes": 2}
    assert found(history, Truth(hides=True)) == {}
    assert is_behind_open_transaction(history, history.writes[1])
    assert not is_behind_open_transaction(history, history.writes[0])
