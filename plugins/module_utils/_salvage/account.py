# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Count the records of an incident: held by losers, saved, given back, still lost. Standard library only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

from .._model.fields import Meta, PartitionIndex, TopicName
from .._model.log_contents import EpochRange, Stretches, records_in, subtract, union
from .._model.partition import TopicPartition
from .saved import Number, SavedRecords


@dataclass(frozen=True, slots=True)
class Balance:
    """The numbers of one partition."""

    held_by_losers: Number | None
    """Offsets, each counted once; transaction markers are among them. None if the logs could not be compared."""
    saved: Number
    """Records, each counted once, without those that do not decode."""
    given_back: Number | None
    """Records. None if the cluster was not asked."""
    still_lost: Number | None
    """Records that were held and not saved, or saved and not given back. None if unknown."""
    at_hand: Number
    """Records of ``still_lost`` that are saved."""


@dataclass(frozen=True, slots=True)
class Total:
    """The sums over all partitions of what is known, and how many partitions have an unknown number."""

    partitions: Number
    held_by_losers: Number
    saved: Number
    given_back: Number
    still_lost: Number
    at_hand: Number
    unknown: Number
    """Partitions whose ``still_lost`` is unknown."""
    held_by_losers_unknown: Number
    given_back_unknown: Number


@dataclass(frozen=True, slots=True)
class PartitionBalance:
    """One partition and its numbers."""

    topic: TopicName
    partition: PartitionIndex
    balance: Annotated[Balance, Meta(flat=True)]


@dataclass(frozen=True, slots=True)
class Accounts:
    """The numbers of all partitions, in order of topic and partition number."""

    total: Total
    partitions: tuple[PartitionBalance, ...]


@dataclass(slots=True)
class Account:
    """The facts about one partition, collected from documents or from one run."""

    held: list[EpochRange] = field(default_factory=list)
    salvages: list[SavedRecords] = field(default_factory=list)
    saved_at_least: int = 0
    """Saved records according to a replay, for when no manifest names their offsets."""
    given: int | None = 0
    """Records that all runs gave back. None if the cluster was not asked."""
    settled: int = 0
    """Records that were given back, or that a compacted topic does not need: no key, or a newer record of the key."""
    is_elected: bool = True
    """False if the election was refused: the losers still have all their records."""
    is_compared: bool = True
    """False if a disk has the partition, but it is unknown what the leader lacks."""
    is_complete: bool = True
    """False if no document says how many of the saved records belong to aborted transactions."""

    def balance(self) -> Balance:
        """Compute the numbers of the partition."""
        records, aborted, undecodable, ranges = self._count_each_record_once()
        saved = max(records, self.saved_at_least)
        held: int | None = max(records_in(union([[*self.held, *ranges]])), saved)
        if not self.is_compared and not self.held and not self.salvages:
            held = None
        # Records of aborted transactions do not count. A batch that does not decode has at least one record.
        at_hand = max(0, saved - aborted - self.settled) + undecodable
        lost: int | None = records_in(subtract(union([self.held]), ranges)) + at_hand
        if not self.is_elected:
            lost = at_hand = 0
        elif held is None or self.given is None or (not self.is_complete and (self.given < saved or self.held)):
            lost, at_hand = None, 0
        return Balance(held, saved, self.given, lost, at_hand)

    def _count_each_record_once(self) -> tuple[int, int, int, Stretches]:
        """Count records, aborted records and undecodable batches of all salvages. Returns them and the ranges.

        A record that two salvages have counts once. If two salvages overlap in part, the aborted records of the
        smaller one are assumed to lie in the overlap, so that ``at_hand`` is never too low.
        """
        records = aborted = undecodable = 0
        taken: Stretches = ()
        for each in sorted(self.salvages, key=lambda one: records_in(union([one.ranges])), reverse=True):
            ranges = union([each.ranges])
            added = records_in(subtract(ranges, taken))
            in_both = records_in(ranges) - added
            records += min(each.records, added)
            aborted += max(0, each.aborted - in_both)
            undecodable += min(each.undecodable_batches, added)
            taken = union([[*taken, *ranges]])
        return records, aborted, undecodable, taken


def add_balances(balances: Sequence[Balance]) -> Balance:
    """Return the numbers of one partition from those of each topic that had its name. What one lacks is unknown."""

    def total(numbers: Iterable[int | None]) -> int | None:
        known = [each for each in numbers if each is not None]
        return sum(known) if len(known) == len(balances) else None

    return Balance(
        total(each.held_by_losers for each in balances),
        sum(each.saved for each in balances),
        total(each.given_back for each in balances),
        total(each.still_lost for each in balances),
        sum(each.at_hand for each in balances),
    )


def sum_balances(balances: Iterable[Balance]) -> Total:
    """Add up the numbers of all partitions."""
    rows = list(balances)
    return Total(
        len(rows),
        sum(each.held_by_losers or 0 for each in rows),
        sum(each.saved for each in rows),
        sum(each.given_back or 0 for each in rows),
        sum(each.still_lost or 0 for each in rows),
        sum(each.at_hand for each in rows),
        sum(each.still_lost is None for each in rows),
        sum(each.held_by_losers is None for each in rows),
        sum(each.given_back is None for each in rows),
    )


def build_accounts(balances: Mapping[TopicPartition, Balance]) -> Accounts:
    """Return the numbers of all partitions and their sums."""
    rows = (PartitionBalance(each.topic, each.partition, balances[each]) for each in sorted(balances))
    return Accounts(sum_balances(balances.values()), tuple(rows))


def build_account_result(accounts: Accounts, max_rows: int) -> dict[str, Any]:
    """Return the sums and the first ``max_rows`` partitions in the form that modules return."""
    rows = [
        {"topic": each.topic, "partition": each.partition, **asdict(each.balance)}
        for each in accounts.partitions[:max_rows]
    ]
    return {"total": asdict(accounts.total), "partitions": rows}


def describe_still_lost(total: Total) -> str:
    """Say in one sentence what is still lost."""
    if not total.still_lost and not total.unknown:
        return "No record that was found on another replica or disk is still lost."
    of = "the partition" if total.partitions == 1 else f"{total.unknown:,} of {total.partitions:,} partitions"
    known = [f"{'at least ' if total.unknown else ''}{total.still_lost:,}"] if total.still_lost else []
    text = f"Still lost: {'; '.join([*known, *([f'unknown for {of}'] if total.unknown else [])])}."
    if total.at_hand and total.at_hand == total.still_lost and not total.unknown:
        return f"{text} All of this is saved and can be given back."
    return text + (f" Of these, {total.at_hand:,} are saved and can be given back." if total.at_hand else "")
