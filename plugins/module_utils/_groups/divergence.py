# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find up to where a committed offset holds for the present log. Pure; standard library only.

A commit at offset S means that the group has read the records before S. It holds for the present log up to the offset
at which the log that the group has read and the present one diverge:

1. Where the leader epoch of the commit ends in the present log (KIP-320). An epoch alone moves no commit: some clients
   commit one that they do not keep (Sarama: 0, or that of their first OffsetFetch; IBM/sarama issue 2694). If it ends
   before the commit, records of the partition must have been lost, and a commit is never cut below the first of them.
2. The first offset that the salvage holds and the leader lacks is such a record.
3. So is the first one after the log end of a leader that was elected uncleanly. The metadata log says which were.
4. If the offset is beyond the log end, records were lost, wherever that was.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from .._model.outage import utc_text


class CommitFields(Protocol):
    """A commit, from the cluster or from a salvage."""

    @property
    def offset(self) -> int: ...
    @property
    def leader_epoch(self) -> int: ...
    @property
    def metadata(self) -> str: ...
    @property
    def topic_id(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class TimeOffset:
    """The first record at a time that the operator names, or after it."""

    time: str
    """In UTC, ISO 8601."""
    offset: int
    """The log end, if there is no such record."""


class LostTail(NamedTuple):
    """What an unclean election lost of a partition."""

    leader_epoch: int
    """The leader epoch that the election began."""
    at_ms: int
    """When that was, by the controller's clock."""
    offset: int
    """The first offset that may be lost: where the log of the elected leader ended."""


@dataclass(frozen=True, slots=True)
class LostTails:
    """The unclean elections of a partition."""

    tails: tuple[LostTail, ...] = ()
    """In order of epoch."""
    begins_at_ms: int = 0
    """Since when they are known."""
    missing: str = ""
    """Why they are not known. Empty if they are."""

    def first_lost(self, epoch: int, since_ms: int) -> int | None:
        """Return the first offset that was lost since then of a log that had this epoch (-1: any)."""
        return next((each.offset for each in self.tails if each.leader_epoch > epoch and each.at_ms >= since_ms), None)

    def why_not_known(self, since_ms: int) -> str:
        """Say why there may have been more since then. Empty if these are all."""
        if self.missing or self.begins_at_ms <= since_ms:
            return self.missing
        return f"the metadata log says it only since {utc_text(self.begins_at_ms)}"


_NOT_ASKED = LostTails(missing="the metadata log was not read")
_DIVERGED = "set to where the logs diverge"
_UNCLEAN_OR_NOT = "whether an unclean election lost records that it had read is not known"
_OF_ANOTHER = "it is of a former topic of this name, or its client does not keep it"
_GIVE_TIME = "give beyond_end_time, or the salvage of the broker that led the partition"


@dataclass(frozen=True, slots=True)
class PresentLog:
    """The log of a leader."""

    topic_id: str = field(kw_only=True)
    leader_epoch: int = field(kw_only=True)
    """That of now, or an older one: it was described before the log was asked for."""
    start: int
    end: int
    end_of: Callable[[int], int]
    """Where a leader epoch (>= 0) ends in it: the log end, if the log has no newer epoch."""
    first_lost: int | None = None
    """The first offset that the salvage holds and this log lacks. None if there is none."""
    at_time: TimeOffset | None = None
    """None if the operator names no time."""
    former_epochs: Collection[int] = ()
    """Leader epochs that this topic has never had. They are those of a former topic of its name."""
    lost: LostTails = _NOT_ASKED
    saved_since_ms: int = 0
    """Since when the saved offsets were committed. 0 is not known."""


class HoldsTo(NamedTuple):
    """Up to where a commit holds."""

    offset: int
    how: str = ""
    """How it is known, if it is less than the commit."""
    doubt: str = ""
    """Why it is not known. Then ``offset`` is for the operator to choose."""


def needs_lost_tails(commit: CommitFields, log: PresentLog, *, is_saved: bool) -> bool:
    """Return whether only the unclean elections of the partition say up to where a commit holds."""
    if log.first_lost is not None or commit.leader_epoch in log.former_epochs:
        return False
    if commit.leader_epoch < 0:
        return is_saved
    return log.end_of(commit.leader_epoch) < commit.offset


def hold_present(commit: CommitFields, log: PresentLog) -> HoldsTo:
    """Return up to where a present commit holds. It may be below the log start."""
    is_beyond, epoch = commit.offset > log.end, commit.leader_epoch
    if epoch in log.former_epochs:
        # Nothing of this topic was read.
        how = f"its leader epoch {epoch} is above every one of this topic: it is of a former one. Set to the log start"
        doubt = "" if is_beyond else f"leader epoch {epoch} is above every one of this topic: {_OF_ANOTHER}"
        return HoldsTo(log.start, how, doubt)
    if epoch < 0 and not is_beyond:
        return HoldsTo(commit.offset)
    if not needs_lost_tails(commit, log, is_saved=False):
        return _hold_by_salvage(commit, log) or _hold_beyond_end(commit, log)
    if (first := log.lost.first_lost(epoch, 0)) is not None:
        return _cut(commit, log, first)
    if is_beyond:
        return _hold_beyond_end(commit, log)
    if log.lost.missing:
        cut = log.end_of(epoch)
        doubt = f"its leader epoch {epoch} ends at {cut}, unless its client does not keep it: {_UNCLEAN_OR_NOT}"
        return HoldsTo(cut, _DIVERGED, f"{doubt}: {log.lost.missing}")
    return HoldsTo(commit.offset)


def hold_saved(commit: CommitFields, log: PresentLog) -> HoldsTo:
    """Return up to where a saved commit holds. It is not of a former topic."""
    epoch, since = commit.leader_epoch, log.saved_since_ms
    if not needs_lost_tails(commit, log, is_saved=True):
        return _hold_by_salvage(commit, log) or HoldsTo(commit.offset)
    if (first := log.lost.first_lost(epoch, since)) is not None:
        return _cut(commit, log, first)
    if commit.offset > log.end:
        if epoch >= 0 or log.at_time is not None:
            return _hold_beyond_end(commit, log)
        # The log end may be behind records that were written since, and that the group has not read.
        return HoldsTo(log.start, "", f"it is beyond the log end, {log.end}: {_GIVE_TIME}")
    if why := log.lost.why_not_known(since):
        known = f"its leader epoch {epoch} ends at {log.end_of(epoch)}" if epoch >= 0 else "it has no leader epoch"
        return HoldsTo(commit.offset, "", f"{known}: {_UNCLEAN_OR_NOT}: {why}")
    return HoldsTo(commit.offset)


def _cut(commit: CommitFields, log: PresentLog, first_lost: int) -> HoldsTo:
    end_of_epoch = log.end_of(commit.leader_epoch) if commit.leader_epoch >= 0 else first_lost
    return HoldsTo(min(commit.offset, log.end, max(end_of_epoch, first_lost)), _DIVERGED)


def _hold_by_salvage(commit: CommitFields, log: PresentLog) -> HoldsTo | None:
    if commit.leader_epoch >= 0 and log.end_of(commit.leader_epoch) >= commit.offset:
        return HoldsTo(commit.offset)
    if log.first_lost is None:
        return None
    cut = _cut(commit, log, log.first_lost)
    how = "set to the first record that the salvage holds and the log lacks"
    return cut if commit.leader_epoch >= 0 else cut._replace(how=how)


def _hold_beyond_end(commit: CommitFields, log: PresentLog) -> HoldsTo:
    if commit.leader_epoch >= 0:
        return HoldsTo(min(log.end, log.end_of(commit.leader_epoch)), _DIVERGED)
    if log.at_time is not None:
        how = f"set to the first record at {log.at_time.time} or after, or to the log end"
        return HoldsTo(min(log.end, log.at_time.offset), how)
    return HoldsTo(log.end, "it has no leader epoch, so it is set to the log end")
