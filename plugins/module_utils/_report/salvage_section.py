# Copyright (c) 2026, the kafkaops.recovery authors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The account of an incident's records: held elsewhere, saved, given back, and still lost, by partition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .._model.log_contents import EpochRange, records_in
from .._model.partition import TopicPartition
from .._recovery.plan import Outcome
from .._salvage.finding import Status
from .._salvage.stretch import merged, minus
from .blocks import Cell, Paragraph, Section, Table, number
from .extents import Saved
from .recovery_sections import MAX_ROWS

_NOTE = (
    "Held by losers: what live replicas held when the election was planned, and what disks of stopped brokers held "
    "that the leader lacks, in offsets, which count transaction markers. Saved and given back are records, each once. "
    "Still lost is what was held and not saved, or saved and not given back. Records of aborted transactions are none. "
    "Unknown is a replica that could not be compared with its leader, and a replay without the manifest of its salvage."
)


@dataclass(slots=True)
class _Account:
    held_ranges: list[EpochRange] = field(default_factory=list)
    saved_ranges: list[EpochRange] = field(default_factory=list)
    saved_records: int = 0
    aborted: int = 0
    given: int = 0
    is_compared: bool = True
    """False where a disk has the partition, and what the leader lacks of it is unknown."""
    is_complete: bool = True
    """False where no document says how many of the saved records are of aborted transactions."""

    @property
    def held(self) -> int | None:
        if not self.is_compared and not self.held_ranges and not self.saved_ranges:
            return None
        return max(records_in(merged([*self.held_ranges, *self.saved_ranges])), self.saved)

    @property
    def saved(self) -> int:
        """Records, without those that another salvage has, too."""
        twice = sum(each.records for each in self.saved_ranges) - records_in(merged(self.saved_ranges))
        return max(0, self.saved_records - twice)

    @property
    def lost(self) -> int | None:
        if self.held is None or (not self.is_complete and (self.given < self.saved or self.held_ranges)):
            return None
        not_saved = records_in(minus(merged(self.held_ranges), merged(self.saved_ranges)))
        return not_saved + self.at_hand

    @property
    def at_hand(self) -> int:
        """Records that are saved and not given back."""
        return max(0, self.saved - self.aborted - self.given)


def account_section(
    outcomes: Sequence[Outcome],
    manifests: Sequence[Mapping[str, Any]],
    disks: Sequence[Mapping[str, Any]],
    replays: Sequence[Mapping[str, Any]],
) -> Section:
    """Join forecast, salvages and replays of one incident."""
    accounts: dict[TopicPartition, _Account] = defaultdict(_Account)
    for outcome in outcomes:
        for against in (
            one for loss in outcome.losses if loss.broker_id == outcome.designated_leader for one in loss.against
        ):
            if against.answered and against.lost:
                accounts[outcome.topic_partition].held_ranges += against.lost
    for each in (one for disk in disks for one in disk["partitions"]):
        if each["lost"]:
            accounts[_name(each)].held_ranges += _ranges(each["lost"])
        elif each["status"] == Status.FAILED:
            accounts[_name(each)].is_compared = False
    for _salvage_id, name, saved in _saved(manifests, disks):
        account = accounts[name]
        account.saved_ranges += _ranges(saved["ranges"])
        account.saved_records += saved["records"]
        account.aborted += saved["aborted"]
    known = {each["salvage_id"] for each in (*manifests, *disks)}
    for salvage_id, each in ((run["salvage_id"], one) for run in replays for one in run["partitions"]):
        account = accounts[_name(each)]
        account.given = max(account.given, each["given"] + each["given_before"])
        if salvage_id not in known:
            account.saved_records = max(account.saved_records, each["saved"])
            account.is_complete = False
    rows = tuple(_row(name, accounts[name]) for name in sorted(accounts)[:MAX_ROWS])
    columns = ("Partition", "Held by losers", "Saved", "Given back", "Still lost")
    total = sum(each.lost or 0 for each in accounts.values())
    unknown = sum(each.lost is None for each in accounts.values())
    at_hand = sum(each.at_hand for each in accounts.values() if each.lost is not None)
    verdict = "Nothing that was found anywhere is still lost."
    if unknown:
        verdict = f"Still lost: at least {total:,}; unknown for {unknown:,} of {len(accounts):,} partitions."
    elif total:
        verdict = f"Still lost: {total:,}."
    if at_hand:
        verdict += f" Of these, {at_hand:,} are saved and can be given back."
    caption = f"{len(accounts):,} partitions"
    return Section(
        "Records that were lost",
        (Paragraph(verdict, "bad" if total or unknown else "good"), Table(caption, columns, rows), Paragraph(_NOTE)),
    )


def saved_ranges(
    manifests: Sequence[Mapping[str, Any]], disks: Sequence[Mapping[str, Any]]
) -> dict[TopicPartition, list[Saved]]:
    """Return which offsets were saved of each partition, and from which brokers, for the pictures."""
    brokers = {each["salvage_id"]: (each["broker_id"],) for each in disks}
    brokers |= {each["salvage_id"]: tuple(one["broker_id"] for one in each["origins"]) for each in manifests}
    ranges: dict[TopicPartition, list[Saved]] = defaultdict(list)
    for salvage_id, name, saved in _saved(manifests, disks):
        ranges[name] += [Saved(brokers[salvage_id], each) for each in _ranges(saved["ranges"])]
    return ranges


def _row(name: TopicPartition, account: _Account) -> tuple[Cell, ...]:
    lost = replace(number(account.lost), tone="good" if account.lost == 0 else "bad")
    return (Cell(str(name)), number(account.held), number(account.saved), number(account.given), lost)


def _saved(
    manifests: Sequence[Mapping[str, Any]], disks: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, TopicPartition, Mapping[str, Any]]]:
    """Return what each salvage has saved of each partition, by its manifest, or else by the report of its disks.

    The same salvage may be there twice, by its manifest and by a copy of it.
    """
    by_id = {each["salvage_id"]: each for each in manifests}
    for manifest in by_id.values():
        for each in manifest["partitions"]:
            yield manifest["salvage_id"], _name(each), each
    for disk in {each["salvage_id"]: each for each in disks if each["salvage_id"] not in by_id}.values():
        for each in disk["partitions"]:
            if each["saved"] is not None:
                yield disk["salvage_id"], _name(each), each["saved"]


def _name(each: Mapping[str, Any]) -> TopicPartition:
    return TopicPartition(each["topic"], each["partition"])


def _ranges(ranges: Sequence[Mapping[str, int]]) -> list[EpochRange]:
    return [EpochRange(each["epoch"], each["start_offset"], each["end_offset"]) for each in ranges]
