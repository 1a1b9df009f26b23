# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controllers whose clocks differ: nothing is proven by the times of events that their log has in another order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.kafkaops.recovery.plugins.module_utils._history.promise import Obstacle
from ansible_collections.kafkaops.recovery.plugins.module_utils._history.proof import judge_promise
from ansible_collections.kafkaops.recovery.plugins.module_utils._history.reading import (
    FIRST_WINDOW,
    HistoryLimits,
    HistoryQuestion,
    read_log,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._kafka.metadata_log import (
    MetadataBatch,
    MetadataLogError,
    MetadataLogRange,
    SnapshotId,
    decode_snapshot,
)
from ansible_collections.kafkaops.recovery.plugins.module_utils._model.metadata_history import MetadataHistory
from unit.history.fake_metadata_log import snapshot_content
from unit.history.test_promise import ALONE, LOST, ORDERS, OUTAGE, history
from unit.salvage.batches import batch

_HOUR_MS = 3_600_000


class FakeLog:
    """A log of batches without any event, as an idle controller writes them, with these times. Offsets begin at 1."""

    source = "a log"
    read_bytes = 0

    def __init__(self, *times: int, snapshot_at: int | None = None, written_after_ms: int = 50) -> None:
        self.times = times
        self.snapshot_at, self.written_after_ms = snapshot_at, written_after_ms

    def range(self) -> MetadataLogRange:
        snapshot = None if self.snapshot_at is None else SnapshotId(self.snapshot_at, 1)
        return MetadataLogRange(1, len(self.times) + 1, snapshot)

    def batches(self, start: int, end: int, _stop: Any) -> Iterator[MetadataBatch]:
        for offset in range(start, end):
            yield MetadataBatch(offset, offset + 1, self.times[offset - 1], ())

    def snapshot(self, *_asked: Any) -> bytes:
        return snapshot_content([], self.times[(self.snapshot_at or 0) - 2], self.written_after_ms)


def read(log: FakeLog) -> MetadataHistory:
    question = HistoryQuestion({ORDERS: "AAAAAAAAAAAAAAAAAAAABQ"}, {ORDERS: (2, 3)}, ())
    found = read_log(log, question, HistoryLimits()).history  # type: ignore[arg-type]  # a log in memory
    assert found is not None
    return found


def test_a_controller_whose_clock_is_behind_is_noticed_without_an_event() -> None:
    """It takes over, and its clock has caught up when the next event comes: the events alone are in their order."""
    ahead = _HOUR_MS + 1_000
    assert read(FakeLog(ahead, ahead + 500, 2_000, 2_500, ahead + 9_000)).disordered_until_ms == ahead + 500


def test_windows_that_are_read_backwards_are_compared_with_each_other() -> None:
    """The log before the snapshot is read in two windows. The earlier one has the later times."""
    earlier, later = [9_500] * 5, [3_000] * FIRST_WINDOW
    end = len(earlier) + len(later) + 1
    assert read(FakeLog(*earlier, *later, snapshot_at=end)).disordered_until_ms == 9_500
    assert read(FakeLog(*later, *earlier, snapshot_at=end)).disordered_until_ms == 0


def test_a_snapshot_that_was_written_late_does_not_look_like_a_clock_that_was_set_back() -> None:
    """A controller writes a large one for seconds, and goes on writing to the log. Its batches have those times."""
    found = read(FakeLog(*range(1_000, 9_000, 500), snapshot_at=5, written_after_ms=3_000))
    assert (found.disordered_until_ms, found.gaps, found.begins_at_ms) == (0, (), 1_000)


@pytest.mark.parametrize("content", [b"", batch(0, [b"a record"])], ids=["empty", "no header"])
def test_a_snapshot_without_its_header_is_damaged(content: bytes) -> None:
    with pytest.raises(MetadataLogError, match="does not begin with its header"):
        [*decode_snapshot(content)]


def test_nothing_is_proven_by_times_that_do_not_follow_the_order() -> None:
    def obstacle(until_ms: int) -> Obstacle | None:
        known = replace(history(*OUTAGE), disordered_until_ms=until_ms)
        return judge_promise(known, ORDERS, 3, is_empty=False).obstacle

    assert (obstacle(ALONE - 1), obstacle(ALONE), obstacle(LOST)) == (
        None,
        Obstacle.CLOCKS_DIFFER,
        Obstacle.CLOCKS_DIFFER,
    )
