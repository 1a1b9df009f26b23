# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the lineage of a log by the headers of its batches, in generated logs."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.batch_headers import BatchEpoch, HeaderAnswer
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.header_search import MOST_READS, HeaderSearch
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import EpochEnd


@dataclass
class FakeLog:
    """The batches of a log. ``reads`` is the number of batches that were asked for."""

    batches: list[BatchEpoch]
    reads: int = 0

    @property
    def end(self) -> int:
        return self.batches[-1].next_offset

    def search(self, start: int = 0, hints: tuple[int, ...] = ()) -> HeaderSearch:
        search = HeaderSearch(start, self.end, hints)
        while offsets := search.next_offsets():
            for offset in offsets:
                if not search.error:
                    self.reads += 1
                    batch = next((each for each in self.batches if each.next_offset > offset), None)
                    search.take_answer(offset, HeaderAnswer(0, batch, 70))
        return search


@st.composite
def logs(draw: st.DrawFn) -> FakeLog:
    """Draw a log with gaps, as compaction leaves them, and epochs that never decrease."""
    batches, offset, epoch = [], draw(st.integers(0, 5)), 0
    for _batch in range(draw(st.integers(1, 40))):
        epoch += draw(st.sampled_from([0, 0, 0, 1, 3]))
        offset += draw(st.sampled_from([0, 0, 7]))
        size = draw(st.integers(1, 9))
        batches.append(BatchEpoch(epoch, offset, offset + size))
        offset += size
    return FakeLog(batches)


@given(logs(), st.lists(st.integers(0, 300), max_size=5))
def test_each_epoch_ends_where_the_first_batch_of_the_next_one_begins(log: FakeLog, hints: list[int]) -> None:
    first = {each.epoch: each.base_offset for each in reversed(log.batches)}
    epochs = sorted(first)
    ends = [*(first[each] for each in epochs[1:]), log.end]
    search = log.search(hints=tuple(hints))
    assert search.error == ""
    assert search.lineage == tuple(map(EpochEnd, epochs, ends))
    assert search.agrees_with(search.lineage)


def test_a_long_log_of_two_epochs_needs_few_reads() -> None:
    log = FakeLog([BatchEpoch(0 if number < 77_777 else 4, number * 10, number * 10 + 10) for number in range(100_000)])
    assert log.search().lineage == (EpochEnd(0, 777_770), EpochEnd(4, 1_000_000))
    assert log.reads <= 22


def test_a_log_that_starts_in_the_middle_of_a_batch_is_found() -> None:
    log = FakeLog([BatchEpoch(0, 0, 10), BatchEpoch(2, 10, 20)])
    assert log.search(start=5).lineage == (EpochEnd(0, 10), EpochEnd(2, 20))


def test_an_older_checkpoint_does_not_agree_with_the_headers() -> None:
    log = FakeLog([BatchEpoch(0, 0, 10), BatchEpoch(2, 10, 20)])
    search = log.search(hints=(19, 9))
    assert search.agrees_with((EpochEnd(0, 10), EpochEnd(2, 20)))
    for wrong in ((EpochEnd(0, 20),), (EpochEnd(0, 9), EpochEnd(2, 20)), (EpochEnd(0, 10), EpochEnd(1, 20)), ()):
        assert not search.agrees_with(wrong)


@pytest.mark.parametrize(
    ("batches", "error"),
    [
        ([BatchEpoch(-1, 0, 1), BatchEpoch(3, 1, 9)], "from offset 0 on have no leader epoch"),
        ([BatchEpoch(5, 0, 9), BatchEpoch(3, 9, 19)], "falls from 5 at offset 0 to 3 at offset 9"),
    ],
)
def test_why_no_lineage_is_found(batches: list[BatchEpoch], error: str) -> None:
    search = FakeLog(batches).search()
    assert error in search.error
    assert search.lineage == ()


def test_errors_of_the_broker_end_the_search() -> None:
    for answer, error in (
        (HeaderAnswer(56, None, 0), "offset 0 cannot be read"),
        (HeaderAnswer(0, None, 0), "no batch"),
    ):
        search = HeaderSearch(0, 10)
        search.take_answer(0, answer)
        assert error in search.error
        assert not search.next_offsets()


def test_a_log_of_too_many_epochs_is_given_up() -> None:
    search = FakeLog([BatchEpoch(number, number, number + 1) for number in range(MOST_READS + 10)]).search()
    assert f"more than {MOST_READS} batches" in search.error
