# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What of an incident's records was held elsewhere, saved, given back, and is still lost. Standard library only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Protocol

from .._model.fields import Meta, PartitionIndex, TopicName
from .._model.log_contents import EpochRange, Stretches, records_in
from .._model.partition import TopicPartition
from .saved import Number
from .stretch import merged, minus


class Salvaged(Protocol):
    """What one salvage has of a partition."""

    @property
    def ranges(self) -> Stretches: ...
    @property
    def records(self) -> int: ...
    @property
    def aborted(self) -> int: ...
    @property
    def undecodable_batches(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Balance:
    """The numbers of one partition."""

    held_by_losers: Number | None
    """Offsets, each once, which count transaction markers. None where it could not be compared."""
    saved: Number
    """Records, each once, without those that do not decode."""
    given_back: Number | None
    """Records. None where that was not asked."""
    still_lost: Number | None
    """What was held and not saved, or saved and not given back. None where that is unknown."""
    at_hand: Number
    """What of it is saved."""


@dataclass(frozen=True, slots=True)
class Total:
    """The numbers of all partitions. What is unknown is not in them."""

    partitions: Number
    held_by_losers: Number
    saved: Number
    given_back: Number
    still_lost: Number
    at_hand: Number
    unknown: Number
    """Partitions of which it is unknown what is still lost."""


@dataclass(frozen=True, slots=True)
class PartitionBalance:
    """The numbers of one partition, and its name."""

    topic: TopicName
    partition: PartitionIndex
    balance: Annotated[Balance, Meta(flat=True)]


@dataclass(frozen=True, slots=True)
class Accounts:
    """The account of all partitions, in order of topic and number."""

    total: Total
    partitions: tuple[PartitionBalance, ...]


@dataclass(slots=True)
class Account:
    """What documents, or a run, know of one partition."""

    held: list[EpochRange] = field(default_factory=list)
    salvages: list[Salvaged] = field(default_factory=list)
    saved_at_least: int = 0
    """By a replay, where no document says which records these were."""
    given: int | None = 0
    """By all runs. None where that was not asked."""
    settled: int = 0
    """Records that were given back, and those that a compacted topic does not need: no key, or a newer record of it."""
    is_elected: bool = True
    """False where the election was refused: the losers still have it all."""
    is_compared: bool = True
    """False where a disk has the partition, and what the leader lacks of it is unknown."""
    is_complete: bool = True
    """False where no document says how many of the saved records are of aborted transactions."""

    def balance(self) -> Balance:
        """Return the numbers."""
        records, aborted, undecodable, ranges = self._count_each_record_once()
        saved = max(records, self.saved_at_least)
        held: int | None = max(records_in(merged([*self.held, *ranges])), saved)
        if not self.is_compared and not self.held and not self.salvages:
            held = None
        # A record of an aborted transaction is none. A batch that does not decode is at least one.
        at_hand = max(0, saved - aborted - self.settled) + undecodable
        lost: int | None = records_in(minus(merged(self.held), ranges)) + at_hand
        if not self.is_elected:
            lost = at_hand = 0
        elif held is None or self.given is None or (not self.is_complete and (self.given < saved or self.held)):
            lost, at_hand = None, 0
        return Balance(held, saved, self.given, lost, at_hand)

    def _count_each_record_once(self) -> tuple[int, int, int, Stretches]:
        """Return records, aborted ones and undecodable batches of all salvages, and their ranges.

        What two salvages have counts once. Where only a part of it is in both, no record is taken for an aborted one
        that may be another.
        """
        records = aborted = undecodable = 0
        taken: Stretches = ()
        for each in sorted(self.salvages, key=lambda one: records_in(merged(one.ranges)), reverse=True):
            ranges = merged(each.ranges)
            added = records_in(minus(ranges, taken))
            in_both = records_in(ranges) - added
            records += min(each.records, added)
            aborted += max(0, each.aborted - in_both)
            undecodable += min(each.undecodable_batches, added)
            taken = merged([*taken, *ranges])
        return records, aborted, undecodable, taken


def sum_balances(balances: Iterable[Balance]) -> Total:
    """Add the partitions up."""
    rows = list(balances)
    return Total(
        len(rows),
        sum(each.held_by_losers or 0 for each in rows),
        sum(each.saved for each in rows),
        sum(each.given_back or 0 for each in rows),
        sum(each.still_lost or 0 for each in rows),
        sum(each.at_hand for each in rows),
        sum(each.still_lost is None for each in rows),
    )


def build_accounts(balances: Mapping[TopicPartition, Balance]) -> Accounts:
    """Return the account of the partitions."""
    rows = (PartitionBalance(each.topic, each.partition, balances[each]) for each in sorted(balances))
    return Accounts(sum_balances(balances.values()), tuple(rows))


def build_account_result(accounts: Accounts, max_rows: int) -> dict[str, Any]:
    """Return the total and the first ``max_rows`` partitions as modules return them."""
    rows = [
        {"topic": each.topic, "partition": each.partition, **asdict(each.balance)}
        for each in accounts.partitions[:max_rows]
    ]
    return {"total": asdict(accounts.total), "partitions": rows}


def verdict(total: Total) -> str:
    """Return what is still lost, in words."""
    if not total.still_lost and not total.unknown:
        return "Nothing that was found anywhere is still lost."
    of = "the partition" if total.partitions == 1 else f"{total.unknown:,} of {total.partitions:,} partitions"
    known = [f"{'at least ' if total.unknown else ''}{total.still_lost:,}"] if total.still_lost else []
    text = f"Still lost: {'; '.join([*known, *([f'unknown for {of}'] if total.unknown else [])])}."
    if total.at_hand and total.at_hand == total.still_lost and not total.unknown:
        return f"{text} All of this is saved and can be given back."
    return text + (f" Of these, {total.at_hand:,} are saved and can be given back." if total.at_hand else "")
