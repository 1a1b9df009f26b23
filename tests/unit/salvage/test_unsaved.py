# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A failing disk refuses a batch that it has returned before: its partition fails, and all others are kept."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.log_contents import EpochRange
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.finding import DiskFinding, SalvageStatus
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.from_disk import find_unsaved
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.read_back import ReadBack
from ansible_collections.kafkaops.recovery.plugins.module_utils._salvage.writer import SalvageError
from unit.salvage.saved import SAVED

WANTED = (EpochRange(3, 100, 200),)


def a_finding(topic: str) -> DiskFinding:
    return DiskFinding(topic, 0, "a", None, SalvageStatus.WOULD_BE_SAVED, held=WANTED, lost=WANTED)


def test_a_partition_with_an_unsaved_batch_fails_and_others_are_kept() -> None:
    parts = (EpochRange(3, 100, 150), EpochRange(3, 151, 200))
    saved = [
        replace(SAVED, topic=each, partition=0, ranges=ranges) for each, ranges in (("good", WANTED), ("bad", parts))
    ]
    back = ReadBack(tuple(saved), ())
    good, bad = find_unsaved([a_finding("good"), a_finding("bad")], back)
    assert good.status is SalvageStatus.WOULD_BE_SAVED
    assert (bad.status, bad.unreadable) == (SalvageStatus.FAILED, (EpochRange(3, 150, 151),))
    assert "offsets 150 could be read at first" in bad.reason


def test_files_with_damaged_records_are_not_kept() -> None:
    with pytest.raises(SalvageError, match="good-0: batches without their checksum"):
        find_unsaved([a_finding("good")], ReadBack((), ("good-0: batches without their checksum: 1",)))


def test_files_without_any_record_are_not_kept() -> None:
    with pytest.raises(SalvageError, match="bad-0: offsets 100 to 199 could be read at first"):
        find_unsaved([a_finding("bad")], ReadBack((), ()))
