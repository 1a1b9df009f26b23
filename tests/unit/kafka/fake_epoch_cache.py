# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A broker's epoch cache that a test can fill with states that real brokers have only after many fail-overs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ansible_collections.kafkaops.recovery.plugins.module_utils._model.partition import EpochEnd


@dataclass(frozen=True)
class EpochEntry:
    """A line of a leader-epoch-checkpoint file."""

    epoch: int
    start_offset: int


class FakeEpochCache:
    """Answers epoch probes as a log with these entries does: Kafka's LeaderEpochFileCache.endOffsetFor.

    Entries are oldest first. As in Kafka, what lies below the log start offset is cut off, but the newest entry stays.
    """

    def __init__(self, entries: Iterable[EpochEntry], log_start_offset: int, log_end_offset: int) -> None:
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        entries = list(entries)
        below = [each for each in entries if each.start_offset <= log_start_offset]
        cut = [EpochEntry(each.epoch, log_start_offset) for each in below[-1:]]
        self.entries = [*cut, *entries[len(below) :]]

    def ask(self, epoch: int) -> EpochEnd | None:
        """Return the answer to an epoch probe, as epoch_probe describes it: None for error 1 (OFFSET_OUT_OF_RANGE)."""
        if self.entries and epoch == self.entries[-1].epoch:
            return EpochEnd(epoch, self.log_end_offset)
        higher = next((each for each in self.entries if each.epoch > epoch), None)
        if higher is None:
            return None
        floor = max((each.epoch for each in self.entries if each.epoch <= epoch), default=epoch)
        return EpochEnd(floor, higher.start_offset)

    def lineage(self, log_end_offset: int | None = None) -> tuple[EpochEnd, ...]:
        """Return the true lineage, record by record, up to an offset (the log end offset if None)."""
        limit = self.log_end_offset if log_end_offset is None else log_end_offset
        starts = [each.start_offset for each in self.entries]
        spans = zip(self.entries, [*starts[1:], limit], strict=True) if self.entries else ()
        return tuple(
            EpochEnd(each.epoch, min(end, limit)) for each, end in spans if each.start_offset < min(end, limit)
        )
