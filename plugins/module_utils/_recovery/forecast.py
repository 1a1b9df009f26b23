# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Forecast what electing each candidate loses, by epoch lineages, and what the tier of a tiered topic holds.

Pure; standard library only. A lost record is one that another replica holds and the candidate never held: every other
replica truncates to the log of the new leader. Records that the candidate deleted before its log start offset, by
retention or DeleteRecords, are not lost by the election. Records are counted by offsets. So transaction markers count,
and records that compaction removed.

The log of a tiered topic starts in the tier (KIP-405). A broker deletes records from its disk that are in the tier. A
broker that lost its disk rebuilds only the end of the log. Both return the log start offset of the whole log. So a
record before the local log start offset exists only in the tier, and no election changes the tier.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from .._model.fields import INT64_MAX, BrokerId, Meta, Offset
from .._model.log_contents import (
    Stretches,
    all_stretches,
    before_offset,
    compare_logs,
    from_offset,
    never_held_before_start,
    records_beyond,
    records_in,
    subtract,
    union,
)
from .._model.partition import PartitionState
from .._model.reason import say
from .candidate import Candidate, Flag


@dataclass(frozen=True, slots=True)
class LossAgainst:
    """The records that one other replica holds and the candidate does not."""

    broker_id: BrokerId
    """The other replica."""
    answered: bool
    """False for a silent replica: ``lost`` is then a lower bound."""
    lost: Stretches | None
    """The records that the candidate never held. None if they are unknown."""
    divergence_offset: Offset | None = None
    """The offset at which the two logs diverge. None if they share no epoch, or if the other log is unknown."""
    deleted: Stretches = ()
    """Records that the other replica still holds, and the candidate held and deleted before its log start offset."""
    undetermined: Annotated[Stretches, Meta(description="what is lost is a list of stretches", name="untold")] = ()
    """Records before the candidate's log start offset of which it is unknown whether the candidate ever held them."""
    holds_no_more_than: BrokerId | None = None
    """For a silent replica: a broker that answered, and whose log holds everything that the silent one can hold. None
    if there is no such broker."""

    @property
    def is_bounded(self) -> bool:
        """True if the other replica cannot hold records that no replica has reported."""
        return self.answered or self.holds_no_more_than is not None

    @property
    def is_incomparable(self) -> bool:
        """True if the other replica answered, and the leader epochs of its records, or of the candidate's, are unknown.

        Then only the records after the candidate's end are known to be lost (``records_beyond``).
        """
        return self.answered and self.lost is None

    @property
    def is_exact(self) -> bool:
        """True if ``lost`` is known to be complete."""
        return self.answered and self.lost is not None and not self.undetermined


class Comparison(NamedTuple):
    """What one candidate lacks of the logs of the other replicas that answered."""

    against: tuple[LossAgainst, ...]
    """One for every other candidate, by rank."""
    lost: Stretches
    """Each record once that the candidate certainly never held."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What electing one candidate would lose."""

    broker_id: int
    """The candidate."""
    against: tuple[LossAgainst, ...]
    """One comparison for every other replica: replicas that answered by rank, then silent ones by broker id."""
    lost: Stretches
    """The lost records. A record that several replicas hold is counted once. This is a lower bound, unless all of
    ``against`` are exact and ``tier`` misses nothing."""
    more_than_first: int | None
    """How many more records are lost than by electing rank 1; negative for fewer. None if unknown."""
    tier: TierCover | None = None
    """What the tier and the candidate's own disk hold, for a tiered topic. None for other topics."""

    @property
    def at_least(self) -> int:
        """The least number of lost records, at most Kafka's greatest offset: brokers may return absurd offsets."""
        return min(records_in(self.lost), INT64_MAX)

    @property
    def at_most(self) -> int | None:
        """The greatest number of lost records. None if it is unknown.

        It is unknown if a replica cannot be compared, if a silent replica has no bound, or if records of a tiered topic
        are not known to be in the tier or on the candidate's disk.
        """
        if self.tier is not None and self.tier.missing:
            return None
        if any(each.lost is None or not each.is_bounded for each in self.against):
            return None
        undetermined = [each.undetermined for each in self.against if each.undetermined]
        most = records_in(self.lost) + (records_in(union(undetermined)) if undetermined else 0)
        return most if most <= INT64_MAX else None


def compare_candidates(candidates: Sequence[Candidate]) -> tuple[Comparison, ...]:
    """Compare each candidate of a partition with all others. ``transformations.compare`` does the same on Spark."""
    logs = {each.broker_id: all_stretches(each) for each in candidates}
    by_id = {each.broker_id: each for each in candidates}
    found = []
    for one in candidates:
        against = tuple(_compare_answered(one, other, logs) for other in candidates if other is not one)
        beyond = [records_beyond(one, by_id[each.broker_id]) for each in against if each.is_incomparable]
        found.append(Comparison(against, union([*(each.lost for each in against if each.lost), *beyond])))
    return tuple(found)


def forecast_losses(
    state: PartitionState,
    candidates: Sequence[Candidate],
    silent: Collection[int],
    compared: Sequence[Comparison] | None = None,
) -> tuple[Forecast, ...]:
    """Return a forecast for each candidate of a partition, in the same order: best first. ``silent`` are broker ids.

    ``compared`` are the comparisons of the candidates, if Spark has made them.

    What a silent replica holds is unknown, with two exceptions.

    The first is the last leader. If a candidate's last written epoch is the one before the partition's current leader
    epoch, no leader came after that epoch: its leader was the last leader. The candidate truncated to the last leader's
    log before it wrote in that epoch, and a leader never truncates. So the last leader holds everything that such a
    candidate holds, unless its disk was damaged. High watermarks of the candidates would add nothing: none is beyond
    the candidate's own log end.

    The second is every silent replica, if the last leader answered and was the only leader that the partition ever had.
    Then all replicas copied everything that they hold from its log.

    Both need that every epoch had one leader.
    """
    logs = {each.broker_id: all_stretches(each) for each in candidates}
    leader = find_last_leader(state)
    is_bounded = not any(each.reused_epochs for each in candidates)
    of_leader = _find_known_part_of_last_leader(state, candidates) if is_bounded and leader in silent else None
    only_leader = _find_only_leader_ever(state, candidates) if is_bounded and silent else None
    all_against, lost = [], []
    for one, found in zip(candidates, compared or compare_candidates(candidates), strict=True):
        of_silent = [
            _compare_silent(one, each, logs, of_leader if each == leader else None, only_leader)
            for each in sorted(silent)
        ]
        all_against.append((*found.against, *of_silent))
        lost.append(union([found.lost, *(each.lost for each in of_silent if each.lost)]))
    is_comparable = None not in logs.values()
    return tuple(
        Forecast(
            one.broker_id,
            against,
            part,
            records_in(part) - records_in(lost[0]) if is_comparable else None,
            _find_tier_cover(one, candidates),
        )
        for one, against, part in zip(candidates, all_against, lost, strict=True)
    )


def explain_limit_refusal(limit: int, forecast: Forecast, at_least: int = 0) -> str | None:
    """Return why unclean_recovery_max_lost_records refuses the election; None if it does not.

    The limit is compared with the records that are known to be lost, by the forecast, or ``at_least`` by another
    source. A silent replica does not refuse an election: what a dead one holds beyond that stays unknown. A replica
    that answered and cannot be compared does refuse it, because the limit may be exceeded.
    """
    at_least = max(at_least, forecast.at_least)
    if at_least > limit:
        form = "electing {broker} loses {records} or more records, and the limit is {limit}"
        return say(form, broker=forecast.broker_id, records=at_least, limit=limit)
    not_compared = [each.broker_id for each in forecast.against if each.is_incomparable]
    if not_compared:
        return say(
            "what electing {broker} loses of what {brokers} holds is unknown, since records without a known leader "
            "epoch cannot be compared, and the limit is {limit}",
            broker=forecast.broker_id,
            brokers=not_compared,
            limit=limit,
        )
    return _explain_tier_refusal(limit, forecast.tier)


def find_last_leader(state: PartitionState) -> int | None:
    """Return the broker that was the last leader of this offline partition; None if the metadata does not name it.

    With ELR on, the controller stores it as the only member of the last known ELR when it empties the ISR. With ELR
    off, the ISR keeps its last member, and the leader is always in the ISR.
    """
    members = state.isr or state.last_known_elr or ()
    return members[0] if len(members) == 1 else None


def _find_known_part_of_last_leader(state: PartitionState, candidates: Sequence[Candidate]) -> Stretches | None:
    """Return the records that the last leader is known to hold, by its last followers. None if nothing is known."""
    last_followers = [each for each in candidates if each.last_written_epoch == state.leader_epoch - 1]
    known = [part for part in map(all_stretches, last_followers) if part]
    return union(known) if known else None


def _find_only_leader_ever(state: PartitionState, candidates: Sequence[Candidate]) -> int | None:
    """Return the last leader if it answered, was the only leader ever, and has its whole log; otherwise None.

    - It was the only leader if the leader epoch is 1: leader epochs start at 0, and the loss of the leader began
      epoch 1.
    - It stopped cleanly or not at all if it is in the ELR: after an unclean stop, when its disk may lack records that
      others copied, the controller removes it from the ELR. The ISR of a cluster without ELR does not show this.
    - Its log is whole if it starts at 0 and holds everything that any candidate holds.
    """
    leader = find_last_leader(state)
    if state.leader_epoch != 1 or leader not in (state.elr or ()):
        return None
    logs = [all_stretches(each) for each in candidates]
    whole = next((log for log, each in zip(logs, candidates, strict=True) if each.broker_id == leader), None)
    starts_late = any(each.broker_id == leader and each.log_start_offset for each in candidates)
    if whole is None or starts_late or any(log is None or subtract(log, whole) for log in logs):
        return None
    return leader


def _compare_answered(one: Candidate, other: Candidate, logs: dict[int, Stretches | None]) -> LossAgainst:
    mine, theirs = logs[one.broker_id], logs[other.broker_id]
    if theirs == () and other.log_end_offset <= one.log_end_offset:
        return LossAgainst(other.broker_id, True, ())
    if mine is None or theirs is None:
        return LossAgainst(other.broker_id, True, None)
    if reused := {*one.reused_epochs, *other.reused_epochs}:
        mine = tuple(each for each in mine if each.epoch not in reused)
    missing = compare_logs(one, mine, theirs)
    is_shared = missing.divergence_offset is not None
    return LossAgainst(
        other.broker_id,
        True,
        missing.lost,
        missing.divergence_offset,
        deleted=missing.earlier if is_shared else (),
        undetermined=() if is_shared else missing.earlier,
    )


def _compare_silent(
    one: Candidate, silent: int, logs: dict[int, Stretches | None], known: Stretches | None, only_leader: int | None
) -> LossAgainst:
    """``known`` are the records that the silent replica is known to hold."""
    mine = logs[one.broker_id]
    if mine is not None and only_leader is not None:
        return LossAgainst(silent, False, (), holds_no_more_than=only_leader)
    if mine is None or known is None:
        return LossAgainst(silent, False, None)
    never_held = never_held_before_start(one, before_offset(known, one.log_start_offset))
    return LossAgainst(silent, False, union([never_held, subtract(from_offset(known, one.log_start_offset), mine)]))


@dataclass(frozen=True, slots=True)
class TierCover:
    """What one replica of a tiered topic has on its own disk, and what the tier holds of the earlier offsets."""

    broker_id: int
    log_start: int
    local_start: int | None
    """The first offset on the replica's own disk. None if unknown."""
    last_tiered: int | None
    """The last offset that any replica knows to be in the tier. None if unknown."""
    known_by: int | None
    """The broker that reported ``last_tiered``."""
    missing: tuple[int, int] | None
    """First and last offset that are not known to be on the replica's disk or in the tier. None if there are none."""

    def describe(self) -> Iterator[str]:
        """Yield what the tier and the replica's own disk hold, one clause each."""
        if self.last_tiered is None:
            yield "what the tier holds is unknown: no replica that answered knows"
        else:
            yield f"the tier holds offsets {self.log_start}..{self.last_tiered}, as broker {self.known_by} knows"
        if self.local_start is None:
            yield f"the first offset on the own disk of broker {self.broker_id} is unknown"
        elif self.local_start > self.log_start:
            yield f"the own disk of broker {self.broker_id} has offsets from {self.local_start} on only"
        if self.missing:
            yield f"{_offsets_are(self.missing)} not known to be on its disk or in the tier"


def _find_tier_cover(one: Candidate, candidates: Sequence[Candidate]) -> TierCover | None:
    """Return the cover of a candidate of a tiered topic; None for other topics."""
    if Flag.LOCAL_ONLY not in one.flags:
        return None
    known = [(each.last_tiered_offset, each.broker_id) for each in candidates if each.last_tiered_offset is not None]
    last_tiered, known_by = max(known, default=(None, None))
    first = one.log_start_offset if last_tiered is None else max(one.log_start_offset, last_tiered + 1)
    end = one.log_end_offset if one.local_log_start_offset is None else one.local_log_start_offset
    missing = (first, end - 1) if first < end else None
    return TierCover(one.broker_id, one.log_start_offset, one.local_log_start_offset, last_tiered, known_by, missing)


def _explain_tier_refusal(limit: int, found: TierCover | None) -> str | None:
    """Return why the limit refuses the election of a replica whose earlier records may not be in the tier."""
    if found is None or not found.missing:
        return None
    first, last = found.missing
    return say(
        f"{'offset {first} is' if first == last else 'offsets {first}..{last} are'} not known to be on the disk of "
        "broker {broker} or in the tier, and the limit is {limit}",
        first=first,
        last=last,
        broker=found.broker_id,
        limit=limit,
    )


def _offsets_are(offsets: tuple[int, int]) -> str:
    first, last = offsets
    return f"offset {first} is" if first == last else f"offsets {first}..{last} are"
