# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ledger: which records are settled."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.ledger import Ledger


def add(ledger: Ledger, epoch: int, offset: int, *, fill: bool = False) -> None:
    """Add one record."""
    ledger.add(EpochRange(epoch, offset, offset + 1), _always if fill else _never)


def _always(_gap: EpochRange) -> bool:
    return True


def _never(_gap: EpochRange) -> bool:
    return False


def test_adjacent_records_become_one_stretch() -> None:
    ledger = Ledger()
    for offset in range(10, 20):
        add(ledger, 3, offset)
    assert ledger.settled == (EpochRange(3, 10, 20),)


def test_a_gap_stays_unsettled_unless_compaction_left_it() -> None:
    """Another salvage may have the batch that this salvage could not read."""
    for fill, expected in ((False, 2), (True, 1)):
        ledger = Ledger()
        add(ledger, 3, 10, fill=fill)
        add(ledger, 3, 15, fill=fill)
        assert len(ledger.settled) == expected


def test_an_unsettled_record_is_never_filled() -> None:
    ledger = Ledger()
    add(ledger, 3, 10, fill=True)
    ledger.leave_unsettled()
    add(ledger, 3, 12, fill=True)
    assert ledger.settled == (EpochRange(3, 10, 11), EpochRange(3, 12, 13))


def test_settled_records_are_known_by_epoch_and_offset() -> None:
    ledger = Ledger((EpochRange(3, 10, 20), EpochRange(5, 20, 30)), given=20)
    assert ledger.find_unsettled(3, 0, 40) == [(0, 10), (20, 40)]
    assert ledger.find_unsettled(5, 25, 35) == [(30, 35)]
    assert ledger.find_unsettled(3, 12, 18) == ledger.find_unsettled(5, 20, 30) == []
    assert ledger.find_unsettled(4, 0, 40) == [(0, 40)]
    add(ledger, 5, 30)
    assert ledger.settled == (EpochRange(3, 10, 20), EpochRange(5, 20, 31))
    # What this run adds is not asked about again: a salvage has each record once.
    assert ledger.find_unsettled(5, 30, 31) == [(30, 31)]


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 30), st.integers(1, 8)), max_size=8),
    st.integers(1, 3),
    st.integers(0, 30),
    st.integers(1, 20),
)
def test_all_other_records_are_unsettled(done: list[tuple[int, int, int]], epoch: int, offset: int, count: int) -> None:
    known = {(one, at) for one, start, length in done for at in range(start, start + length)}
    ledger = Ledger(tuple(EpochRange(one, start, start + length) for one, start, length in done))
    lacking = [at for start, end in ledger.find_unsettled(epoch, offset, offset + count) for at in range(start, end)]
    assert lacking == [at for at in range(offset, offset + count) if (epoch, at) not in known]


def test_adding_many_records_at_once_equals_adding_each() -> None:
    for fill in (False, True):
        one_by_one, at_once = Ledger(), Ledger()
        for first, end in ((10, 14), (16, 20), (25, 30)):
            for offset in range(first, end):
                add(one_by_one, 3, offset, fill=fill)
            at_once.add(EpochRange(3, first, end), _always if fill else _never)
        assert at_once.settled == one_by_one.settled
