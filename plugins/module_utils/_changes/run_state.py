# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the records of the run topic mean: who holds the lock, and what is pending. Pure; standard library only.

A record's key is the run that wrote it; its value is a JSON object with ``n``, which counts that run's records. The
lock is taken by a *claim*. A claim names the generation that it begins and the offset of the holder's last record that
the claimant saw. It is valid only if no other claim began that generation, and if the holder wrote nothing since.
The log has one order, so every reader finds the same holder: this is compare-and-set.

Records of any run but the holder have no effect, nor do repeated ones: a request whose response was lost is sent again,
and both copies may arrive.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from .holder import Holder, holder_from
from .journal import damaged
from .record import Change, Entry, apply_entry


@dataclass
class RunState:
    """The state of one run topic after its records up to ``next_offset``."""

    topic: str
    topic_id: str
    next_offset: int = 0
    generation: int = 0
    holder: Holder | None = None
    holder_offset: int = -1
    """The offset of the holder's last record: it grows as long as the holder lives."""
    has_left: bool = False
    """The holder ended in order."""
    pending: dict[str, Change] = field(default_factory=dict)
    _count: int = -1

    def claim(self, holder: Holder) -> Entry:
        """Return the claim that takes the lock from this state on."""
        return {
            "claim": self.generation + 1,
            "after": self.holder_offset,
            "topicId": self.topic_id,
            "holder": holder.to_json(),
        }

    def is_held_by(self, holder: Holder) -> bool:
        """Return whether this run holds the lock."""
        return self.holder is not None and self.holder.run == holder.run and not self.has_left

    def apply(self, offset: int, key: bytes | None, value: bytes | None) -> None:
        """Apply the record at an offset; the records come in order.

        Raises JournalError for a record of the holder that no run of this version wrote.
        """
        self.next_offset = offset + 1
        run = (key or b"").decode(errors="replace")
        try:
            entry = json.loads(value or b"")
            if "claim" in entry:
                self._apply_claim(offset, run, entry)
                return
        except (ValueError, KeyError, TypeError):
            if self.holder is not None and run == self.holder.run:
                raise damaged(f"topic {self.topic}", offset + 1) from None
            return
        if self.holder is None or run != self.holder.run or self.has_left:
            return
        try:
            self._apply_entry(offset, entry)
        except (ValueError, KeyError, TypeError):
            raise damaged(f"topic {self.topic}", offset + 1) from None

    def _apply_claim(self, offset: int, run: str, entry: Entry) -> None:
        follows = entry["claim"] == self.generation + 1 and entry["after"] == self.holder_offset
        holder = holder_from(entry["holder"])
        if follows and entry["topicId"] == self.topic_id and holder.run == run:
            self.generation += 1
            self.holder, self.holder_offset, self.has_left, self._count = holder, offset, False, entry["n"]

    def _apply_entry(self, offset: int, entry: Entry) -> None:
        if entry["n"] <= self._count:
            return
        self._count, self.holder_offset = entry["n"], offset
        if "leave" in entry:
            self.has_left = True
        elif "beat" not in entry:
            apply_entry(self.pending, {name: value for name, value in entry.items() if name != "n"})
