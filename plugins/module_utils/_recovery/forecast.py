# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What electing each candidate would lose, from epoch lineages, and what the tier of a tiered topic still has.

Pure; standard library only. A loss is a record that another replica holds and the candidate never held: every other
replica truncates to the log of the new leader. What the candidate itself has deleted before its log start offset, by
retention or DeleteRecords, is no loss. Counts are of offsets, so that transaction markers count, and records that
compaction will have removed.

The log of a tiered topic starts in the tier (KIP-405). A broker deletes from its disk what is in the tier, and one that
lost its disk rebuilds only the end of the log. Both return the log start offset of the whole log. So a record before
the start of the own disk survives only in the tier, and no election changes what that holds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from .._model.fields import BrokerId, Offset
from .._model.log_contents import (
    Stretches,
    before_offset,
    from_offset,
    lacking,
    never_held_before_start,
    records_in,
    stretches_of,
    union,
    without,
)
from .._model.partition import PartitionState
from .candidate import Candidate, Flag


@dataclass(frozen=True, slots=True)
class LossAgainst:
    """What one other replica holds and the candidate does not."""

    broker_id: BrokerId
    answered: bool
    """False for a replica that did not answer, dead or not: ``lost`` is then the least that is lost, if anything."""
    lost: Stretches | None
    """None when nothing is known of it, which is not "nothing"."""
    divergence_offset: Offset | None = None
    """Where the two logs part. None when they share no epoch, and when the other log is not known."""
    deleted: Stretches = ()
    """What it still holds of what the candidate held too, and has deleted before its log start offset."""
    untold: Stretches = ()
    """What it holds before the candidate's log start offset, when it is unknown whether the candidate held it."""
    holds_no_more_than: BrokerId | None = None
    """Of a silent replica: the broker, which answered, whose log has all that it can hold. None for "unknown"."""

    @property
    def is_bounded(self) -> bool:
        """True when it cannot hold what no replica has reported."""
        return self.answered or self.holds_no_more_than is not None

    @property
    def is_exact(self) -> bool:
        """True when ``lost`` is all that it could lose, no more and no less."""
        return self.answered and self.lost is not None and not self.untold


@dataclass(frozen=True, slots=True)
class Forecast:
    """What electing one candidate would lose."""

    broker_id: int
    against: tuple[LossAgainst, ...]
    """One for every other replica: those that answered in order of rank, then the silent ones."""
    lost: Stretches
    """Each lost record once, whichever replicas hold it. The least that is lost; all of it when ``is_exact``."""
    more_than_first: int | None
    """How many records more than electing rank 1 would lose; negative for fewer. None when it is unknown."""
    tier: TierCover | None = None
    """Of a tiered topic: what the tier holds, and what is known of the candidate's own disk."""

    @property
    def at_least(self) -> int:
        """Records."""
        return records_in(self.lost)

    @property
    def at_most(self) -> int | None:
        """Records. None for "unknown", as long as a replica cannot be compared, or is silent without a bound.

        So it is where a tiered topic's records are not known to be in the tier or on the candidate's disk.
        """
        if self.tier is not None and self.tier.missing:
            return None
        if any(each.lost is None or not each.is_bounded for each in self.against):
            return None
        untold = [each.untold for each in self.against if each.untold]
        return self.at_least + (records_in(union(untold)) if untold else 0)

    @property
    def is_exact(self) -> bool:
        return all(each.is_exact for each in self.against) and (self.tier is None or not self.tier.missing)


def forecast(state: PartitionState, candidates: Sequence[Candidate], silent: Collection[int]) -> tuple[Forecast, ...]:
    """One forecast for each of a partition's candidates, which come best first. ``silent`` are broker ids.

    Of a silent replica nothing is known, with two exceptions. The first one is the last leader. When a candidate's
    last written epoch is the one before the partition's current leader epoch, no other leader came after that epoch, so
    that its leader was the last one. The candidate's log is then a part of the last leader's: it truncated to it before
    it wrote in that epoch, and a leader never truncates. So what those candidates hold is known of the last leader too,
    as long as its disk is whole. A survivor's high watermark would add nothing: it never lies beyond its own log end.

    The other one is any replica, where the last leader answered, and was the only leader that the partition ever had.
    Then all that anybody holds was copied from its log.
    """
    logs = {each.broker_id: stretches_of(each) for each in candidates}
    leader = last_leader(state)
    of_leader = _known_of_last_leader(state, candidates) if leader in silent else None
    source = _only_source(state, candidates) if silent else None
    all_against = [
        (
            *(_against_answered(one, other, logs) for other in candidates if other is not one),
            *(
                _against_silent(one, each, logs, of_leader if each == leader else None, source)
                for each in sorted(silent)
            ),
        )
        for one in candidates
    ]
    lost = [union(each.lost for each in against if each.lost) for against in all_against]
    is_comparable = None not in logs.values()
    return tuple(
        Forecast(
            one.broker_id,
            against,
            part,
            records_in(part) - records_in(lost[0]) if is_comparable else None,
            _cover(one, candidates),
        )
        for one, against, part in zip(candidates, all_against, lost, strict=True)
    )


def refusal_above(limit: int, forecast: Forecast) -> str | None:
    """Why the election is refused by unclean_recovery_max_lost_records; None when it is not.

    What is known to be lost is compared. What silent replicas hold beyond that can hold no election back: of the dead
    it is never known. But of one that answered it could be, and where it is not, nobody can say that the limit is kept.
    """
    if forecast.at_least > limit:
        return f"electing {forecast.broker_id} loses {forecast.at_least} records or more, and the limit is {limit}"
    unlike = [str(each.broker_id) for each in forecast.against if each.answered and each.lost is None]
    if unlike:
        return (
            f"what electing {forecast.broker_id} loses of what replica {', '.join(unlike)} holds is unknown, since "
            f"records without a leader epoch cannot be compared, and the limit is {limit}"
        )
    return _tier_refusal(limit, forecast.tier)


def last_leader(state: PartitionState) -> int | None:
    """Return the broker that led this leaderless partition last; None where the metadata does not say.

    With ELR on, the controller notes it as the only member of the last known ELR when it empties the ISR. With ELR
    off, the ISR keeps its last member, and a leader is always in the ISR.
    """
    members = state.isr or state.last_known_elr or ()
    return members[0] if len(members) == 1 else None


def _known_of_last_leader(state: PartitionState, candidates: Sequence[Candidate]) -> Stretches | None:
    followed = [each for each in candidates if each.last_written_epoch == state.leader_epoch - 1]
    known = [part for part in map(stretches_of, followed) if part]
    return union(known) if known else None


def _only_source(state: PartitionState, candidates: Sequence[Candidate]) -> int | None:
    """Return the last leader, where it answered, was the only leader ever, and has its whole log.

    Whole is one that holds all that any candidate holds: what followers have, its only leader had before them.
    Leader epochs count from 0, and the loss of the leader began epoch 1. Its place in the ELR shows that it stopped
    cleanly or not at all: after an unclean stop, when its disk may lack what others have copied, it is taken out. The
    ISR of clusters without ELR shows no such thing.
    """
    leader = last_leader(state)
    if state.leader_epoch != 1 or leader not in (state.elr or ()):
        return None
    logs = [stretches_of(each) for each in candidates]
    source = next((log for log, each in zip(logs, candidates, strict=True) if each.broker_id == leader), None)
    starts_late = any(each.broker_id == leader and each.log_start_offset for each in candidates)
    if source is None or starts_late or any(log is None or without(log, source) for log in logs):
        return None
    return leader


def _against_answered(one: Candidate, other: Candidate, logs: dict[int, Stretches | None]) -> LossAgainst:
    mine, theirs = logs[one.broker_id], logs[other.broker_id]
    if mine is None or theirs is None:
        return LossAgainst(other.broker_id, True, None)
    missing = lacking(one, mine, theirs)
    is_shared = missing.divergence_offset is not None
    return LossAgainst(
        other.broker_id,
        True,
        missing.lost,
        missing.divergence_offset,
        deleted=missing.earlier if is_shared else (),
        untold=() if is_shared else missing.earlier,
    )


def _against_silent(
    one: Candidate, silent: int, logs: dict[int, Stretches | None], known: Stretches | None, source: int | None
) -> LossAgainst:
    mine = logs[one.broker_id]
    if mine is not None and source is not None:
        return LossAgainst(silent, False, (), holds_no_more_than=source)
    if mine is None or known is None:
        return LossAgainst(silent, False, None)
    never_held = never_held_before_start(one, before_offset(known, one.log_start_offset))
    return LossAgainst(silent, False, union([never_held, without(from_offset(known, one.log_start_offset), mine)]))


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


def _cover(one: Candidate, candidates: Sequence[Candidate]) -> TierCover | None:
    """Return it for a candidate of a tiered topic, and None for one of another topic."""
    if Flag.LOCAL_ONLY not in one.flags:
        return None
    known = [(each.last_tiered_offset, each.broker_id) for each in candidates if each.last_tiered_offset is not None]
    last_tiered, known_by = max(known, default=(None, None))
    first = one.log_start_offset if last_tiered is None else max(one.log_start_offset, last_tiered + 1)
    end = one.log_end_offset if one.local_log_start_offset is None else one.local_log_start_offset
    missing = (first, end - 1) if first < end else None
    return TierCover(one.broker_id, one.log_start_offset, one.local_log_start_offset, last_tiered, known_by, missing)


def _tier_refusal(limit: int, found: TierCover | None) -> str | None:
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
