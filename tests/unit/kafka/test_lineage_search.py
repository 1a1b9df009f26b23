# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The search for a log's epochs, against a model of brokers' answers: exact, with few rounds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.lineage_search import LineageSearch
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import EpochEnd
from unit.kafka.fake_epoch_cache import EpochEntry, FakeEpochCache

INT32_MAX = 2**31 - 1


def cache_of(steps: list[tuple[int, int]], log_start_offset: int) -> FakeEpochCache:
    """Return a log from pairs: how much newer each epoch is than the one before, and its number of records."""
    epochs = itertools.accumulate(gap for gap, _records in steps)
    offsets = itertools.accumulate((records for _gap, records in steps), initial=0)
    entries = [EpochEntry(epoch, offset) for epoch, offset in zip(epochs, offsets, strict=False)]
    end = sum(records for _gap, records in steps)
    return FakeEpochCache(entries, min(log_start_offset, end), end)


def a_search(cache: FakeEpochCache, current_leader_epoch: int) -> LineageSearch:
    return LineageSearch(cache.log_start_offset, cache.log_end_offset, current_leader_epoch)


def ask_all(
    search: LineageSearch, ask: Callable[[int], EpochEnd | None], limit: int, most: int = 1, *, is_distant: bool = False
) -> int:
    """Ask up to ``most`` questions at once, and return the number of rounds. Fails above the limit."""
    for count in range(limit + 1):
        questions = search.next_questions(most, is_distant=is_distant)
        assert len(questions) <= most
        assert bool(questions) == (search.question is not None)
        if not questions:
            return count
        assert min(questions) >= 0
        for epoch, answer in [(epoch, ask(epoch)) for epoch in questions]:
            search.take_answer(epoch, answer)
    raise AssertionError(f"still asking after {limit} rounds")


def question_limit(epochs: int, current_leader_epoch: int) -> int:
    """Return the limit: a search for the newest epoch, two questions for each older one, and one for the end."""
    return 2 * math.ceil(math.log2(current_leader_epoch + 2)) + 2 * epochs + 3


gaps = st.integers(1, 4) | st.integers(1, 100_000)
steps = st.lists(st.tuples(gaps, st.integers(0, 3)), max_size=8)
at_once = st.integers(1, 5) | st.just(100)
"""The number of questions."""
lateness = st.integers(0, 5) | st.integers(0, INT32_MAX - 800_000)
"""How much newer the partition's current epoch is than the newest epoch in the log."""


@given(steps, st.integers(0, 12), lateness, at_once, st.booleans())
@example([(1, 0), (1, 3)], 0, 0, 1, False)  # the first epoch is empty
@example([(1, 3), (1, 0), (1, 3)], 0, 0, 1, False)  # one in the middle
@example([(1, 3), (1, 0)], 0, 0, 1, False)  # the newest: elected, and dead before it wrote
@example([(1, 3), (4, 3)], 6, 4, 1, False)  # retention took all records
@example([(5, 0)], 0, 9, 1, False)  # never written to
@example([(1, 3)] * 5, 0, 0, 3, False)  # several at once
@example([(1, 3)] * 5, 0, 0, 100, True)  # of a distant broker
def test_it_finds_exactly_the_epochs_with_records(
    steps: list[tuple[int, int]], start: int, lateness: int, most: int, is_distant: bool
) -> None:
    cache = cache_of(steps, start)
    newest = cache.entries[-1].epoch if cache.entries else 0
    search = a_search(cache, newest + lateness)
    ask_all(search, cache.ask, question_limit(len(cache.entries), newest + lateness), most, is_distant=is_distant)
    if cache.log_end_offset > 0 and cache.log_start_offset == cache.log_end_offset:
        assert search.lineage == (EpochEnd(newest, cache.log_end_offset),)
    else:
        assert search.lineage == cache.lineage()
    assert search.log_end_offset == cache.log_end_offset


@given(steps, st.integers(0, 12), lateness, st.integers(1, 3), at_once)
def test_growing_log_is_reported_consistently(
    steps: list[tuple[int, int]], start: int, lateness: int, growth: int, most: int
) -> None:
    cache = cache_of([*steps, (1, 1)], start)
    search = a_search(cache, cache.entries[-1].epoch + lateness)
    ends = [cache.log_end_offset]

    def ask(epoch: int) -> EpochEnd | None:
        cache.log_end_offset += growth
        ends.append(cache.log_end_offset)
        return cache.ask(epoch)

    ask_all(search, ask, question_limit(len(cache.entries), cache.entries[-1].epoch + lateness), most)
    assert search.lineage in [cache.lineage(end) for end in ends]
    assert search.lineage[-1].end_offset == search.log_end_offset


@given(steps, lateness, st.integers(1, 12), at_once)
def test_search_is_not_longer_if_retention_moves_the_log_start(
    steps: list[tuple[int, int]], lateness: int, retained_from: int, most: int
) -> None:
    """With a listed log start offset of 0, the broker echoes each question below the oldest epoch."""
    listed = cache_of([*steps, (1, 20)], 0)
    cache = FakeEpochCache(listed.entries, retained_from, listed.log_end_offset)
    search = a_search(listed, cache.entries[-1].epoch + lateness)
    ask_all(search, cache.ask, question_limit(len(cache.entries), cache.entries[-1].epoch + lateness), most)
    held = cache.lineage()
    assert search.lineage[-len(held) :] == held


answers = st.none() | st.builds(EpochEnd, st.integers(-1, 30), st.integers(0, 30))


@given(st.integers(0, 30), st.integers(0, 30), st.lists(answers, min_size=1, max_size=20), at_once)
def test_search_ends_with_a_broker_that_answers_at_random(
    start: int, end: int, nonsense: list[EpochEnd | None], most: int
) -> None:
    reported = itertools.cycle(nonsense)
    search = LineageSearch(min(start, end), end, 30)
    ask_all(search, lambda _epoch: next(reported), question_limit(30, 30), most)


@pytest.mark.parametrize("end", [7, 100])
def test_search_ends_with_a_broker_that_repeats_each_question(end: int) -> None:
    search = LineageSearch(0, 100, INT32_MAX)
    ask_all(search, lambda epoch: EpochEnd(epoch, end), question_limit(1, INT32_MAX))


def test_a_healthy_log_of_one_epoch_takes_two_questions() -> None:
    cache = FakeEpochCache([EpochEntry(5, 0)], 0, 100)
    search = a_search(cache, 5)
    assert ask_all(search, cache.ask, 2) == 2
    assert search.lineage == (EpochEnd(5, 100),)


@pytest.mark.parametrize(("most", "is_distant", "rounds"), [(16, False, 10), (32, False, 7), (32, True, 5)])
def test_a_deep_log_takes_few_rounds(most: int, is_distant: bool, rounds: int) -> None:
    cache = FakeEpochCache([EpochEntry(epoch, 10 * epoch) for epoch in range(100)], 0, 1000)
    search = a_search(cache, 100)
    assert ask_all(search, cache.ask, rounds, most, is_distant=is_distant) == rounds
    assert search.lineage == cache.lineage()


def test_two_questions_are_asked_at_once_if_epochs_are_far_apart() -> None:
    """Only the first answer is useful in this case."""
    search = LineageSearch(0, 100, 1000)
    for newest in range(1000, 700, -50):
        questions = search.next_questions(16)
        assert questions == range(newest, newest - 2, -1)
        for epoch in questions:
            search.take_answer(epoch, EpochEnd(newest - 49, 100 if newest == 1000 else newest // 10))


def test_a_log_without_an_end_is_not_asked_about() -> None:
    search = LineageSearch(0, 0, 7)
    assert search.question is None
    assert search.lineage == ()
    assert search.log_end_offset == 0


def test_log_without_a_current_epoch_gets_no_question() -> None:
    assert LineageSearch(0, 10, -1).question is None
