# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which records were dealt with already."""

from __future__ import annotations

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.ledger import Ledger


def test_records_that_follow_on_one_another_are_one_stretch() -> None:
    ledger = Ledger()
    for offset in range(10, 20):
        ledger.add(3, offset, 10, fill=False)
    assert ledger.done == (EpochRange(3, 10, 20),)


def test_a_gap_between_batches_stays_open_unless_the_topic_is_compacted() -> None:
    """Another salvage may have the batch that this one could not read."""
    for fill, expected in ((False, 2), (True, 1)):
        ledger = Ledger()
        ledger.add(3, 10, 10, fill=fill)
        ledger.add(3, 15, 15, fill=fill)
        assert len(ledger.done) == expected


def test_what_compaction_removed_within_a_batch_is_dealt_with() -> None:
    ledger = Ledger()
    ledger.add(3, 10, 10, fill=False)
    ledger.add(3, 15, 10, fill=False)
    assert ledger.done == (EpochRange(3, 10, 16),)


def test_a_record_that_is_left_for_later_is_never_filled() -> None:
    ledger = Ledger()
    ledger.add(3, 10, 10, fill=True)
    ledger.leave_open()
    ledger.add(3, 12, 10, fill=True)
    assert ledger.done == (EpochRange(3, 10, 11), EpochRange(3, 12, 13))


def test_what_earlier_runs_dealt_with_is_known_by_epoch_and_offset() -> None:
    ledger = Ledger((EpochRange(3, 10, 20), EpochRange(5, 20, 30)), given=20)
    known = {(epoch, offset) for epoch in range(7) for offset in range(40) if ledger.has(epoch, offset)}
    assert known == {(3, each) for each in range(10, 20)} | {(5, each) for each in range(20, 30)}
    ledger.add(5, 30, 30, fill=False)
    assert ledger.done == (EpochRange(3, 10, 20), EpochRange(5, 20, 31))
    # What this run adds is not asked about again: a salvage has each record once.
    assert not ledger.has(5, 30)
