# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the tier of a tiered topic holds, and what a replica's own disk lacks. Pure; standard library only.

The log of such a topic starts in the tier (KIP-405). A broker deletes from its disk what is in the tier, and one that
lost its disk rebuilds only the end of the log. Both return the log start offset of the whole log. So a record before
the start of the own disk survives only in the tier, and no election changes what that holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .candidate import Candidate, Flag


@dataclass(frozen=True, slots=True)
class TierCover:
    """What one replica of a tiered topic has on its own disk, and what the tier holds of the rest."""

    broker_id: int
    log_start: int
    local_start: int | None
    """The first offset on its own disk. None where it is not known."""
    last_tiered: int | None
    """The last offset that any replica knows to be in the tier. None for "unknown"."""
    known_by: int | None
    """The broker that knows it."""
    missing: tuple[int, int] | None
    """First and last of the offsets that are not known to be on its disk or in the tier."""

    def in_words(self) -> Iterator[str]:
        """Return what a person must know of the tier, a sentence each."""
        if self.last_tiered is None:
            yield "what the tier holds is unknown: no replica that answered knows"
        else:
            yield f"the tier holds offsets {self.log_start}..{self.last_tiered}, as broker {self.known_by} knows"
        if self.local_start is None:
            yield f"where the own disk of broker {self.broker_id} starts is unknown"
        elif self.local_start > self.log_start:
            yield f"the own disk of broker {self.broker_id} has offsets from {self.local_start} on only"
        if self.missing:
            yield f"{_range(self.missing)} not known to be on its disk or in the tier"


def cover(one: Candidate, candidates: Sequence[Candidate]) -> TierCover | None:
    """Return it for a candidate of a tiered topic, and None for one of another topic."""
    if Flag.LOCAL_ONLY not in one.flags:
        return None
    known = [(each.last_tiered_offset, each.broker_id) for each in candidates if each.last_tiered_offset is not None]
    last_tiered, known_by = max(known, default=(None, None))
    first = one.log_start_offset if last_tiered is None else max(one.log_start_offset, last_tiered + 1)
    end = one.log_end_offset if one.local_log_start_offset is None else one.local_log_start_offset
    missing = (first, end - 1) if first < end else None
    return TierCover(one.broker_id, one.log_start_offset, one.local_log_start_offset, last_tiered, known_by, missing)


def refusal(limit: int, found: TierCover | None) -> str | None:
    """Why a limit of lost records refuses the election: what may be lost before its own disk starts is unknown."""
    if found is None or not found.missing:
        return None
    return (
        f"{_range(found.missing)} not known to be on the disk of broker {found.broker_id} or in the tier, and the "
        f"limit is {limit}"
    )


def _range(offsets: tuple[int, int]) -> str:
    first, last = offsets
    return f"offset {first} is" if first == last else f"offsets {first}..{last} are"
